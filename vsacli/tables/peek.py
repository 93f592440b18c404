"""The column names of a file, from its first bytes: for the completion of a command line, so within milliseconds.

A wrong guess costs nothing: `vsa label` reads the whole file (`read_table`).
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from typing import BinaryIO, cast

from vsacli.tables.parquet.footer import MAGIC, read_footer
from vsacli.tables.text.marks import DELIMITERS, byte_order_mark

HEAD = 1 << 16  # bytes: fewer than the csv module lets a cell have


def glimpse_columns(path: str, *, delimiter: str | None = None, encoding: str | None = None) -> list[str]:
    """Column names of a text or Parquet file; none if it is not a regular file.

    Parameters
    ----------
    path : str
    delimiter, encoding : str, optional
        As for `vsacli.tables.read.read_table`.

    Raises
    ------
    OSError, ValueError, LookupError, EOFError, csv.Error, VsaError
        If it cannot be read.
    """
    if not os.path.isfile(path):
        return []
    with open(path, "rb") as file:
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(MAGIC):
            return [name for name, _, _ in read_footer(file, path).fields]
        with _unpacked(file, magic) as plain:
            head = plain.read(HEAD)
    mark, codec = byte_order_mark(head) or (b"", encoding or "utf-8")
    text = codecs.getincrementaldecoder(codec)("replace").decode(head[len(mark) :])
    return _first_record(text, path, DELIMITERS.get((delimiter or "").lower(), delimiter))


def _unpacked(file: BinaryIO, magic: bytes) -> BinaryIO:
    if magic.startswith(b"\x1f\x8b"):
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if magic.startswith(b"BZh"):
        import bz2

        return cast(BinaryIO, bz2.BZ2File(file))
    if magic == b"\xfd7zXZ\x00":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(file))
    return file


def _first_record(text: str, path: str, delimiter: str | None) -> list[str]:
    """The cells of the first line that is not blank, under the delimiter that the first records agree on best."""
    said = re.match(r"sep=(.)\r?\n", text)
    if said is not None:
        text, delimiter = text[said.end() :], delimiter or said[1]
    lines = text.lstrip("\r\n")
    if delimiter is None and path.lower().endswith((".tsv", ".tab")) and "\t" in lines.partition("\n")[0]:
        delimiter = "\t"
    found = [_records(lines, mark) for mark in ([delimiter] if delimiter else "\t;,|")]

    def fit(records: list[list[str]]) -> tuple[bool, int]:
        width = len(records[0]) if records else 0
        return width > 1 and all(len(r) == width for r in records), width

    best = max(found, key=fit)
    return best[0] if best else []


def _records(text: str, delimiter: str, limit: int = 20) -> list[list[str]]:
    records = []
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if record:
            records.append(record)
        if len(records) == limit:
            break
    return records if len(records) < 2 or len(records) == limit else records[:-1]  # the last one may be cut off
