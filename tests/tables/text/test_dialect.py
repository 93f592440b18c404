"""Encoding, delimiter, quoting and decimal mark, decided over the whole file."""

from __future__ import annotations

import pytest

from vsacli.errors import DataError, UsageError
from vsacli.tables.text.encoding import line_of, to_utf8
from vsacli.tables.text.table import TextTable


def table(data: bytes | str, name: str = "t.csv", **options: str) -> TextTable:
    return TextTable(data.encode() if isinstance(data, str) else data, name=name, **options)  # type: ignore[arg-type]


FAR = 40_000  # rows: more than any prefix that a sniffer would look at


@pytest.mark.parametrize(("mark", "name"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")])
def test_each_delimiter_is_found_and_said(mark: str, name: str):
    of = table(mark.join("abc") + "\n" + mark.join(["1", "2", "x"]) + "\n")
    assert of.columns == ["a", "b", "c"]
    assert of.notes == [f"delimiter: {name} (detected)"]


def test_the_delimiter_is_decided_over_all_rows():
    rows = ["1,2;3"] * FAR + ["1;2"]  # only the last row shows that the comma is not a delimiter
    assert table("a, b;c\n" + "\n".join(rows)).columns == ["a, b", "c"]
    rows[-1] = "1,2"
    assert table("a, b;c\n" + "\n".join(rows)).columns == ["a", " b;c"]


def test_delimiters_in_quotes_do_not_count():
    of = table('a;b\n"1,2,3";"x;y"\n"4,5,6";z\n')
    assert of.columns == ["a", "b"]
    assert of.column(1).to_pylist() == ["x;y", "z"]


def test_of_several_that_fit_the_most_columns_win():
    assert table("a,b|c,d\n1,2|3,4\n").columns == ["a", "b|c", "d"]
    assert table("x, y;z\n1,5;u\n2,5;v\n").columns == ["x, y", "z"]  # as many: the semicolon


def test_a_file_name_decides_for_tabs():
    text = "a,b,c\td\n1,2,3\t4\n"
    assert table(text, name="t.tsv").columns == ["a,b,c", "d"]
    assert table(text, name="t.TAB.gz").columns == ["a,b,c", "d"]
    assert table(text, name="t.csv").columns == ["a", "b", "c\td"]
    assert table("a,b\n1,2\n", name="t.tsv").columns == ["a", "b"]  # named so, but no tab in it


@pytest.mark.parametrize("spelled", ["\t", "\\t", "tab", "TAB"])
def test_a_given_delimiter_is_taken(spelled: str):
    of = table("a,b\tc\nx,y\t3\n", delimiter=spelled)
    assert of.columns == ["a,b", "c"]
    assert of.notes == []


@pytest.mark.parametrize("wrong", ["", ",,", "§", '"', "\n", "\r"])
def test_what_cannot_be_a_delimiter(wrong: str):
    with pytest.raises(UsageError, match=r"--delimiter .* one ASCII character"):
        table("a,b\n1,2\n", delimiter=wrong)


def test_other_ascii_delimiters():
    assert table("a b\n1 2\n", delimiter="space").columns == ["a", "b"]
    assert table("a\x01b\n1\x012\n", delimiter="\x01").columns == ["a", "b"]
    assert table("a^b\n1^2\n", delimiter="^").column(1).to_pylist() == ["2"]


def test_a_first_line_that_names_the_delimiter():
    for line in ("sep=;\r\n", '"sep=;"\r\n'):
        of = table(line + "a,b;c\r\nx,y;3\r\n")
        assert of.columns == ["a,b", "c"]
        assert of.notes == ["delimiter: semicolon (first line)"]
        assert of.where(0) == "row 1 (line 3)"
    assert table("sep=;\na,b\n1,2\n", delimiter=",").columns == ["a", "b"]


def test_one_column_has_no_delimiter():
    of = table("text\nDoe, John\na;b|c\nplain\n")
    assert of.columns == ["text"]
    assert of.column(0).to_pylist() == ["Doe, John", "a;b|c", "plain"]
    assert of.notes == ["delimiter: none (one column)"]
    assert table('text\n"a\nb"\n5"\n').column(0).to_pylist() == ["a\nb", '5"']
    assert table('text\n"open\nb\n').column(0).to_pylist() == ['"open', "b"]


def test_quotes_that_do_not_fit_are_plain_text():
    of = table('a\tb\n"open\t1\nx\t2\n5" pipe\t3\n')
    assert of.column(0).to_pylist() == ['"open', "x", '5" pipe']
    assert of.notes[1].startswith("quotes: plain text")


def test_a_quote_never_closed_in_a_file_of_quoted_cells():
    with pytest.raises(DataError, match=r"t\.csv, line 4: a quote is opened here and never closed"):
        table('"a","b"\n"1","2"\n\n3,"4\n5,6\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n\n3\n", r"row 2 \(line 4\): 1 cell, shorter than the header with 2; .*delimiter: comma, detected"),
        (
            "a,b\n1,2,\n3,4\n5,6,\n",
            r"row 2 \(line 3\): 2 cells and no comma at the end, which other rows have: put one",
        ),
        ('a,b\n"1\n2",2\n3,4,5\n', r"row 2 \(line 4\): 3 cells, longer than the header with 2"),
        ("a,b\r1,2\r3,4,5\r", r"row 2 \(line 3\): 3 cells"),
        ("a,b\n1,2,\n3,4\n", r"row 2 \(line 3\): 2 cells"),
    ],
)
def test_a_ragged_row_is_named_with_its_line(text: str, message: str):
    with pytest.raises(DataError, match=message) as caught:
        table(text)
    assert "\n" not in str(caught.value)


def test_a_given_delimiter_is_not_called_detected():
    with pytest.raises(DataError, match="row 1") as caught:
        table("a,b\n1\n", delimiter=",")
    assert "detected" not in str(caught.value)


@pytest.mark.parametrize("text", ["\n", "\r\n\n", "  \n", "\ufeff", "\ufeff\n"])
@pytest.mark.parametrize("options", [{}, {"delimiter": ","}])
def test_no_header_is_an_empty_file(text: str, options: dict[str, str]):
    with pytest.raises(DataError, match="is empty"):
        table(text, **options)


def test_a_trailing_delimiter_is_said():
    of = table("a,b\n1,2,\n3,4,\n")
    assert of.columns == ["a", "b"]
    assert of.column(1).to_pylist() == ["2", "4"]
    assert "one more comma than the header" in of.notes[1]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a;b\n1,5;x\n2,25;y\n", ","),
        ("a;b\n1.234,5;x\n1.000;y\n", ","),
        ("a;b\n0,125;x\n", ","),
        ("a;b\n1,234;x\n5,678;y\n", ","),  # either reading; but separated by semicolons
        ("a\tb\n1,234\tx\n5,678\ty\n", "."),  # either reading
        ("a\tb\n1,5\tx\n", ","),
        ("a;b\n1.5;x\n1,234;y\n", "."),
        ("a;b\n1,234.5;x\n", "."),
        ("a;b;c\n1,5;2,5;v1\n1,5;2,5;1.2\n", ","),  # the numbers of more columns
        ("a;b;c\n1.5;2.5;3,4\n", "."),
        ("a;b\n12,5 %;x\n", ","),
        ("a;b\n€ 12,50;x\n", ","),
        ("a;b\nx, y;1\n", "."),
        ("a;b\n1,2,3;1\n", "."),
        ("a;b\n1;2\n", "."),
        ('a,b\n"1,5",x\n"2,5",y\n', "."),  # separated by commas
    ],
)
def test_the_decimal_mark(text: str, mark: str):
    of = table(text)
    assert of.decimal == mark
    assert ("decimal mark: comma (detected)" in of.notes) == (mark == ",")


