"""Where the cells of a delimited text file lie: a scanner of bytes that builds no cell.

The text is UTF-8, so every byte that has a meaning here (delimiter, quote, CR, LF) is a whole
character. Records are found as Python's `csv.reader` finds them with `newline=""`:

- a quote opens a quoted cell only as the first byte of the cell; elsewhere it is a plain byte;
- inside quotes a doubled quote is a quote, and a delimiter or line end is a plain byte;
- what follows the closing quote, up to the next delimiter, belongs to the cell;
- LF, CR and CRLF each end a record.

The common file is scanned with NumPy, a window at a time: a separator counts when an even number
of quotes stand before it. That is only right if each quote that opens stands at the start of a
cell and each that closes at its end, so this is checked. In a window where it does not hold, lines
are looked at one by one, and a line that stays in doubt is read by a regular expression that is
the list above, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

LF, CR, QUOTE, BACKSLASH = b'\n\r"\\'

WINDOW = 1 << 20
"""Bytes looked at in one step; its temporaries are a few times as large, whatever the file's size."""

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Dialect:
    """How a text file separates its cells.

    Attributes
    ----------
    delimiter : int or None
        The ASCII byte between cells; None in a file of one column that has no delimiter.
    quoting : bool
        Whether a double quote at the start of a cell quotes it. False: every byte is plain.
    escape : bool
        A quote behind a backslash is a plain byte (`"say \\"so\\""`), unless the backslash is behind another one.
    """

    delimiter: int | None
    quoting: bool = True
    escape: bool = False


