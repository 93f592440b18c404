"""`vsa label --report` and `--suggest`: what is written where, and what is refused."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_as_a_user_does(vsa_process, two_groups, write, tmp_path: Path):
    write("in.csv", two_groups.csv())
    result = vsa_process(
        "label", "in.csv", "-t", "label", "--report", "page.html", "--suggest", "3", "--suggest-to", "n.csv"
    )
    assert result.code == 0
    assert [row["label"] for row in rows_of(result.stdout)] == two_groups.truth
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "16 of 16 missing labels filled" in page
    assert str(tmp_path) not in page
    assert len(rows_of((tmp_path / "n.csv").read_bytes())) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "n.csv", "page.html"]


def test_suggested_rows_are_rows_of_the_file_least_certain_first(vsa, two_groups, write, tmp_path: Path):
    path = write("in.csv", b"\n" + two_groups.csv().replace(b"x,y,label\n", b"x,y,label\n\n\n"))
    lines = two_groups.lines()
    result = vsa(
        "label", path, "-t", "label", "-o", tmp_path / "out.csv", "--suggest", "4", "--suggest-to", "-", "--confidence"
    )
    found = rows_of(result.stdout)
    assert list(found[0]) == ["label", "label_guess", "label_confidence", "row", "x", "y"]
    assert len(found) == 4
    filled = rows_of((tmp_path / "out.csv").read_bytes().lstrip(b"\n"))
    filled = [row for row in filled if any(row.values())]
    for row in found:
        at = int(row["row"]) - 1
        assert lines[at] == f"{row['x']},{row['y']},"
        assert row["label"] == ""
        assert row["label_guess"] == filled[at]["label"]
        assert row["label_confidence"] == filled[at]["label_confidence"]
    certain = [float(row["label_confidence"]) for row in found]
    assert certain == sorted(certain)


def test_suggestions_filled_in_can_be_given_back(vsa, two_groups, write, tmp_path: Path):
    path = write("in.csv", two_groups.csv())
    asked = vsa("label", path, "-t", "label", "-q", "-o", tmp_path / "out.csv", "--suggest", "2", "--suggest-to", "-")
    lines = asked.stdout.decode().splitlines()
    answered = "\n".join([lines[0], *(f"b{line}" for line in lines[1:])])
    result = vsa("label", path, "-t", "label", "--labeled", write("answered.csv", answered.encode()))
    assert result.code == 0
    assert "note: 2 labels of " in result.stderr
    assert "answered.csv were given to their rows" in result.stderr


def test_suggestions_that_were_filled_in_are_not_replaced(vsa, two_groups, write, tmp_path: Path):
    path, rows = write("in.csv", two_groups.csv()), tmp_path / "next.csv"
    command = ("label", path, "-t", "label", "-q", "-o", tmp_path / "out.csv", "--suggest", "2", "--suggest-to", rows)
    assert vsa(*command).code == 0
    assert vsa(*command).code == 0  # nothing was filled in yet
    header, first, *others = rows.read_text().splitlines()
    filled = "\n".join([header, f"b{first}", *others]) + "\n"
    rows.write_text(filled)
    result = vsa(*command)
    assert result.code == 2
    assert "holds labels that you filled in: give them back with --labeled" in " ".join(result.stderr.split())
    assert rows.read_text() == filled


def answered(suggestions: bytes, label: str, guess: str) -> bytes:
    """The suggestions with each guess taken for the label."""
    rows = list(csv.reader(io.StringIO(suggestions.decode())))
    at, told = rows[0].index(label), rows[0].index(guess)
    for row in rows[1:]:
        row[at] = row[told]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode()


def test_given_back_rows_do_not_make_attributes_of_ids(vsa, two_groups, write, tmp_path: Path):
    lines = [f"{i + 1},k{i * 7 % 24:03},{line}" for i, line in enumerate(two_groups.lines())]
    path = write("in.csv", "\n".join(["nr,name,x,y,label", *lines]).encode())
    asked = vsa("label", path, "-t", "label", "-o", tmp_path / "out.csv", "--suggest", "5", "--suggest-to", "-")
    again = vsa(
        "label", path, "-t", "label", "--labeled", write("n.csv", answered(asked.stdout, "label", "label_guess"))
    )
    for result in (asked, again):
        assert "columns: 2 used: x, y\n" in result.stderr
        assert "left out: nr (an id: integers without a gap, each once), name (an id: all 24" in result.stderr
    assert "n.csv were given to their rows" in again.stderr
    assert f"{sum(two_groups.given) + 5} given" in again.stderr
    assert [row["label"] for row in rows_of(again.stdout)] == two_groups.truth


@pytest.mark.parametrize(
    ("delimiter", "encoding", "options"),
    [
        (";", "utf-8", []),
        ("\t", "utf-16", []),
        (";", "cp1252", ["--delimiter", ";", "--encoding", "cp1252"]),
        ("^", "utf-16-be", ["--delimiter", "^", "--encoding", "utf-16-be"]),
    ],
)
def test_given_back_as_the_file_is_written(
    vsa, two_groups, write, tmp_path: Path, delimiter: str, encoding: str, options: list[str]
):
    """`--suggest-to next.csv`, the labels filled in by an editor that keeps the format, `--labeled next.csv`."""
    text = two_groups.csv({"a": "größer", "b": "kleiner"}).decode().replace(",", delimiter)
    text = text if delimiter == "^" else text.replace(".", ",")
    path = write("in.csv", text.replace("x", "Länge", 1).encode(encoding))
    suggested = tmp_path / "next.csv"
    common = ["label", path, "-t", "label", *options, "-o", tmp_path / "out.csv"]
    assert vsa(*common, "--suggest", "4", "--suggest-to", suggested).code == 0
    lines = suggested.read_bytes().decode(encoding).splitlines()
    assert lines[0] == delimiter.join(["label", "label_guess", "label_confidence", "row", "Länge", "y"])
    filled = [line.split(delimiter)[1] + line for line in lines[1:]]
    suggested.write_bytes("\n".join([lines[0], *filled]).encode(encoding))
    again = vsa(*common, "--labeled", suggested)
    assert again.code == 0
    assert "next.csv were given to their rows" in again.stderr
    assert "columns: 2 used: Länge, y\n" in again.stderr
    given = sum(two_groups.given)
    assert f"labels: {given + 4} given, " in again.stderr
    told = [line.rpartition(delimiter)[2] for line in (tmp_path / "out.csv").read_bytes().decode(encoding).splitlines()]
    assert told[1:] == ["größer" if label == "a" else "kleiner" for label in two_groups.truth]


def test_given_back_as_a_spreadsheet_saves_it(vsa, two_groups, write):
    """The options say how FILE is written; a file that they do not fit is read as it is."""
    text = two_groups.csv().decode()
    path = write("in.csv", text.replace("x,", "Länge,", 1).replace(",", ";").encode("cp1252"))
    labeled = write("next.csv", "Länge,y,label\n1.1,19.5,a\n8.8,2.5,b\n".encode("utf-8-sig"))
    options = ["label", path, "-t", "label", "--delimiter", ";", "--encoding", "cp1252", "--labeled"]
    result = vsa(*options, labeled)
    assert result.code == 0
    assert "2 labeled rows come from" in result.stderr
    assert "columns: 2 used: Länge, y\n" in result.stderr
    other = write("other.csv", b"x,y\n1,2\n")
    assert "other.csv has no column 'label'; it has 1 column" in vsa(*options, other).error


def test_names_that_the_table_has_already(vsa, write, tmp_path: Path):
    lines = ["row,t_guess,t", *(f"{i * i % 7},{i % 3},{'ab'[i % 2] if i < 6 else ''}" for i in range(20))]
    path = write("in.csv", "\n".join(lines).encode())
    result = vsa("label", path, "-t", "t", "-o", tmp_path / "out.csv", "--suggest", "1", "--suggest-to", "-")
    header = result.stdout.decode().splitlines()[0]
    assert header == "t,t_guess_2,t_confidence,row_2,row,t_guess"


def test_numbers_of_a_parquet_file(vsa, tmp_path: Path):
    n = 40
    table = pa.table(
        {"x": [float(i % 9) for i in range(n)], "y": [float(i % 9) + i / 100 if i < 15 else None for i in range(n)]}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    result = vsa(
        "label", tmp_path / "in.parquet", "-t", "y", "-o", tmp_path / "out.parquet",
        "--suggest-to", "-", "--report", tmp_path / "page.html",
    )  # fmt: skip
    found = rows_of(result.stdout)
    assert list(found[0]) == ["y", "y_guess", "y_std", "row", "x"]
    assert len(found) == 10
    filled = pq.read_table(tmp_path / "out.parquet")["y"].to_pylist()
    assert all(float(row["y_guess"]) == pytest.approx(filled[int(row["row"]) - 1]) for row in found)
    assert "25 of 25 missing numbers filled" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_labels_from_another_table_alone(vsa, two_groups, write, tmp_path: Path):
    old = write("old.csv", two_groups.csv() + b"1.5,19.0,a\n")
    new = write("new.csv", "\n".join(line.rpartition(",")[0] for line in ["x,y,label", *two_groups.lines()]).encode())
    result = vsa(
        "label", new, "-t", "label", "--labeled", old, "-o", tmp_path / "out.csv",
        "--suggest-to", "-", "--suggest", "2", "--report", tmp_path / "page.html",
    )  # fmt: skip
    found = rows_of(result.stdout)
    assert list(found[0]) == ["label", "label_guess", "label_confidence", "row", "x", "y"]
    lines = two_groups.lines()
    assert all(lines[int(row["row"]) - 1].startswith(f"{row['x']},{row['y']},") for row in found)
    assert "a labeled row of old.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_one_class_still_has_rows_to_look_at(vsa, write, tmp_path: Path):
    lines = ["x,t", *(f"{i % 5 + (i > 15) * 50}.5,{'only' if i < 4 else ''}" for i in range(20))]
    path = write("in.csv", "\n".join(lines).encode())
    result = vsa("label", path, "-t", "t", "-o", tmp_path / "out.csv", "--suggest", "1", "--suggest-to", "-")
    assert int(rows_of(result.stdout)[0]["row"]) > 16  # unlike all that have a label


def test_a_failed_run_writes_neither(vsa, two_groups, write, tmp_path: Path):
    path = write("in.csv", two_groups.csv())
    page, rows = tmp_path / "page.html", write("rows.csv", b"old")
    result = vsa(
        "label", path, "-t", "label", "--report", page, "--suggest-to", rows, "--checkpoint", tmp_path / "none"
    )
    assert result.code == 1
    assert not page.exists()
    assert rows.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report", "-"], "would mix a page with the table"),
        (["--report", "/dev/stdout"], "would mix a page with the table"),
        (["--suggest", "5"], "give --suggest-to FILE"),
        (["--suggest-to", "-"], "would both go to standard output"),
        (["--suggest-to", "in.csv"], "would replace"),
        (["--report", "in.csv"], "would replace"),
        (["--report", "out.csv", "-o", "out.csv"], "would replace"),
        (["--report", "a", "--suggest-to", "./a"], "would replace"),
        (["--report", "other.csv", "--labeled", "other.csv"], "would replace"),
        (["--report", "none/page.html"], "the directory none does not exist; create it first"),
    ],
)
def test_refused(
    vsa, two_groups, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
):
    write("in.csv", two_groups.csv())
    write("other.csv", two_groups.csv())
    monkeypatch.chdir(tmp_path)
    result = vsa("label", "in.csv", "-t", "label", *options)
    assert message in result.error
    assert result.code == (1 if "directory" in message else 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "other.csv"]


def test_a_folder_of_parts_is_refused(vsa, tmp_path: Path):
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", None]}), tmp_path / "parts" / "1.parquet")
    result = vsa("label", tmp_path / "parts", "-t", "y", "-o", tmp_path / "out", "--report", tmp_path / "p.html")
    assert "give one part of the folder as FILE" in result.error


def test_rows_of_a_page_have_the_names_by_which_a_person_knows_them(vsa, two_groups, write, tmp_path: Path):
    """An id that the network does not use is what a person looks for."""
    names = ["".join(chr(97 + (i * k) % 26) for k in (3, 7, 11)).title() for i in range(1, len(two_groups.truth) + 1)]
    cells = [line.rpartition(",") for line in two_groups.lines()]
    lines = [f"{xy},{name},{label}" for (xy, _, label), name in zip(cells, names, strict=True)]
    path = write("in.csv", "\n".join(["x,y,who is it,label", *lines]).encode())
    result = vsa("label", path, "-t", "label", "-o", tmp_path / "out.csv", "--report", tmp_path / "page.html")
    assert "left out: who is it (an id" in result.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    rows = page[page.index("The least certain answers") :]
    missing = [name for name, given in zip(names, two_groups.given, strict=True) if not given]
    assert sum(f">{name}<" in rows for name in missing) == 12
    assert "overflow-wrap:normal;word-break:keep-all" in page  # a header breaks between words only


def test_a_table_without_labels_gets_the_rows_to_label_first(vsa, two_groups, write, tmp_path: Path):
    path = write("in.csv", "\n".join(["x,y,label", *(f"{x},{y}," for x, y in two_groups.rows), ""]).encode())
    out, first = tmp_path / "out.csv", tmp_path / "first.csv"
    result = vsa("label", path, "-t", "label", "-o", out, "--suggest", "2", "--suggest-to", first)
    assert result.code == 1
    assert f"label those in {first}, and give them back with --labeled" in result.error
    assert not out.exists()
    rows = rows_of(first.read_bytes())
    assert list(rows[0]) == ["label", "label_guess", "label_confidence", "row", "x", "y"]
    truth = [two_groups.truth[int(row["row"]) - 1] for row in rows]
    assert set(truth) == {"a", "b"}  # one of each group
    lines = first.read_text().splitlines()
    first.write_text(
        "\n".join([lines[0], *(label + line for label, line in zip(truth, lines[1:], strict=True))]) + "\n"
    )
    filled = vsa("label", path, "-t", "label", "--labeled", first)
    assert [row["label"] for row in rows_of(filled.stdout)] == two_groups.truth
    assert not vsa("label", path, "-t", "label", "--suggest-to", "-", "-o", out).stdout.startswith(b"x,y,label")
    assert "--suggest-to FILE names the rows to begin with" in vsa("label", path, "-t", "label").error
