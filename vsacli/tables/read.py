"""Reading a table: its content says whether it is Parquet or delimited text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsacli.tables.source import read_source, too_large

if TYPE_CHECKING:
    from pathlib import Path

    from vsacli.tables.table import WritableTable


def read_table(
    source: str | Path, *, delimiter: str | None = None, encoding: str | None = None, header_line: int | None = None
) -> WritableTable:
    """Read a table; its content says whether it is Parquet or delimited text.

    Parameters
    ----------
    source : path
        Or "-" for standard input. Text and Parquet may be compressed (gzip, bz2, xz, zstd, a zip of one file).
    delimiter : str, optional
        One ASCII character, or a name such as "tab". Detected over the whole file if left out. Text only.
    encoding : str, optional
        Any codec of Python's. By byte order mark, else UTF-8, if left out. Text only.
    header_line : int, optional
        Number of the line with the header, from 1; lines above it are kept. If left out, the first line that is no
        comment. Text only.

    Raises
    ------
    InputError, DataError, UsageError, ResourceError
        In one line: what is wrong, where, and what to do.
    """
    read = read_source(source)
    if read.is_parquet:
        from vsacli.tables.parquet.table import ParquetTable

        table = ParquetTable(read.path if read.path is not None else bytes(read.data), name=read.name)
    else:
        from vsacli.tables.text.table import TextTable

        try:
            table = TextTable(
                read.data,
                name=read.name,
                delimiter=delimiter,
                encoding=encoding,
                header_line=header_line,
                path=read.path,
            )
        except MemoryError:
            raise too_large(read.name, len(read.data)) from None
    if read.compression is not None:
        table.notes.append(
            f"compression: {read.compression}; the output is not compressed unless its name ends in .gz, .bz2, .xz "
            "or .zst"
        )
    return table
