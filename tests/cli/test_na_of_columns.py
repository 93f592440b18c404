"""`--na COL=TOKEN`: contents that mean "no value" in one column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.attributes.named_missing import split_tokens, without_tokens

ROWS = [
    (i % 7 * 0.5 + (i % 2) * 8, "-99" if i % 5 == 3 else f"{i % 7 + (i % 2) * 9}.5", "ab"[i % 2]) for i in range(30)
]


def table(code: str) -> bytes:
    """Rows of which the second column is not known where it is -99, written as `code`."""
    lines = [f"{x},{code if y == '-99' else y},{label if i < 12 else ''}" for i, (x, y, label) in enumerate(ROWS)]
    return "\n".join(["x,y,label", *lines, ""]).encode()


def test_a_code_is_as_if_the_cell_were_empty(vsa, write, tmp_path: Path):
    args = ("-t", "label", "--confidence", "-q")
    empty = vsa("label", write("empty.csv", table("")), *args).stdout.replace(b",,", b",-99,")
    coded = vsa("label", write("coded.csv", table("-99")), *args, "--na", "y=-99").stdout
    assert coded == empty
    assert coded != vsa("label", tmp_path / "coded.csv", *args).stdout
    # a token of the target may also be given with its name, and has to be if it holds an equals sign
    t = write("t.csv", table("").replace(b",b\n", b",b=?\n"))
    told = vsa("label", t, *args, "--na", "label=b=?", "--na", "label=zz", "--na", "=", "--na", "=x")
    assert told.code == 0, told.stderr
    assert b"b=?" not in told.stdout
    error = vsa("label", t, *args, "--na", "b=?").error
    assert "t.csv has no column 'b'; for labels that read 'b=?', --na label=b=?" in error


def test_in_parquet_and_in_folders(vsa, tmp_path: Path):
    y = [-99.0 if y == "-99" else float(y) for _, y, _ in ROWS]
    labels = [label if i < 12 else None for i, (_, _, label) in enumerate(ROWS)]
    found = []
    for name, cells in (("coded", y), ("empty", [None if v == -99 else v for v in y])):
        (tmp_path / name).mkdir()
        columns = {"x": [x for x, _, _ in ROWS], "y": cells, "label": labels}
        pq.write_table(pa.table(columns), tmp_path / name / "0.parquet")
        for source, out in ((tmp_path / name / "0.parquet", f"{name}.parquet"), (tmp_path / name, f"{name}-out")):
            done = vsa("label", source, "-t", "label", "--confidence", "-o", tmp_path / out, "-q", "--na", "y=-99")
            assert done.code == 0, done.stderr
        whole = tmp_path / f"{name}.parquet", tmp_path / f"{name}-out" / "0.parquet"
        found.append([pq.read_table(path).select(["label", "label_confidence"]) for path in whole])
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("command", ["label", "eval"])
def test_a_misspelled_column_is_told(vsa, write, command: str):
    path = write("in.csv", table("-99").replace(b"x,y,", b"x,income,"))
    more = ("--methods", "prior") if command == "eval" else ()
    error = vsa(command, path, "-t", "label", "--na", "incom=-99", *more).error
    assert "has no column 'incom'; did you mean 'income'?" in error


def test_which_column_a_token_is_of():
    columns = ["a", "a=b", "c"]
    assert split_tokens(columns, ["-99", "a=1", "a=b=2", "x=3", "c="]) == (
        ["-99", "x=3"],
        {"a": ["1"], "a=b": ["2"], "c": [""]},
    )
    assert without_tokens(pa.array([1, -99, None]), ["-99"]).to_pylist() == [1, None, None]
    assert without_tokens(pa.array([" -99 ", "-99.0", "x"]), ["-99"]).to_pylist() == ["", "-99.0", "x"]
    assert without_tokens(pa.array(["u", "x"]).dictionary_encode(), ["u"]).to_pylist() == ["", "x"]
