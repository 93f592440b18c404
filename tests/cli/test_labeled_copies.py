"""Rows that come back by `--labeled` as they were, with a label: it is theirs, whatever the network says."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def numbered(two_groups, labels: dict[str, str] | None = None) -> list[str]:
    lines = two_groups.csv(labels or {"a": "a", "b": "b"}).decode().splitlines()
    return [f"nr,{lines[0]}", *(f"k{7 * i % 100:02},{line}" for i, line in enumerate(lines[1:]))]


def against_the_network(two_groups, lines: list[str], n: int = 3) -> dict[int, str]:
    """The first n rows without a label, by place, each with the label of the other group."""
    blank = [i for i, line in enumerate(lines[1:]) if line.endswith(",")][:n]
    return {i: "b" if two_groups.truth[i] == "a" else "a" for i in blank}


@pytest.mark.parametrize("options", [[], ["--proba"], ["--min-confidence", "0.999"]])
def test_a_label_that_a_person_gave_comes_back(vsa, two_groups, write, tmp_path: Path, options: list[str]):
    lines = numbered(two_groups)
    path = write("in.csv", "\n".join(lines).encode())
    wanted = against_the_network(two_groups, lines)
    returned = write("next.csv", "\n".join([lines[0], *(lines[i + 1] + wanted[i] for i in wanted)]).encode())
    result = vsa("label", path, "-t", "label", "--labeled", returned, "--confidence", *options)
    assert result.code == 0
    rows = rows_of(result.stdout)
    assert {i: rows[i]["label"] for i in wanted} == wanted
    assert {float(rows[i]["label_confidence"]) for i in wanted} == {1.0}
    if "--proba" in options:
        assert all(float(rows[i][f"label_proba_{label}"]) == 1 for i, label in wanted.items())
    assert f"3 rows have the label given in {returned}, where they are unchanged" in result.stderr
    others = [i for i, line in enumerate(lines[1:]) if line.endswith(",") and i not in wanted]
    assert any(0 < float(rows[i]["label_confidence"]) < 1 for i in others)


def test_a_changed_row_and_one_given_two_labels_are_asked(vsa, two_groups, write):
    lines = numbered(two_groups)
    path = write("in.csv", "\n".join(lines).encode())
    first, second, third = against_the_network(two_groups, lines).items()
    nr, x, _, _ = lines[first[0] + 1].split(",")
    returned = [
        lines[0],
        f"{nr},{x},123.4,{first[1]}",  # an attribute is another one now
        lines[second[0] + 1] + "a",
        lines[second[0] + 1] + "b",
        lines[third[0] + 1] + third[1],
    ]
    result = vsa(
        "label", path, "-t", "label", "--confidence", "--labeled", write("n.csv", "\n".join(returned).encode())
    )
    assert result.code == 0
    rows = rows_of(result.stdout)
    assert "1 row has the label given in " in result.stderr
    assert rows[third[0]]["label"] == third[1]
    assert all(float(rows[i]["label_confidence"]) < 1 for i in (first[0], second[0]))


def test_numbers_come_back_with_all_their_digits(vsa, two_groups, write):
    lines = numbered(two_groups, {"a": "123456789", "b": "987654321"})
    lines = [line[:-1] + str(i % 7) if line[-1].isdigit() else line for i, line in enumerate(lines)]
    path = write("in.csv", "\n".join(lines).encode())
    blank = next(i for i, line in enumerate(lines[1:]) if line.endswith(","))
    returned = write("n.csv", f"{lines[0]}\n{lines[blank + 1]}555555557\n".encode())
    options = ["-t", "label", "--task", "regression", "--confidence", "--labeled", returned]
    row = rows_of(vsa("label", path, *options).stdout)[blank]
    assert (row["label"], float(row["label_std"])) == ("555555557", 0)
