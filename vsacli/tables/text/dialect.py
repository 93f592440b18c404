"""What separates the cells of a text file, decided over all of it and reported in notes.

Lines above the header are set aside first (see `preamble`).

The delimiter, if it is not given: by the file name (`.tsv`, `.tab`: tab), if the header has one;
by a first line `sep=;`, as Excel writes; else the one of tab, semicolon, comma and bar under which
every row has as many cells as the header, the most cells if there are several. A header without
any of the four is a table of one column.

Quoting: double quotes, doubled within a cell; or behind a backslash, if the table fits only so, or
fits as well and has a cell with text behind a closing quote that stands behind a backslash. They are
plain text if the table fits only so (or fits as well, and a quoted cell over several lines has text
after its closing quote, so that it is more likely none).

The decimal mark: a comma, if the file is not separated by commas and more columns have numbers
that can only be read so (`1,5`, `0,250`, `1.234,5`) than have numbers that can only be read with a
point (`1.5`, `1,234.5`). `1,234` alone can be either: it counts for the comma in a file separated by
semicolons, which is what spreadsheets write where the comma is the decimal mark; there a tie is
for the comma as well (`1.2` may be a version or a date).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import numpy as np

from vsacli.errors import DataError, UsageError
from vsacli.support.wording import number_of
from vsacli.tables.text.cells import is_quoted
from vsacli.tables.text.encoding import line_of
from vsacli.tables.text.marks import DELIMITER_NAMES, DELIMITERS
from vsacli.tables.text.preamble import comment_lines, line_start, sep_line
from vsacli.tables.text.scanner import BACKSLASH, QUOTE, WINDOW, Bytes, Dialect, Misfit
from vsacli.tables.text.spans import SpanIndex, header_size, index_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

CANDIDATES = b"\t;,|"
"""Delimiters that are looked for. Of two that fit equally well the first one wins: in a file separated by
semicolons the comma is likely to occur once in every row (as a decimal mark), and hardly the reverse."""


_LONGEST_LINE = 1 << 24  # bytes
_QUOTED = re.compile(rb'"(?:[^"]|"")*+"')


@dataclass(frozen=True)
class Layout:
    """What `detect` found.

    Attributes
    ----------
    dialect : Dialect
    index : SpanIndex
    extra_delimiter : int
        What to put before a column that is added (a table of one column has no delimiter of its own).
    notes : list of str
    """

    dialect: Dialect
    index: SpanIndex
    extra_delimiter: int | None
    notes: list[str]


def delimiter_byte(delimiter: str) -> int:
    """Return the byte of a delimiter as given by `--delimiter`: a character, `\\t`, or a name such as `tab`.

    Raises
    ------
    UsageError
        It is not one ASCII character, or a quote or line end.
    """
    mark = DELIMITERS.get(delimiter.lower(), delimiter)
    if len(mark) != 1 or not mark.isascii() or mark in '\r\n"\0':
        raise UsageError(
            f"--delimiter {delimiter!r} cannot be one: give one ASCII character, or tab, comma, semicolon, bar, space"
        )
    return ord(mark)


def name_of(delimiter: int) -> str:
    mark = chr(delimiter)
    return DELIMITER_NAMES.get(mark, repr(mark))


def detect(data: Bytes, start: int, name: str, delimiter: str | None = None, header_line: int | None = None) -> Layout:
    """Find the dialect of the text in `data[start:]` and the cells that it gives.

    Parameters
    ----------
    data : uint8[n]
        UTF-8.
    start : int
        First byte after a byte order mark.
    name : str
        The file's name: for messages, and its ending as a hint.
    delimiter : str, optional
        As given by the user.
    header_line : int, optional
        Number of the line with the header, from 1. If left out, the first one that is not a comment.

    Raises
    ------
    DataError
        The text is empty, or no table under any dialect; names the first row that does not fit.
    """
    notes: list[str] = []
    _refuse_endless_line(data, start, name)
    said: int | None = None
    if header_line is not None:
        start = line_start(data, start, header_line, name)
    else:
        said, start = sep_line(data, start)
        marks = bytes([said]) if said is not None else CANDIDATES
        comments, start = comment_lines(data, start, marks if delimiter is None else bytes([delimiter_byte(delimiter)]))
        if comments:
            notes.append(f"{number_of(comments, 'line')} above the header: kept, not read")
    if delimiter is not None:
        candidates = [delimiter_byte(delimiter)]
    elif said is not None:
        candidates = [said]
        notes.append(f"delimiter: {name_of(said)} (first line)")
    else:
        candidates = [mark for mark in CANDIDATES if header_size(data, start, Dialect(mark)) > 1]
        if ord("\t") in candidates and _named_tsv(name):
            candidates = [ord("\t")]
        if not candidates:
            return _one_column(data, start, name, notes)
    dialect, index = _best(data, start, name, candidates, delimiter is None and said is None)
    assert dialect.delimiter is not None
    _refuse_empty(index, name)
    if delimiter is None and said is None:
        notes.append(f"delimiter: {name_of(dialect.delimiter)} (detected)")
    notes += _oddities(data, index)
    if dialect.escape:
        notes.append('quotes in cells: escaped by a backslash (\\")')
    if not dialect.quoting:
        notes.append("quotes: plain text (they do not enclose cells)")
    if index.trailing:
        notes.append(f"each row ends with one more {name_of(dialect.delimiter)} than the header: kept, not a column")
    return Layout(dialect, index, dialect.delimiter, notes)


def _refuse_endless_line(data: Bytes, start: int, name: str) -> None:
    head = data[start : start + _LONGEST_LINE + 1].tobytes()
    if len(head) > _LONGEST_LINE and b"\n" not in head and b"\r" not in head:
        raise DataError(
            f"{name}: its first line is longer than {_LONGEST_LINE >> 20} MB, so it is not the header of a table; "
            f"check that this is the right file"
        )


def _named_tsv(name: str) -> bool:
    path = PurePath(name.lower())
    if path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        path = path.with_suffix("")
    return path.suffix in (".tsv", ".tab")


def _refuse_empty(index: SpanIndex, name: str) -> None:
    if not index.n_columns:
        raise DataError(f"{name} is empty: it has no header and no rows")


def contains(data: Bytes, byte: int) -> bool:
    """Say whether a byte occurs, without a copy of the file's size."""
    return any((data[at : at + WINDOW] == byte).any() for at in range(0, data.size, WINDOW))


