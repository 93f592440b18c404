"""Lines above the header, and what says that a file holds more than one table."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from vsacli.errors import DataError, UsageError
from vsacli.tables.text.table import TextTable

ROWS = "1,2,a\n3,4,\n"


def table(text: str, **options) -> TextTable:
    return TextTable(text.encode(), name="t.csv", **options)


def filled(of: TextTable) -> bytes:
    sink = io.BytesIO()
    of.write(sink, 2, np.array([1]), pa.array(["b"], pa.large_string()))
    return sink.getvalue()


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("# made by hand\n", 1),
        ("# made by hand, in a lab\r\n#\r\n# unit: mm\r\n", 3),
        ("#\n\n# one blank line between\n\n", 4),
        ("\ufeff# behind a byte order mark\n", 1),
        ("sep=,\n# behind the line of Excel\n", 1),
        ('# an open " quote\n', 1),
    ],
)
def test_comment_lines_above_the_header_are_kept(above: str, lines: int):
    text = f"{above}x,y,label\n{ROWS}"
    of = table(text)
    assert of.columns == ["x", "y", "label"]
    assert of.n_rows == 2
    assert any(note.startswith(f"{lines} line") and "above the header" in note for note in of.notes)
    assert filled(of).decode() == text.replace("3,4,", "3,4,b")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"#x,y,label\n{ROWS}", ["#x", "y", "label"]),
        (f"# made by hand\n# x,y,label\n{ROWS}", ["# x", "y", "label"]),
        (f"#x,y,label\n#1,2,a\n{ROWS}", ["#x", "y", "label"]),
        ("#tags\n#a\n#b\n", ["#tags"]),
        ("#tags\nplain\n", ["#tags"]),
    ],
)
def test_a_header_that_begins_like_a_comment(text: str, columns: list[str]):
    of = table(text)
    assert of.columns == columns
    sink = io.BytesIO()
    of.write(sink, 0, np.zeros(0, np.int64), pa.array([], pa.large_string()))
    assert sink.getvalue() == text.encode()


def test_comments_are_told_by_the_delimiter_that_is_given():
    text = "# a,b,c\nx;y;label\n1;2;a\n3;4;\n"
    assert table(text, delimiter=";").columns == ["x", "y", "label"]
    assert table(text).columns == ["x", "y", "label"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_line_of_the_header_can_be_named(end: str):
    text = end.join(["Report, 2024", "", "Station 5", "x,y,label", "1,2,a", "3,4,", ""])
    of = table(text, header_line=4)
    assert of.columns == ["x", "y", "label"]
    assert of.where(1) == "row 2 (line 6)"
    assert filled(of).decode() == text.replace("3,4,", "3,4,b")
    assert table(text, header_line=5).columns == ["1", "2", "a"]


def test_there_is_no_such_line():
    with pytest.raises(DataError, match=r"t\.csv has 3 lines, so the header is not in line 9"):
        table(f"x,y,label\n{ROWS}", header_line=9)
    with pytest.raises(DataError, match="empty"):
        table("", header_line=2)


def test_messages_name_the_option():
    with pytest.raises(DataError, match=r"longer than the header with 2; .* --header-line"):
        table(f"Report, 2024\nx,y,label\n{ROWS}")
    with pytest.raises(UsageError, match=r"it has 1 column .*--header-line"):
        table(f"Report of 2024\nx,y,label\n{ROWS}").find("label")


def test_blank_lines_between_rows_and_a_second_header_are_noted():
    plain, apart = table(f"x,y,label\n\n{ROWS}\n\n"), table(f"x,y,label\n{ROWS}\n \nu,v,w\n5,6,c\n")
    assert not any("blank" in note for note in plain.notes)
    assert [note for note in apart.notes if "row 3 (line 6) and those below are read as rows" in note]
    again = table(f"x,y,label\n{ROWS}x,y,label\n{ROWS}")
    assert [note for note in again.notes if note.startswith("row 3 (line 4) repeats the header")]
    assert not any("repeats" in note for note in plain.notes + apart.notes)


@pytest.mark.parametrize("window", [8, 11, 16, 1 << 20])
@pytest.mark.parametrize(
    ("text", "gap", "repeated"),
    [
        ("a,bb\n1,2\n\n3,4\n", 1, None),
        ("a,bb\n\n1,2\n3,4\n\n", None, None),
        ("a,bb\n1,2\n3,4\n\n\n\na,bb\n5,6\n", 2, 2),
        ("\n\na,bb\n1,2\na,bb\na,bb\n", None, 1),
        ("a,bb\n1,2\n\n", None, None),
    ],
)
def test_they_are_found_across_windows(text: str, gap: int | None, repeated: int | None, window: int):
    from vsacli.tables.text.scanner import Dialect
    from vsacli.tables.text.spans import index_table

    data = np.frombuffer(text.encode(), np.uint8)
    index = index_table(data, 0, Dialect(ord(",")), window)
    assert (index.gap and index.gap[0]) == gap
    assert (index.repeated and index.repeated[0]) == repeated
    for found in (index.gap, index.repeated):
        if found:
            lines = text[: found[1]].split("\n")
            assert lines[-1] == ""
            assert sum(map(bool, lines)) - 1 == found[0]


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        (r'1,"a\" ,b,c', r"doubled .*, a backslash .* does not"),
        ('1, "a, b",a', "take out the space"),
        ("1,'a, b',a", "double quotes, single ones are plain text"),
        ("1,a,b,c", "repair this row"),
    ],
)
def test_a_row_with_too_many_cells_says_why(row: str, hint: str):
    with pytest.raises(DataError, match=f"row 2 .line 3.: 4 cells, .*{hint}"):
        table(f"x,note,label\n0,n,a\n{row}\n")