def test_the_decimal_mark_is_decided_over_all_rows():
    assert table("a;b\n" + "12;x\n" * FAR + "1,5;x\n").decimal == ","
    assert table("a;b\n" + "1,5;x\n" * FAR + "1.5;x\n").decimal == "."  # no column is consistent


# ---------------------------------------------------------------- encoding


def test_byte_order_marks_decide_the_encoding():
    for codec in ("utf-8-sig", "utf-16", "utf-32"):
        of = table("é,b\n1,2\n".encode(codec))
        assert of.columns == ["é", "b"]
    assert table(b"\xfe\xff" + "é,b\n1,2\n".encode("utf-16-be")).columns == ["é", "b"]


@pytest.mark.parametrize("given", ["utf-8", "utf-8-sig", "UTF8"])
def test_a_mark_of_utf8_agrees_with_utf8(given: str):
    assert table(b"\xef\xbb\xbfa,b\n1,2\n", encoding=given).columns == ["a", "b"]


def test_utf16_without_a_mark():
    for codec in ("utf-16-le", "utf-16-be"):
        raw = "a,b\n1,2\n".encode(codec)
        assert table(raw, encoding=codec).columns == ["a", "b"]
        assert table(raw, encoding="utf-16").columns == ["a", "b"]
        with pytest.raises(DataError, match=f"NUL.*--encoding {codec}"):
            table(raw)


