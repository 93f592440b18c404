"""Kinds of text files, byte for byte: labeling one gives what its author would have saved with all labels filled in."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.conftest import TwoGroups

Save = Callable[[str], bytes]


def zipped(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/t.csv", data)
    return sink.getvalue()


def mixed_ends(text: str) -> bytes:
    lines = text.splitlines()
    return "".join(line + ("\n", "\r\n", "\r")[k % 3] for k, line in enumerate(lines)).encode()


def with_column(cell: str) -> Save:
    """A further column, first in the file, with one and the same odd cell every second row."""

    def save(text: str) -> bytes:
        head, *lines = text.splitlines()
        return "\n".join([f"odd,{head}", *(f"{cell if k % 2 else k},{line}" for k, line in enumerate(lines))]).encode()

    return save


KINDS: dict[str, Save] = {
    "UTF-16, little end first": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "all three line ends": mixed_ends,
    "no final line end": lambda text: text.rstrip("\n").encode(),
    "blank lines": lambda text: text.replace("\n", "\n\n").encode(),
    "an end-of-file mark of DOS": lambda text: text.encode() + b"\x1a",
    "comment lines": lambda text: b"# station 5, 2024\n#\n" + text.encode(),
    "the line of Excel": lambda text: b"sep=,\r\n" + text.encode(),
    "a delimiter at the end of each row": lambda text: re.sub(r"(?<!label)\n", ",\n", text).encode(),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "semicolons and decimal commas": lambda text: text.replace(",", ";").replace(".", ",").encode(),
    "all quoted": lambda text: "".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) + "\n" for line in text.splitlines()
    ).encode(),
    "spaces around cells": lambda text: text.replace(",", ", ").encode(),
    "a quote in the middle": with_column('5" pipe'),
    "quotes doubled": with_column('"say ""so"", or not"'),
    "text behind a quote": with_column('"5" pipe'),
    "a backslash before a quote": with_column(r'"say \"so\" there"'),
    "quotes behind backslashes": with_column(r'"say \"so\", or not"'),
    "a backslash at the end": with_column("C:\\"),
    "lines in a cell": with_column('"one\r\n\n two"'),
    "a NUL": with_column("a\0b"),
    "white space of other scripts": with_column("\u00a0\u3000\u2028\x85\x0b\x0c"),
}

PACKED = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "zip": zipped,
}


def both(two_groups: TwoGroups, missing: str = "") -> tuple[str, str]:
    """The table with a third of its labels, and with all of them."""
    whole = TwoGroups(two_groups.rows, two_groups.truth, [True] * len(two_groups.rows))
    return two_groups.csv(missing=missing).decode(), whole.csv().decode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_text(vsa, two_groups, write, kind: str):
    given, wanted = (KINDS[kind](text) for text in both(two_groups))
    if kind == "spaces around cells":
        given, wanted = given.replace(b", \n", b",\n"), wanted
    result = vsa("label", write("in.csv", given), "-t", "label")
    assert result.code == 0, result.stderr
    assert result.stdout == wanted


@pytest.mark.parametrize("packing", PACKED)
def test_packed_text_comes_back_plain(vsa, two_groups, write, packing: str):
    given, wanted = both(two_groups)
    result = vsa("label", write("in.dat", PACKED[packing](given.encode())), "-t", "label")
    assert result.code == 0, result.stderr
    assert result.stdout == wanted.encode()
    assert f"compression: {packing}; the output is not compressed" in result.stderr


@pytest.mark.parametrize("codec", ["cp1252", "shift_jis", "koi8-r", "utf-16-le", "utf-16-be", "gb18030", "iso2022_jp"])
def test_an_encoding_that_is_named(vsa, two_groups, write, codec: str):
    names = {"cp1252": "ñ“", "shift_jis": "ソ表", "koi8-r": "ж", "gb18030": "中", "iso2022_jp": "日本"}
    mark = names.get(codec, "é𝄞")
    given, wanted = (
        KINDS["semicolons"](text).decode().replace(";a", f";{mark}").encode(codec) for text in both(two_groups)
    )
    path = write("in.csv", given)
    result = vsa("label", path, "-t", "label", "--encoding", codec)
    assert result.code == 0, result.stderr
    assert result.stdout == wanted


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1", "0"),
        ("1.50", "2.5"),
        ("TRUE", "False"),
        ("2024-01-31", "31.01.2024"),
        ("7", "seven"),
        (" a", "b "),
        ("-1", "+1"),
        ("nan?", "N.A."),
        ("1e3", "1E3"),
    ],
)
def test_labels_of_any_kind_are_classes_as_they_are_spelled(vsa, two_groups, write, a: str, b: str):
    given, wanted = (
        re.sub(",a$", f",{a}", re.sub(",b$", f",{b}", text, flags=re.M), flags=re.M).encode()
        for text in both(two_groups)
    )
    result = vsa("label", write("in.csv", given), "-t", "label", "--task", "classification")
    assert result.code == 0, result.stderr
    assert result.stdout == wanted


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x05\x06" + b"\0" * 18, "zip archive of 0 files"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, "Excel workbook .*: save the sheet as CSV"),
        (b'{"x": 1, "label": "a"}\n{"x": 2}\n', "JSON: convert it to CSV first"),
        (b"PARE" + b"\x15" * 40 + b"PARE", "encrypted; decrypt it first"),
        (gzip.compress(b"x,label\n" * 99)[:-9], "gzip data is damaged or cut off"),
    ],
)
def test_what_is_refused_says_what_to_do(vsa, write, data: bytes, message: str):
    result = vsa("label", write("in.csv", data), "-t", "label")
    assert result.code == 1
    assert re.search(message, result.error)


def test_columns_between_spaces_are_told(vsa, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("x", "y", "label"), ("1.0", "2.0", "a"), ("1.5", "2.5", "b"), ("9.0", "8.0", "")]
    write("FILE", "".join(f"{x:8}{y:8}{label}\n" for x, y, label in rows).encode())
    error = vsa("label", "FILE", "-t", "label").error
    assert "its columns are aligned with spaces; make a CSV file of it first: python3 -c " in error
    code = re.search(r"python3 -c '(.*)'", error)[1]
    exec(code)
    assert vsa("label", "FILE.csv", "-t", "label").stdout.startswith(b"x,y,label\n1.0,2.0,a\n1.5,2.5,b\n9.0,8.0,")
    write("FILE", "".join(f"{x} {y} {label}\n" for x, y, label in rows).encode())
    assert "by single spaces: --delimiter space reads them" in vsa("label", "FILE", "-t", "label").error
    assert vsa("label", "FILE", "-t", "label", "--delimiter", "space").code == 0


def test_several_values_are_told_how(vsa, tmp_path):
    error = vsa("meta-train", "--data", "a", "b", "-o", tmp_path / "run").error
    assert "an option takes one value, so repeat it for more: --data A --data B" in error
    assert "Missing option '--output'" in vsa("meta-train").error


def test_the_line_of_the_header_is_named(vsa, two_groups, write):
    given, wanted = (b"Report, 2024\n\nStation 5\n" + text.encode() for text in both(two_groups))
    path = write("in.csv", given)
    assert "if the header is further down, name its line with --header-line" in vsa("label", path, "-t", "label").error
    result = vsa("label", path, "-t", "label", "--header-line", "4")
    assert result.code == 0, result.stderr
    assert result.stdout == wanted
    told = vsa("eval", path, "-t", "label", "--header-line", "4", "--methods", "logistic")
    assert told.code == 0, told.stderr
