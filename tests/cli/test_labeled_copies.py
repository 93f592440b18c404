"""Rows that come back by `--labeled` as they were, with a label: it is theirs, and learned from as in the table."""

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
    assert {rows[i]["label_confidence"] for i in wanted} == {""}  # as beside labels of the table
    assert f"3 labels of {returned} were given to their rows" in result.stderr
    lines = [line + wanted.get(i - 1, "") for i, line in enumerate(lines)]
    by_hand = vsa("label", write("hand.csv", "\n".join(lines).encode()), "-t", "label", "--confidence", *options)
    assert by_hand.stdout == result.stdout


def test_a_changed_row_is_asked_and_of_two_labels_the_last_counts(vsa, two_groups, write):
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
    assert "note: 2 labels of " in result.stderr
    assert "n.csv differs from an earlier one of the same row: the later one counts" in result.stderr
    assert "1 labeled row" in result.stderr
    assert (rows[second[0]]["label"], rows[third[0]]["label"]) == ("b", third[1])
    assert float(rows[first[0]]["label_confidence"]) < 1


def test_numbers_come_back_with_all_their_digits(vsa, two_groups, write):
    lines = numbered(two_groups, {"a": "123456789", "b": "987654321"})
    lines = [line[:-1] + str(i % 7) if line[-1].isdigit() else line for i, line in enumerate(lines)]
    path = write("in.csv", "\n".join(lines).encode())
    blank = next(i for i, line in enumerate(lines[1:]) if line.endswith(","))
    returned = write("n.csv", f"{lines[0]}\n{lines[blank + 1]}555555557\n".encode())
    options = ["-t", "label", "--task", "regression", "--confidence", "--labeled", returned]
    row = rows_of(vsa("label", path, *options).stdout)[blank]
    assert (row["label"], row["label_std"]) == ("555555557", "")


def test_of_several_tables_the_later_counts_and_the_table_itself_before_both(vsa, two_groups, write):
    lines = numbered(two_groups)
    path = write("in.csv", "\n".join(lines).encode())
    one, two, *_ = [i for i, line in enumerate(lines) if line.endswith(",")]
    own = next(i for i, line in enumerate(lines) if line.endswith(",a"))
    first = write("1.csv", "\n".join([lines[0], lines[one] + "a", lines[two] + "a", lines[own][:-1] + "b"]).encode())
    second = write("2.csv", "\n".join([lines[0], lines[two] + "b", "k77,3.5,11.0,b", ""]).encode())
    result = vsa("label", path, "-t", "label", "--labeled", first, "--labeled", second, "-o", path)
    assert result.code == 0
    assert f"2 labels of {first} and {second} were given to their rows" in result.stderr
    assert f"1 label of {first} and {second} differs from an earlier one of the same row" in result.stderr
    assert f"1 label of {first} and {second} differs from the one in {path}, which counts" in result.stderr
    assert "1 labeled row comes from" in result.stderr
    filled = path.read_text().splitlines()
    assert [filled[i].rpartition(",")[2] for i in (one, two, own)] == ["a", "b", "a"]


def test_equal_rows_are_told_apart_by_the_number_that_the_form_has(vsa, write, tmp_path: Path):
    """Neither of two rows with the same cells is found by a cell; the form says which one it was."""
    lines = ["x,y,label", *(f"{i % 4},{i % 4 * 3},{'ab'[i % 2] if i < 8 else ''}" for i in range(20))]
    path = write("in.csv", "\n".join(lines).encode())
    returned = write("n.csv", b"label,label_guess,label_confidence,row,x,y\nb,a,0.9,13,0,0\n,a,0.9,17,0,0\n")
    rows = rows_of(vsa("label", path, "-t", "label", "--labeled", returned, "--confidence").stdout)
    assert (rows[12]["label"], rows[12]["label_confidence"]) == ("b", "")
    assert rows[16]["label_confidence"] != ""


def test_a_table_without_the_label_column_takes_the_form_alone(vsa, write):
    lines = ["x,y", *(f"{i % 2 * 9 + i / 50:.2f},{i % 2 * 5 + i % 3 / 9:.2f}" for i in range(14))]
    path = write("in.csv", "\n".join(lines).encode())
    form = ["label,label_guess,label_confidence,row,x,y", f"low,,,1,{lines[1]}", f"high,,,2,{lines[2]}"]
    result = vsa("label", path, "-t", "label", "--labeled", write("n.csv", "\n".join(form).encode()))
    assert [row["label"] for row in rows_of(result.stdout)] == ["low", "high"] * 7
    assert "has no column 'label': it was added as the last one" in result.stderr
    assert "not used" not in result.stderr


def test_columns_that_only_the_merged_tables_have_are_named(vsa, write):
    """The labels all differ: their first rows are looked at as further headers might be, in every column."""
    rows = [f"{i},{i * i % 17},{i + 0.5}" for i in range(30)]
    old = [
        write(f"{k}.csv", "\n".join(["x,z,y,seen", *(f"{r},s{len(r)}" for r in rows[k::2])]).encode()) for k in (0, 1)
    ]
    new = write("new.csv", "\n".join(["x,z,y", *(f"{i + 0.25},{i}," for i in range(9)), f"{rows[3]}"]).encode())
    result = vsa("label", new, "-t", "y", "--labeled", old[0], "--labeled", old[1])
    assert result.code == 0, result.stderr
    assert f"not used, because {new} has no such columns, only {old[0]} and {old[1]}: seen" in result.stderr
    one = vsa("label", new, "-t", "y", "--labeled", old[1])  # of which a row stands in the new table
    assert one.code == 0, one.stderr
    assert f"not used, because {new} has no such columns, only {old[1]}: seen" in one.stderr