@pytest.mark.parametrize(
    ("raw", "given", "message"),
    [
        ("a,b\n1,2\nNaïf,x\n".encode("latin-1"), None, r"line 3: byte 0xef is not UTF-8; .*--encoding cp1252 or"),
        (b"a,b\n1,\xc3", None, r"line 2: byte 0xc3 is not UTF-8"),
        (b"a,b\n1,\x81\n", "cp1252", r"line 2: byte 0x81 is not CP1252"),
        (b"a,b\n1,2\n\xe9,3\n", "ascii", r"line 3: byte 0xe9 is not ASCII"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-8", r"byte order mark says utf-16-le, not utf-8: leave --encoding out"),
        (b"\xef\xbb\xbfa,b\n1,2\n", "latin-1", r"byte order mark says utf-8, not latin-1"),
        (b"a,b\n1,2\n\x00", "utf-16", r"is not UTF-16"),
        ("a,b\n1,2\n".encode("utf-16") + b"\x00\xd8", None, r"line 3: byte 0x00 is not UTF-16-LE"),
        ("a,b\nあ,2\n".encode() + b"\x1b$B", "iso2022_jp", r"ISO2022_JP"),
    ],
)
def test_bytes_that_are_not_of_the_encoding(raw: bytes, given: str | None, message: str):
    with pytest.raises(DataError, match=message):
        to_utf8(raw, "t.csv", given)


def test_an_undecodable_byte_far_into_the_file():
    raw = b"a,b\n" + "é,1\n".encode() * 600_000 + b"\xe9,2\n"
    with pytest.raises(DataError, match=r"line 600002: byte 0xe9"):
        to_utf8(raw, "t.csv")


@pytest.mark.parametrize("given", ["utf-9", "base64", "rot13", ""])
def test_an_unknown_encoding(given: str):
    with pytest.raises(UsageError, match="no such encoding"):
        table("a,b\n", encoding=given)


def test_bytes_that_would_not_come_back_are_refused():
    raw = b"a,b\n1,2\n\x87\x90,3\n"  # one of two spellings that Windows-31J has of the same character
    assert raw.decode("cp932").encode("cp932") != raw
    with pytest.raises(DataError, match=r"CP932 does not reproduce the bytes.*iconv"):
        table(raw, encoding="cp932")


def test_a_few_nul_bytes_are_kept():
    assert table(b"a,b\n1,x\x00y\n").column(1).to_pylist() == ["x\0y"]


@pytest.mark.parametrize("text", ["a\nb\r\nc\rd", "\r\n" * 3, "a" * 7 + "\r" + "\n"])
def test_line_of(text: str):
    for at in range(len(text)):
        if text[at] != "\n" or text[at - 1] != "\r":
            ended = text[:at].replace("\r\n", "\n").replace("\r", "\n").count("\n")
            assert line_of(text.encode(), at) == 1 + ended
