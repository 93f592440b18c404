"""Column names from the first bytes of a file, as the completion of a command line shows them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.errors import VsaError
from vsacli.tables.peek import HEAD, glimpse_columns

ROWS = "a,b c,é\n1,2,3\n4,5,6\n"


@pytest.mark.parametrize(
    ("name", "data", "columns"),
    [
        ("x.csv", ROWS.encode(), ["a", "b c", "é"]),
        ("x.csv", b"\r\n" + ROWS.replace("\n", "\r\n").encode(), ["a", "b c", "é"]),
        ("x.csv", ROWS.encode("utf-8-sig"), ["a", "b c", "é"]),
        ("x.csv", ROWS.encode("utf-16"), ["a", "b c", "é"]),
        ("x.csv.gz", gzip.compress(ROWS.encode()), ["a", "b c", "é"]),
        ("x.csv.bz2", bz2.compress(ROWS.encode()), ["a", "b c", "é"]),
        ("x.csv.xz", lzma.compress(ROWS.encode()), ["a", "b c", "é"]),
        ("x.csv", b'"a;1";"b\nc"\n"1,5";"2,5"\n', ["a;1", "b\nc"]),
        ("x.csv", b"sep=|\na;b|c\n1;2|3\n", ["a;b", "c"]),
        ("x.tsv", b"a,b\tc,d\n1\t2\n", ["a,b", "c,d"]),
        ("x.csv", b"only\n1\n2\n", ["only"]),
        ("x.csv", b"a,b", ["a", "b"]),
        ("x.csv", b"", []),
    ],
)
def test_columns(tmp_path: Path, name: str, data: bytes, columns: list[str]):
    path = tmp_path / name
    path.write_bytes(data)
    assert glimpse_columns(str(path)) == columns


def test_what_the_options_say_counts(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_bytes("ä;b,c\n1;2,3\n".encode("latin-1"))
    assert glimpse_columns(str(path), encoding="latin-1", delimiter="comma") == ["ä;b", "c"]
    assert glimpse_columns(str(path), encoding="latin-1", delimiter=";") == ["ä", "b,c"]


def test_parquet_by_its_footer(tmp_path: Path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1], "s": [{"x": 1, "y": 2}], "b": ["u"]}), path)
    assert glimpse_columns(str(path)) == ["a", "s", "b"]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(VsaError):
        glimpse_columns(str(path))


def test_a_cut_inside_a_record_is_no_misfit(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + b"1," + b"x" * HEAD + b"\n")
    assert glimpse_columns(str(path)) == ["a", "b"]


def test_what_would_block_is_not_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert glimpse_columns(str(tmp_path / "pipe")) == []
    assert glimpse_columns(str(tmp_path)) == []
    assert glimpse_columns(str(tmp_path / "none")) == []
