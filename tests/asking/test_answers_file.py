"""Answers are on the disk at once, are read by `--labeled`, and are found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsacli.asking.answers_file import AnswersFile, answers_path
from vsacli.errors import DataError
from vsacli.labeling.rows_to_label import RowsToLabel
from vsacli.tables.read import read_table

TABLE = "name;size;kind\nUgly, wide;1,5;\nb;2,5;\nc;3,5;\nc;3,5;\n"
HEADER = "kind;kind_guess;kind_confidence;row;name;size\n"


def answers(tmp_path: Path, text: str = TABLE, encoding: str = "utf-8") -> AnswersFile:
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    table = read_table(tmp_path / "t.csv", encoding=None if encoding == "utf-8" else encoding)
    form = RowsToLabel.of(table, 2, "kind", classes=True)
    return AnswersFile(str(tmp_path / "t.answers.csv"), table, form)


def test_each_answer_is_written_at_once_and_can_be_taken_back(tmp_path: Path):
    file, path = answers(tmp_path), tmp_path / "t.answers.csv"
    assert not path.exists()
    file.add(0, "big", "", "")
    file.add(2, "sm;all", "big", "0,7")
    assert path.read_text() == HEADER + 'big;;;1;Ugly, wide;1,5\n"sm;all";big;0,7;3;c;3,5\n'
    file.take_back()
    assert path.read_text() == HEADER + "big;;;1;Ugly, wide;1,5\n"
    file.take_back()
    assert not path.exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_answers_are_found_again(tmp_path: Path, encoding: str):
    text = TABLE.replace("b", "größer")
    first = answers(tmp_path, text, encoding)
    first.add(1, "schön", "", "")
    first.add(3, "x", "", "")
    first.add(1, "schöner", "", "")
    assert answers(tmp_path, text, encoding).earlier == {1: "schöner", 3: "x"}


def test_rows_that_have_moved_are_found_and_those_that_are_gone_are_counted(tmp_path: Path):
    file = answers(tmp_path)
    file.add(0, "big", "", "")
    file.add(1, "mid", "", "")
    moved = answers(tmp_path, "name;size;kind\nx;9,5;\ny;8,5;\nz;7,5;\nUgly, wide;1,5;\n")
    assert (moved.earlier, moved.strangers) == ({3: "big"}, 1)


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path):
    file, path = answers(tmp_path), tmp_path / "t.answers.csv"
    file.add(0, "big", "", "")
    whole = path.read_bytes()
    path.write_bytes(whole + "bí".encode()[:2])
    again = answers(tmp_path)
    assert again.earlier == {0: "big"}
    again.add(1, "mid", "", "")
    assert path.read_bytes() == whole + b"mid;;;2;b;2,5\n"


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "kind;kind_guess;kind_confidence;row;name\n", "\x00\xff"])
def test_another_file_is_not_written_to(tmp_path: Path, content: str):
    (tmp_path / "t.answers.csv").write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match="move it away, or give another --output"):
        answers(tmp_path)
    assert (tmp_path / "t.answers.csv").read_bytes() == content.encode("latin-1")


def test_where_answers_are_kept():
    assert answers_path("in/data.csv", None) == "in/data.answers.csv"
    assert answers_path("in/my.data.csv", None) == "in/my.data.answers.csv"
    assert answers_path("in/data.csv", "-") == "in/data.answers.csv"
    assert answers_path("in/data.csv", "out/labeled.csv.gz") == "out/labeled.answers.csv"
    assert answers_path("data.csv", "/dev/null") == "data.answers.csv"
