"""Rows written as a file is written are read as that file is read."""

from __future__ import annotations

import codecs
from typing import Any

import pytest

from vsacli.errors import DataError
from vsacli.tables.text.format import TextFormat
from vsacli.tables.text.table import TextTable

ROWS = [["row", "Größe", "note", "t"], ["1", "1,5", 'a "b", c;d\te|f^g', "x"], ["2", "20,25", "zwei\nZeilen", ""]]
TEXT = "Größe;note;t\n1,5;a,b;\n2,25;c;\n"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (TEXT.encode(), {}),
        (TEXT.encode("utf-8-sig"), {}),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), {}),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), {"encoding": "utf-16"}),
        (TEXT.encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (TEXT.encode("cp1252"), {"encoding": "cp1252"}),
        (TEXT.replace(";", "\t").encode(), {}),
        (TEXT.replace(";", "|").encode(), {}),
        (TEXT.replace(",", ".").replace(";", ",").encode("utf-16"), {}),
        (TEXT.replace(";", "^").encode("latin-1"), {"delimiter": "^", "encoding": "latin-1"}),
        (("sep=^\r\n" + TEXT.replace(";", "^").replace("\n", "\r\n")).encode(), {}),
        (("# a comment\n" + TEXT).encode(), {"delimiter": "semicolon"}),
        ("Größe\n1\n2\n".encode(), {}),
    ],
)
def test_what_is_written_is_read_alike(data: bytes, options: dict[str, Any]):
    table = TextTable(data, name="in.csv", **options)
    again = TextTable(table.format.text(ROWS, "in.csv"), name="next.csv", **options)
    assert again.columns == ROWS[0]
    assert [again.column(j).to_pylist() for j in range(4)] == [list(cells) for cells in zip(*ROWS[1:], strict=True)]


def test_numbers_have_the_decimal_mark_of_the_file():
    assert TextTable(TEXT.encode(), name="in.csv").format.number("0.25") == "0,25"
    assert TextFormat().number("0.25") == "0.25"


def test_a_character_that_the_encoding_lacks():
    table = TextTable(TEXT.encode("cp1252"), name="in.csv", encoding="cp1252")
    with pytest.raises(DataError, match=r"in\.csv: a character of a label cannot be written in .* cp1252"):
        table.format.text([["row", "Łódź"]], "in.csv")