def _oddities(data: Bytes, index: SpanIndex) -> list[str]:
    """Notes on what may be more than one table in a file: a repeated header, blank lines between rows."""
    notes = []
    if index.repeated is not None:
        row, at = index.repeated
        notes.append(f"row {row + 1} (line {line_of(data.data, at)}) repeats the header, and is read as a row")
    if index.gap is not None:
        row, at = index.gap
        notes.append(
            f"blank lines between rows, kept: row {row + 1} (line {line_of(data.data, at)}) and those below are read "
            f"as rows of the same table"
        )
    return notes


def _best(data: Bytes, start: int, name: str, candidates: list[int], free: bool) -> tuple[Dialect, SpanIndex]:
    """Return the dialect with most columns under which all rows fit; DataError by the one that got farthest."""
    farthest: tuple[int, Dialect, Misfit] | None = None

    def fit(quoting: bool, escape: bool = False) -> tuple[Dialect, SpanIndex] | None:
        nonlocal farthest
        best: tuple[Dialect, SpanIndex] | None = None
        for mark in candidates:
            dialect = Dialect(mark, quoting, escape)
            try:
                index = index_table(data, start, dialect)
            except Misfit as misfit:
                if quoting and not escape and (farthest is None or misfit.position > farthest[0]):
                    farthest = misfit.position, dialect, misfit
                continue
            if not quoting and (index.n_columns < 2 or _mostly_quoted(data, index)):
                continue
            if best is None or index.n_columns > best[1].n_columns:
                best = dialect, index
        return best

    best = fit(quoting=True)
    if contains(data, BACKSLASH) and (best is None or _escapes_quotes(data, *best)):
        escaped = fit(quoting=True, escape=True)
        if escaped is not None and not escaped[1].doubtful:
            best = escaped if best is None or escaped[1].n_columns >= best[1].n_columns else best
    if (best is None or best[1].doubtful) and contains(data, QUOTE):
        best = fit(quoting=False) or best
    if best is not None:
        return best
    assert farthest is not None
    _, dialect, misfit = farthest
    raise _error(data, name, dialect, misfit, free)


def _escapes_quotes(data: Bytes, dialect: Dialect, index: SpanIndex) -> bool:
    """Say whether a cell, read with doubled quotes, has text behind a closing quote that follows a backslash."""
    delimiter = b"" if dialect.delimiter is None else re.escape(bytes([dialect.delimiter]))
    if re.search(rb'\\"[^"\r\n' + delimiter + rb"]", data.data) is None:
        return False
    for begin, end in index.header_cells():
        if _closes_behind_backslash(data[begin:end].tobytes()):
            return True
    for block in index.blocks:
        piece = data[block.start : block.stop]
        for column in range(index.n_columns):
            first, stop = block.cells(column)
            odd = np.flatnonzero(is_quoted(piece, first, stop))
            if any(_closes_behind_backslash(piece[first[i] : stop[i]].tobytes()) for i in odd):
                return True
    return False


def _closes_behind_backslash(cell: bytes) -> bool:
    inner = _QUOTED.match(cell)
    return inner is not None and inner.end() < len(cell) and cell[: inner.end()].endswith(b'\\"')


