"""`vsa label data.csv -t class -o data.csv`, again and again: labels that a person gave are told from filled ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path

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
