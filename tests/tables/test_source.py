"""What an input may be, and the one line that is said of one that cannot be read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.errors import DataError, InputError, VsaError
from vsacli.tables.read import read_table
from vsacli.tables.source import read_source

TEXT = b"id,label\n1,x\n2,\n"


def put(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def one_line(error: VsaError) -> str:
    assert "\n" not in str(error)
    return str(error)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_a_plain_file(tmp_path: Path):
    path = put(tmp_path, TEXT)
    source = read_source(path)
    assert (source.name, bytes(source.data), source.path, source.compression) == (str(path), TEXT, str(path), None)


def test_a_file_larger_than_one_piece(tmp_path: Path):
    data = b"a,b\n" + b"1,2\n" * 700_000
    assert read_source(put(tmp_path, data)).data == data


@pytest.mark.parametrize(
    ("packed", "kind"),
    [
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT[:5]) + gzip.compress(TEXT[5:]), "gzip"),
        (bz2.compress(TEXT), "bz2"),
        (lzma.compress(TEXT), "xz"),
        (lzma.compress(TEXT, format=lzma.FORMAT_ALONE), "xz"),
        (pa.compress(TEXT, "zstd", asbytes=True), "zstd"),
        (zipped({"t.csv": TEXT}), "zip"),
        (zipped({"folder/": b"", "folder/t.csv": TEXT, "__MACOSX/folder/._t.csv": b"x"}), "zip"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_compressed_text_is_known_by_its_content(tmp_path: Path, packed: bytes, kind: str):
    source = read_source(put(tmp_path, packed, "t.dat"))
    assert (bytes(source.data), source.compression) == (TEXT, kind)
    table = read_table(tmp_path / "t.dat")
    sink = io.BytesIO()
    table.write(sink, 1, np.array([1]), pa.array(["y"]))
    assert sink.getvalue() == b"id,label\n1,x\n2,y\n"
    assert (
        f"compression: {kind}; the output is not compressed unless its name ends in .gz, .bz2, .xz or .zst"
        in table.notes
    )


@pytest.mark.parametrize(
    "damaged",
    [
        gzip.compress(TEXT * 99)[:-9],
        gzip.compress(TEXT)[:-8] + b"\0" * 8,
        gzip.compress(TEXT)[:14] + b"\xff" * 9,
        bz2.compress(TEXT)[:-5],
        b"BZh" + b"x" * 40,
        lzma.compress(TEXT)[:-20],
        b"\xfd7zXZ\x00" + b"x" * 40,
        pa.compress(TEXT, "zstd", asbytes=True)[:-6],
        zipped({"t.csv": TEXT * 99})[:-30],
        zipped({"t.csv": TEXT * 99}).replace(b"\x00\x00t.csv", b"\x00\x00u.csv", 1),
    ],
    ids=lambda value: "",
)
def test_damaged_compression(tmp_path: Path, damaged: bytes):
    with pytest.raises(InputError, match=r"t\.dat: the (gzip data|bz2 data|xz data|zstd data|zip archive) ") as caught:
        read_source(put(tmp_path, damaged, "t.dat"))
    one_line(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"is empty"),
        (gzip.compress(b""), r"is empty once decompressed"),
        (zipped({"t.csv": b""}), r"file in the zip archive is empty"),
        (zipped({}), r"zip archive of 0 files"),
        (zipped({"a.csv": TEXT, "b.csv": TEXT}), r"zip archive of 2 files: unpack it"),
        (
            zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b""}),
            r"Excel workbook \(\.xlsx\): save the sheet",
        ),
        (zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b""}), r"Office document"),
        (zipped({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}), r"OpenDocument"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500, r"Excel workbook \(\.xls\)"),
        (b'{"id": 1, "label": "x"}\n{"id": 2}\n', r"JSON: convert"),
        (b'\xef\xbb\xbf  [{"id": 1}]', r"JSON"),
        (b'[\n  {"id": 1}\n]\n', r"JSON"),
        (b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", r"web page"),
        (b"ARROW1\0\0", r"Arrow"),
        (b"SQLite format 3\0" + b"\0" * 84, r"SQLite"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", r"git lfs pull"),
        (b"t.csv" + b"\0" * 252 + b"ustar\x0000", r"tar archive"),
        ('{"id": 1}\n{"id": 2}\n'.encode("utf-16"), r"JSON"),
        (gzip.compress(b'{"id": 1}\n'), r"JSON"),
        (gzip.compress(gzip.compress(TEXT)), r"compressed twice: unpack it once"),
        (zipped({"t.csv.bz2": bz2.compress(TEXT)}), r"compressed twice"),
        (b"\x04\x22\x4d\x18" + b"\0" * 9, r"lz4: unpack it first"),
        (b"\x1f\x9d\x90" + b"\0" * 9, r"compress \(\.Z\): unpack it first"),
        (pickle.dumps([1, 2, 3]), r"pickle, which is never opened here: save it as CSV"),
        (b"<stata_dta><header>", r"Stata"),
        (b"{\\rtf1 text}", r"RTF"),
        (b"<table><tr><td>x</td></tr></table>", r"web page"),
        (b"@RELATION iris\n@ATTRIBUTE x NUMERIC\n", r"ARFF"),
        (b"\xff\xff\xff\xff\x10\0\0\0", r"Arrow stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: bytes, message: str):
    with pytest.raises(DataError, match=message) as caught:
        read_source(put(tmp_path, data))
    assert "t.csv" in one_line(caught.value)


@pytest.mark.parametrize("header", [b"{a},b\n", b"[1],[2]\n", b"[x\n"])
def test_a_header_with_a_brace_is_no_json(tmp_path: Path, header: bytes):
    assert bytes(read_source(put(tmp_path, header + b"1,2\n")).data) == header + b"1,2\n"


def test_what_cannot_be_read(tmp_path: Path):
    with pytest.raises(InputError, match=r"nothere\.csv: no such file"):
        read_source(tmp_path / "nothere.csv")
    with pytest.raises(InputError, match=r"is a folder"):
        read_source(tmp_path)
    with pytest.raises(InputError, match=r"t\.csv.below cannot be read: Not a directory"):
        read_source(put(tmp_path, TEXT) / "below")
    with pytest.raises(InputError, match=r"cannot be read"):
        read_source("a\0b")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"loop cannot be read"):
        read_source(tmp_path / "loop")


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_a_file_without_permission(ordinary_user: Path):
    path = put(ordinary_user, TEXT)
    path.chmod(0)
    with pytest.raises(InputError, match="no permission"):
        read_source(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    source = read_source("-")
    assert (source.name, bytes(source.data), source.path) == ("standard input", TEXT, None)


def test_standard_input_that_is_closed_or_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        read_source("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(DataError, match="standard input is empty"):
        read_source("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT * 50_000))
    writer.start()
    assert read_source(pipe).data == TEXT * 50_000
    writer.join()


@pytest.mark.parametrize("regular", [True, False])
def test_encrypted_parquet_is_parquet_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regular: bool):
    data = b"PARE" + b"\x15\xc0" * 40 + b"PARE"
    (tmp_path / "t.parquet").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(DataError, match=r"encrypted"):
        read_table(tmp_path / "t.parquet" if regular else "-")


def test_parquet_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "label": ["x", None]}), buffer)
    path = put(tmp_path, buffer.getvalue(), "t.csv")
    source = read_source(path)
    assert source.is_parquet
    assert source.path == str(path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    assert read_source("-").data == buffer.getvalue()
    packed = read_source(put(tmp_path, gzip.compress(buffer.getvalue()), "t.gz"))
    assert (packed.is_parquet, packed.path) == (True, None)
    for name in ("t.csv", "t.gz"):
        table = read_table(tmp_path / name)
        assert table.columns == ["id", "label"]
        assert table.column(1).to_pylist() == ["x", None]


@pytest.mark.parametrize("name", ["PARENT_ID", "PAR1", "PARE", "ORCID", "ORC", "FEA1", "ARROW1", "BZh91", "BZh"])
@pytest.mark.parametrize("rows", ["1,2\n3,4\n", "é,2\n" * 3_000])
def test_a_first_header_may_begin_as_a_format_does(tmp_path: Path, name: str, rows: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(f"{name},b\n{rows}".encode())
    source = read_source(path)
    assert bytes(source.data) == path.read_bytes()
    assert not source.is_parquet
    assert source.compression is None


@pytest.mark.parametrize("magic", [b"PAR1", b"ORC", b"FEA1", b"ARROW1\x00\x00", b"BZh91AY&SY"])
def test_a_damaged_file_of_such_a_format_is_not_text(tmp_path: Path, magic: bytes) -> None:
    path = tmp_path / "in"
    path.write_bytes(magic + b"\x15\x04\x00\n\x01" * 50)
    if magic == b"PAR1":
        assert read_source(path).is_parquet
        return
    with pytest.raises((DataError, InputError), match=r"bz2 data is damaged|is an? (?:Arrow|Feather|ORC)"):
        read_source(path)


@pytest.mark.parametrize("address", ["https://example.org/a.csv", "s3://bucket/a.parquet", "HTTP://x/y"])
def test_an_address_is_told(address: str) -> None:
    with pytest.raises(InputError, match="is a web address: download the file first"):
        read_source(address)


def test_a_zip_archive_in_a_zip_archive_is_told(tmp_path: Path) -> None:
    inner, outer = io.BytesIO(), tmp_path / "outer.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    with pytest.raises(DataError, match="is a zip archive itself: unpack both"):
        read_source(outer)
