"""`vsa label data.csv -t class -o data.csv`, again and again: labels that a person gave are told from filled ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Result, Vsa


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class InPlace:
    """Runs the command on one file, in place."""

    def __init__(self, vsa: Vsa, path: Path) -> None:
        self.vsa, self.path = vsa, path

    def __call__(self, *options: str | Path) -> Result:
        return self.vsa("label", self.path, "-t", "label", "-o", self.path, *options)


@pytest.fixture
def label(vsa, two_groups, write) -> InPlace:
    return InPlace(vsa, write("data.csv", two_groups.csv()))


def test_filled_labels_are_filled_again_and_the_file_stays_the_same(label, two_groups):
    assert label().code == 0
    first = label.path.read_bytes()
    record = label.path.with_name("data.csv.vsa")
    assert len(json.loads(record.read_text())["filled"]["label"]) == two_groups.given.count(False)
    again = label()
    assert "note: 16 labels were filled in by an earlier run, says data.csv.vsa" in again.stderr
    assert f"labels: {two_groups.given.count(True)} given" in again.stderr
    assert label.path.read_bytes() == first


def test_a_corrected_label_is_a_persons_even_after_sorting(label, two_groups):
    label()
    lines = label.path.read_text().splitlines()
    at = two_groups.given.index(False) + 1
    wrong = "b" if lines[at].endswith("a") else "a"
    lines[at] = lines[at][:-1] + wrong
    label.path.write_text("\n".join([lines[0], *sorted(lines[1:]), "9.05,3.20,", ""]))
    again = label()
    assert f"labels: {two_groups.given.count(True) + 1} given" in again.stderr
    assert "missing: 16:" in again.stderr
    assert lines[at] in label.path.read_text().splitlines()
    assert rows_of(label.path)[-1]["label"] == "b"


def test_less_certain_labels_are_taken_out_again(label, two_groups):
    label()
    assert "16 below --min-confidence" in label("--min-confidence", "1").stderr
    assert [row["label"] for row in rows_of(label.path)] == [
        truth if given else "" for truth, given in zip(two_groups.truth, two_groups.given, strict=True)
    ]
    assert not label.path.with_name("data.csv.vsa").exists()


def test_labels_given_back_are_given_the_next_time(label, two_groups, tmp_path: Path):
    label("--suggest", "2", "--suggest-to", tmp_path / "next.csv")
    form = (tmp_path / "next.csv").read_text().splitlines()
    (tmp_path / "next.csv").write_text("\n".join([form[0], *(f"b{line}" for line in form[1:])]))
    assert "2 labels of " in label("--labeled", tmp_path / "next.csv").stderr
    given = two_groups.given.count(True) + 2
    assert f"labels: {given} given" in label().stderr
    assert all(rows_of(label.path)[int(line.split(",")[3]) - 1]["label"] == "b" for line in form[1:])


def test_a_file_written_elsewhere_is_not_remembered_but_what_is_remembered_is_read(vsa, label, tmp_path: Path):
    label()
    out = tmp_path / "out.csv"
    assert "16 labels were filled in by an earlier run" in vsa("label", label.path, "-t", "label", "-o", out).stderr
    assert out.read_bytes() == label.path.read_bytes()
    assert not (tmp_path / "out.csv.vsa").exists()


def test_a_damaged_record_is_told(vsa, label):
    label()
    label.path.with_name("data.csv.vsa").write_text("{")
    result = label()
    assert result.code == 1
    assert "data.csv.vsa, beside" in result.error
    assert "delete it" in result.error


def test_columns_may_be_added_afterwards(vsa, label, two_groups):
    label()
    lines = label.path.read_text().splitlines()
    label.path.write_text("\n".join(["z," + lines[0], *(f"{i % 5},{line}" for i, line in enumerate(lines[1:]))]))
    assert f"labels: {two_groups.given.count(True)} given" in label().stderr


def test_of_two_equal_rows_the_given_one_stays_given(vsa, write):
    lines = ["x,label", *(f"{x},{'ab'[x > 4]}" for x in range(10)), *(f"{x}," for x in range(10))]
    path = write("data.csv", "\n".join(lines).encode())
    for _ in range(3):
        result = vsa("label", path, "-t", "label", "-o", path)
        assert "labels: 10 given" in result.stderr


def test_a_column_that_the_run_added_is_remembered(vsa, two_groups, write):
    bare = "\n".join(line.rpartition(",")[0] for line in ["x,y,label", *two_groups.lines()])
    path, other = write("data.csv", bare.encode()), write("old.csv", b"x,y,label\n1.3,19.2,a\n8.7,2.9,b\n")
    runs = []
    for _ in range(2):
        runs.append(vsa("label", path, "-t", "label", "--labeled", other, "-o", path))
        assert [row["label"] for row in rows_of(path)] == two_groups.truth
    assert [run.code for run in runs] == [0, 0]
    assert f"note: {len(two_groups.truth)} labels were filled in by an earlier run" in runs[1].stderr
    assert "labels: 2 given" in runs[1].stderr


def test_labels_of_another_table_that_were_filled_in_there_are_not_learned_from(vsa, label, two_groups, write):
    label()
    new = write("new.csv", b"x,y,label\n1.3,19.2,\n8.7,2.9,\n")
    result = vsa("label", new, "-t", "label", "--labeled", label.path)
    assert f"labels: {two_groups.given.count(True)} given" in result.stderr
    assert "note: 16 labels were filled in by an earlier run, says data.csv.vsa: not learned from" in result.stderr
    shown = vsa("eval", new, "-t", "label", "--labeled", label.path, "--methods", "centroid").stdout.decode()
    given = two_groups.given.count(True)
    assert f"{2 + given} rows, {given} with a label" in shown


def columns_of(path: Path) -> list[str]:
    return list(rows_of(path)[0])


def test_rows_to_label_have_the_form_of_the_table_in_every_round(vsa, two_groups, write, tmp_path: Path):
    path = write("data.csv", two_groups.csv().replace(b",", b";").replace(b".", b","))
    for i in range(3):
        form = tmp_path / f"{i}.csv"
        more = () if i == 0 else ("--labeled", tmp_path / f"{i - 1}.csv")
        done = vsa("label", path, "-t", "label", "-o", path, "--suggest", "2", "--suggest-to", form, *more)
        assert f"labels: {two_groups.given.count(True) + 2 * i} given" in done.stderr
        header, *rows = form.read_text().splitlines()
        assert header == "label;label_guess;label_confidence;row;x;y"
        form.write_text("\n".join([header, *(f"{row.split(';')[1]}{row}" for row in rows), ""]))


def test_added_columns_are_replaced(label, two_groups):
    for _ in range(3):
        result = label("--confidence", "--proba")
        assert result.code == 0
        assert "exists already" not in result.stderr
        assert columns_of(label.path) == ["x", "y", "label", "label_confidence", "label_proba_a", "label_proba_b"]
        assert sum(row["label_confidence"] != "" for row in rows_of(label.path)) == two_groups.given.count(False)
    # a person adds a column behind, and takes a label back
    lines = [f"{line},{'note' if i == 0 else i}" for i, line in enumerate(label.path.read_text().splitlines())]
    label.path.write_text("\n".join([*lines, ""]))
    assert f"labels: {two_groups.given.count(True)} given" in label("--confidence").stderr
    assert columns_of(label.path) == ["x", "y", "label", "note", "label_confidence"]
    assert [row["note"] for row in rows_of(label.path)] == [str(i + 1) for i in range(len(two_groups.truth))]
    label()
    assert columns_of(label.path) == ["x", "y", "label", "note"]
    record = label.path.with_name("data.csv.vsa")
    assert "added" not in json.loads(record.read_text())


def test_a_column_of_the_same_name_that_a_person_wrote_stays(label, two_groups):
    label("--confidence")
    lines = label.path.read_text().splitlines()
    own = [lines[0], *(line.rpartition(",")[0] + ",sure" for line in lines[1:]), ""]
    label.path.write_text("\n".join(own))
    assert "column label_confidence exists already; the new one is label_confidence_2" in label("--confidence").stderr
    assert {row["label_confidence"] for row in rows_of(label.path)} == {"sure"}


def test_columns_are_remembered_if_no_label_is_certain(label):
    for _ in range(2):
        label("--confidence", "--min-confidence", "1")
        assert columns_of(label.path) == ["x", "y", "label", "label_confidence"]
    label("--min-confidence", "1")
    assert columns_of(label.path) == ["x", "y", "label"]
    assert not label.path.with_name("data.csv.vsa").exists()


@pytest.mark.parametrize("kind", ["string", "dictionary", "float32", "required"])
def test_parquet_is_remembered_as_text_is(vsa, two_groups, tmp_path: Path, kind: str):
    path = tmp_path / "data.parquet"
    numbers = kind == "float32"
    value = {label: i * 0.1 if numbers else label for i, label in enumerate("ab")}
    blank = "" if kind == "required" else None
    labels = [value[t] if g else blank for t, g in zip(two_groups.truth, two_groups.given, strict=True)]
    of_type = {
        "float32": pa.float32(), "dictionary": pa.dictionary(pa.int8(), pa.string())
    }.get(kind, pa.string())  # fmt: skip
    x, y = zip(*two_groups.rows, strict=True)
    schema = pa.schema(
        [("x", pa.float64()), pa.field("label", of_type, nullable=kind != "required"), ("y", pa.float64())],
        {"pandas": json.dumps({"columns": [{"name": n, "field_name": n} for n in ("x", "label", "y")]})},
    )
    before = pa.table({"x": x, "label": pa.array(labels, of_type), "y": y}, schema)
    pq.write_table(before, path, row_group_size=10, write_page_index=True, sorting_columns=[pq.SortingColumn(2)])
    task = ("--task", "regression") if numbers else ()
    certainty = "label_std" if numbers else "label_confidence"
    files, result, after = [], None, before
    for _ in range(3):
        result = vsa("label", path, "-t", "label", "-o", path, "--confidence", *task)
        assert result.code == 0, result.stderr
        assert f"labels: {two_groups.given.count(True)} given" in result.stderr
        files.append(path.read_bytes())
        after = pq.read_table(path)
        assert after.column_names == ["x", "label", "y", certainty]
        assert after.select(["x", "y"]).equals(before.select(["x", "y"]))
        assert len(json.loads((after.schema.metadata or {})[b"pandas"])["columns"]) == 4
        assert "" not in after["label"].to_pylist()
        assert after["label"].null_count == 0
    assert result is not None
    assert "16 labels were filled in by an earlier run, says data.parquet.vsa" in result.stderr
    assert files[1] == files[2]
    assert not numbers or np.isclose(after["label"].to_pylist(), [value[t] for t in two_groups.truth], atol=0.05).all()
    # without the option the column goes, and so do labels that are not certain
    more = () if numbers else ("--min-confidence", "1")
    vsa("label", path, "-t", "label", "-o", path, *task, *more)
    after = pq.read_table(path)
    assert after.column_names == before.column_names
    assert numbers or after["label"].to_pylist() == labels
    assert after.select(["x", "y"]).equals(before.select(["x", "y"]))
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(g).total_byte_size > 0 for g in range(metadata.num_row_groups)] == [True] * 3
    assert all(metadata.row_group(g).sorting_columns[0].column_index == 2 for g in range(3))