def _mostly_quoted(data: Bytes, index: SpanIndex) -> bool:
    """Say whether most cells that begin with a quote also end with one: then quotes are not plain text."""
    opened = closed = 0
    for begin, end in index.header_cells():
        opened += data[begin:end].tobytes().startswith(b'"')
        closed += end - begin > 1 and data[begin] == data[end - 1] == QUOTE
    for block in index.blocks:
        piece = data[block.start : block.stop]
        for column in range(index.n_columns):
            first, stop = block.cells(column)
            first, stop = first[stop > first], stop[stop > first]
            opens = piece[first] == QUOTE
            opened += int(opens.sum())
            closed += int((opens & (piece[stop - 1] == QUOTE) & (stop - first > 1)).sum())
    return 2 * closed > opened


def _error(data: Bytes, name: str, dialect: Dialect, misfit: Misfit, free: bool) -> DataError:
    line = line_of(data.data, misfit.position)
    if misfit.reason == "unclosed":
        return DataError(f"{name}, line {line}: a quote is opened here and never closed; close or double it")
    size = "longer" if misfit.found > misfit.expected else "shorter"
    if misfit.found == misfit.expected:  # other rows end with one more delimiter, and this one does not
        return DataError(
            f"{name}, row {misfit.row} (line {line}): {number_of(misfit.found, 'cell')} and no "
            f"{name_of(dialect.delimiter or 0)} at the end, which other rows have: put one behind all rows, or none"
        )
    assert dialect.delimiter is not None
    hint = f" (delimiter: {name_of(dialect.delimiter)}, detected; --delimiter sets another)" if free else ""
    return DataError(
        f"{name}, row {misfit.row} (line {line}): {number_of(misfit.found, 'cell')}, {size} than the "
        f"header with {misfit.expected}; {_repair(data, misfit, dialect.delimiter)}{hint}"
    )


def _repair(data: Bytes, misfit: Misfit, delimiter: int) -> str:
    """Suggest what may be wrong with a row that has too many or too few cells."""
    stop = int(min(data.size, misfit.position + WINDOW))
    line = data[misfit.position : stop].tobytes().split(b"\n", 1)[0].split(b"\r", 1)[0]
    mark = bytes([delimiter])
    if misfit.found > misfit.expected:
        if rb"\"" in line:
            return r'quotes in a cell are doubled (""), a backslash (\") does not make them part of it'
        if b"\\" + mark in line:
            return f"put cells with a {name_of(delimiter)} in double quotes, a backslash does not make it part of them"
        if mark + b' "' in line:
            return "take out the space between a delimiter and a quote"
        if line.startswith(b"'") or mark + b"'" in line:
            return "put such cells in double quotes, single ones are plain text"
    if misfit.row == 1:
        return "if the header is further down, name its line with --header-line"
    return "repair this row"


def _one_column(data: Bytes, start: int, name: str, notes: list[str]) -> Layout:
    dialect = Dialect(None)
    try:
        index = index_table(data, start, dialect)
    except Misfit as misfit:
        if misfit.reason != "unclosed":
            raise _error(data, name, dialect, misfit, free=False) from None
        dialect = Dialect(None, quoting=False)
        index = index_table(data, start, dialect)
    _refuse_empty(index, name)
    unused = [mark for mark in b",;\t|" if not contains(data, mark)]
    notes.append("delimiter: none (one column)")
    return Layout(dialect, index, unused[0] if unused else None, notes)


# One number as a cell may hold it: with a sign, a currency or a unit around it.
_AROUND = r"^[\s€$£¥+\-−]*(?:{number})(?:[eE][+\-]?\d+)?\s*(?:%|‰|[€$£¥]|[A-Za-zµ°²³/]{{1,5}})?\s*$"
_ONLY_COMMA = _AROUND.format(number=r"\d{1,3}(?:[. ']\d{3})+,\d+|\d{4,},\d+|0\d*,\d+|\d*,(?:\d{1,2}|\d{4,})")
_ONLY_POINT = _AROUND.format(number=r"\d{1,3}(?:[, ']\d{3})+\.\d+|\d{4,}\.\d+|0\d*\.\d+|\d*\.(?:\d{1,2}|\d{4,})")
_EITHER = _AROUND.format(number=r"[1-9]\d{0,2},\d{3}")


def decimal_mark(columns: Iterable[pa.Array], delimiter: int | None) -> Literal[".", ","]:
    """Decide the decimal mark of a table over all its cells, by the rule at the head of this module.

    Parameters
    ----------
    columns : large_string arrays
    delimiter : int or None
    """
    import pyarrow.compute as pc

    def any_matches(cells: pa.Array, pattern: str) -> bool:
        return bool(len(cells)) and pc.any(pc.match_substring_regex(cells, pattern)).as_py()

    commas = points = 0
    for cells in columns:
        with_comma = cells.filter(pc.match_substring(cells, ","))
        with_point = cells.filter(pc.match_substring(cells, "."))
        comma, point = any_matches(with_comma, _ONLY_COMMA), any_matches(with_point, _ONLY_POINT)
        if not comma and not point and delimiter == ord(";"):
            comma = any_matches(with_comma, _EITHER)
        commas += comma and not point
        points += point and not comma
    return "," if commas > points or (commas == points > 0 and delimiter == ord(";")) else "."