class Misfit(Exception):
    """The text is not a table under the dialect it was scanned with.

    Attributes
    ----------
    reason : str
        "ragged" (a row with another number of cells than the header) or "unclosed" (a quote).
    position : int
        Byte where the record (or quote) starts.
    row : int
        Data row, from 1; 0 for the header.
    found, expected : int
        Number of cells.
    """

    def __init__(self, reason: str, position: int, row: int = 0, found: int = 0, expected: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.position, self.row, self.found, self.expected = reason, position, row, found, expected


@dataclass(frozen=True)
class Records:
    """The complete records of one window.

    Attributes
    ----------
    start, stop : int
        The bytes `[start, stop)` they and their line ends take.
    starts : int64[r]
        First byte of each record.
    ends : int64[sum(counts)]
        One past the last byte of each cell, in order.
    counts : int64[r]
        Cells of each record; a blank line counts one empty cell.
    doubtful : bool
        A quoted cell goes over a line end and has text after its closing quote: perhaps its quotes do not quote.
    """

    start: int
    stop: int
    starts: Positions
    ends: Positions
    counts: Positions
    doubtful: bool = False


def scan(data: Bytes, start: int, dialect: Dialect, window: int = WINDOW) -> Iterator[Records]:
    """Go through all records of `data` from byte `start` on, some megabytes at a time.

    Raises
    ------
    Misfit
        A quote is opened and never closed.
    """
    at, width = start, window
    while at < data.size:
        records = _scan_window(data, at, min(at + width, data.size), dialect)
        if records is None:  # one record is longer than the window
            width *= 2
            continue
        yield records
        at, width = records.stop, window


def _scan_window(data: Bytes, start: int, stop: int, dialect: Dialect) -> Records | None:
    """Return the complete records that begin in `data[start:stop]`; None if not one is complete."""
    view = data[start:stop]
    marked = view == LF
    marked |= view == CR
    if dialect.delimiter is not None:
        marked |= view == dialect.delimiter
    quotes = (view == QUOTE) if dialect.quoting else None
    if quotes is not None and dialect.escape:
        quotes &= ~_escaped(view)
    if quotes is not None and quotes.any():
        marked |= quotes
    else:
        quotes = None
    at = np.flatnonzero(marked)
    kind = view[at]
    del marked, quotes
    # A CR that an LF follows ends the record; the LF is only its second byte.
    second = (kind == LF) & (at > 0)
    second[second] = view[at[second] - 1] == CR
    if second.any():
        at, kind = at[~second], kind[~second]

    doubtful = False
    is_quote = kind == QUOTE if dialect.quoting else np.zeros(kind.size, dtype=bool)
    if not is_quote.any():
        ends, is_last = at + start, kind != (dialect.delimiter if dialect.delimiter is not None else -1)
        open_at = -1
    else:
        inside = (np.cumsum(is_quote) & 1).astype(bool)
        if _quotes_fit(data, start, at[is_quote], inside[is_quote], dialect).all():
            outside = ~is_quote & ~inside
            ends, is_last = at[outside] + start, (kind[outside] == LF) | (kind[outside] == CR)
            open_at = int(at[is_quote][-1]) + start if inside[-1] else -1
        else:
            ends, is_last, open_at, doubtful = _scan_lines(data, start, stop, at, kind, dialect)

    at_end = stop == data.size
    if at_end and open_at >= 0:
        raise Misfit("unclosed", open_at)
    last = np.flatnonzero(is_last)
    after = _after(data, ends[last])
    tail = int(after[-1]) if last.size else start
    if at_end and tail < data.size:  # the last record has no line end
        ends = np.append(ends, data.size)
        last = np.append(last, ends.size - 1)
        after = np.append(after, data.size)
        tail = data.size
    if not last.size:
        return None
    starts = np.concatenate(([start], after[:-1]))
    return Records(start, tail, starts, ends[: last[-1] + 1], np.diff(last, prepend=-1), doubtful)


def _escaped(view: Bytes) -> NDArray[np.bool_]:
    """Say which bytes stand behind an odd number of backslashes."""
    slashes = np.flatnonzero(view == BACKSLASH)
    escaped = np.zeros(view.size, dtype=bool)
    if slashes.size:
        run = np.cumsum(np.diff(slashes, prepend=slashes[0] - 2) != 1) - 1  # of backslashes side by side
        begin = slashes[np.flatnonzero(np.diff(run, prepend=-1))]
        last = np.concatenate((np.flatnonzero(np.diff(run)), [slashes.size - 1]))
        odd = (slashes[last] - begin) % 2 == 0
        behind = slashes[last][odd] + 1
        escaped[behind[behind < view.size]] = True
    return escaped


def _after(data: Bytes, ends: Positions) -> Positions:
    """Return the first byte after the line end (LF, CR or CRLF) that stands at each of `ends`."""
    after = ends + 1
    crlf = (data[ends] == CR) & (after < data.size)
    crlf[crlf] = data[after[crlf]] == LF
    return after + crlf


def _quotes_fit(data: Bytes, start: int, quotes: Positions, opens: NDArray[np.bool_], dialect: Dialect):
    """Say of each quote whether it is where a quote that opens, or closes, has to be.

    An opening one follows a separator (or the closing half of a doubled quote); a closing one is
    followed by a separator, a quote or the end. A quote behind a backslash is not one of `quotes`.
    """
    fits = np.zeros(256, dtype=bool)
    fits[[LF, CR, QUOTE]] = True
    if dialect.delimiter is not None:
        fits[dialect.delimiter] = True
    neighbour = quotes + np.where(opens, start - 1, start + 1)
    beyond = (neighbour < start) | (neighbour >= data.size)
    neighbour[beyond] = 0
    fit = beyond | fits[data[neighbour]]
    if dialect.escape:  # the quote in front of one that opens may be a plain byte
        doubled = np.diff(quotes, prepend=-2) == 1
        fit &= beyond | ~opens | (data[neighbour] != QUOTE) | doubled
    return fit


def _scan_lines(
    data: Bytes, start: int, stop: int, at: Positions, kind: Bytes, dialect: Dialect
) -> tuple[Positions, NDArray[np.bool_], int, bool]:
    """Find the separators of a window with misplaced quotes, line by line.

    A line whose own quotes all fit, and one in which no quote could open a cell, is settled
    without a look at each byte. The others are read exactly, in order, and may swallow the lines
    that follow them.

    Returns
    -------
    ends : int64[k]
        Position of each separator.
    is_last : bool[k]
        Whether it ends a record.
    open_at : int
        Position of a quote that is never closed, else -1.
    doubtful : bool
        As in `Records`.
    """
    is_quote, is_eol = kind == QUOTE, (kind == LF) | (kind == CR)
    eols = at[is_eol] + start
    line_starts = np.concatenate(([start], _after(data, eols)))
    line = np.concatenate(([0], np.cumsum(is_eol)[:-1])).astype(np.int64)
    n_lines = line_starts.size
    seen = np.cumsum(is_quote)
    before = np.concatenate(([0], seen[is_eol]))
    inside = ((seen - before[line]) & 1).astype(bool)

    q_at, q_line = at[is_quote], line[is_quote]
    fit = _quotes_fit(data, start, q_at, inside[is_quote], dialect)
    at_line_start = q_at + start == line_starts[q_line]
    previous = data[np.maximum(q_at + start - 1, 0)]
    at_cell_start = at_line_start | (previous == LF) | (previous == CR)
    if dialect.delimiter is not None:
        at_cell_start |= previous == dialect.delimiter
    total = np.bincount(q_line, minlength=n_lines)
    misplaced = np.bincount(q_line, weights=~fit, minlength=n_lines) > 0
    may_open = np.bincount(q_line, weights=at_cell_start, minlength=n_lines) > 0
    unsettled = (misplaced | (total % 2 == 1)) & may_open
    literal = (total > 0) & ~may_open

    keep = ~is_quote & (~inside | literal[line])
    exact = _Exact(data, dialect)
    for begin in line_starts[unsettled].tolist():
        if begin >= exact.done and exact.open_at < 0:  # else an earlier record goes over this line
            exact.read_record(begin)
    keep &= ~exact.covers(at + start)
    ends = np.concatenate((at[keep] + start, np.array(exact.ends, dtype=np.int64)))
    is_last = np.concatenate((is_eol[keep], np.array(exact.is_last, dtype=bool)))
    order = np.argsort(ends, kind="stable")
    return ends[order], is_last[order], exact.open_at, exact.doubtful


@lru_cache(maxsize=8)
def _cell_pattern(delimiter: int | None, escape: bool = False) -> re.Pattern[bytes]:
    """One cell and the separator after it. The groups' order matters: `lastindex` says how the cell ends."""
    mark = b"(?!)" if delimiter is None else re.escape(bytes([delimiter]))
    plain = rb"[^\r\n]" if delimiter is None else rb"[^\r\n" + mark + rb"]"
    inner = rb'[^"\\]++|\\(?s:.)|\\\Z|""' if escape else rb'[^"]++|""'
    quoted = rb'"(?P<inner>(?:' + inner + rb')*+)(?:"(?P<behind>' + plain + rb"++)?|(?P<open>\Z))"
    return re.compile(rb"(?:" + quoted + rb'|(?!")' + plain + rb"*+)(?:(" + mark + rb")|(\r\n?|\n)|\Z)")


class _Exact:
    """Reads single records by the letter.

    Attributes
    ----------
    ends : list of int
        Position of each separator met (the end of the data is not one).
    is_last : list of bool
        Whether it ends a record.
    done : int
        Where the last record read ends, its line end included.
    open_at : int
        Position of a quote that is never closed, else -1.
    doubtful : bool
        As in `Records`.
    """

    _BEHIND, _OPEN, _DELIMITER, _LINE_END = 2, 3, 4, 5

    def __init__(self, data: Bytes, dialect: Dialect) -> None:
        self._text, self._pattern = data.data, _cell_pattern(dialect.delimiter, dialect.escape)
        self._stretches: list[tuple[int, int]] = []
        self.ends: list[int] = []
        self.is_last: list[bool] = []
        self.done, self.open_at, self.doubtful = -1, -1, False

    def read_record(self, begin: int) -> None:
        for cell in self._pattern.finditer(self._text, begin):
            how = cell.lastindex
            if cell.start(self._BEHIND) >= 0 and not self.doubtful:
                inner = cell["inner"]
                self.doubtful = b"\n" in inner or b"\r" in inner
            if how == self._DELIMITER:
                self.ends.append(cell.end() - 1)
                self.is_last.append(False)
                continue
            if how == self._LINE_END:
                self.ends.append(cell.start(how))
                self.is_last.append(True)
            elif how == self._OPEN:
                self.open_at = cell.start()
            self.done = cell.end()
            self._stretches.append((begin, self.done))
            return

    def covers(self, positions: Positions) -> NDArray[np.bool_]:
        """Say which of the ascending positions lie in the records that were read."""
        begun, ended = np.array(self._stretches, dtype=np.int64).reshape(-1, 2).T
        return np.searchsorted(begun, positions, "right") > np.searchsorted(ended, positions, "right")
