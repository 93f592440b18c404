"""Where the cells of a table of delimited text lie, held in less room than the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vsacli.tables.text.scanner import WINDOW, Bytes, Dialect, Misfit, Positions, Records, scan


@dataclass(frozen=True)
class Block:
    """The cells of consecutive data rows, in the file's bytes `[start, stop)`.

    Attributes
    ----------
    starts : unsigned[r]
        First byte of each row, from `start` on.
    ends : unsigned[F, r]
        One past the last byte of each cell, from the row's own first byte on: in a table of short
        rows one byte holds it, so the positions take less room than the text.
    first_row : int
        Number of its first data row, from 0.
    """

    start: int
    stop: int
    starts: NDArray[np.unsignedinteger]
    ends: NDArray[np.unsignedinteger]
    first_row: int

    @property
    def n_rows(self) -> int:
        return self.starts.size

    def cells(self, column: int) -> tuple[Positions, Positions]:
        """Return the first byte, and one past the last, of the column's cells, from `start` on."""
        begin = self.starts.astype(np.int64)
        first = begin + self.ends[column - 1] + 1 if column else begin
        return first, begin + self.ends[column]


@dataclass
class SpanIndex:
    """Where all cells of a table lie.

    Attributes
    ----------
    header_start, header_stop : int
        The header record without and the first byte after its line end.
    header_ends : int64[M]
        One past the last byte of each header cell.
    blocks : list of Block
        The data rows. Their byte ranges follow each other from `header_stop` to the file's end.
    trailing : bool
        Every data row (and not the header) ends with one more delimiter.
    doubtful : bool
        As in `Records`.
    gap : (int, int), optional
        The first row after a gap (a blank line between rows), and its first byte.
    repeated : (int, int), optional
        The first row that repeats the header (in a table of several columns), and its first byte.
    """

    header_start: int = 0
    header_stop: int = 0
    header_ends: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    blocks: list[Block] = field(default_factory=list)
    trailing: bool = False
    doubtful: bool = False
    gap: tuple[int, int] | None = None
    repeated: tuple[int, int] | None = None

    @property
    def n_columns(self) -> int:
        return self.header_ends.size

    @property
    def n_rows(self) -> int:
        return self.blocks[-1].first_row + self.blocks[-1].n_rows if self.blocks else 0

    def header_cells(self) -> Iterator[tuple[int, int]]:
        """Yield the first byte, and one past the last, of each header cell."""
        begin = self.header_start
        for end in self.header_ends.tolist():
            yield begin, end
            begin = end + 1


def header_size(data: Bytes, start: int, dialect: Dialect) -> int:
    """Return the number of cells of the first record that is not blank; 0 if there is none."""
    try:
        for records in scan(data, start, dialect, window=1 << 14):
            for first, count, last in zip(records.starts, records.counts, records.counts.cumsum(), strict=True):
                if count > 1 or data[first : records.ends[last - 1]].tobytes().strip():
                    return int(count)
    except Misfit:
        return header_size(data, start, Dialect(dialect.delimiter, quoting=False))
    return 0


def index_table(data: Bytes, start: int, dialect: Dialect, window: int | None = None) -> SpanIndex:
    """Find all cells of the table that begins at byte `start` of `data`.

    Blank lines belong to no row; in a table of two columns or more a line of white space is blank.

    Raises
    ------
    Misfit
        A row with more or fewer cells than the header (all data rows may have one more, if it is
        empty in all of them), or a quote that is never closed.
    """
    if window is None:  # blocks of a wide table have more bytes, so that they have more than a few rows
        window = min(max(WINDOW, 4096 * header_size(data, start, dialect)), 8 * WINDOW)
    index = SpanIndex(header_stop=start)
    width = 0  # cells of a data row, once the first one was seen
    blank_above = False  # a blank line stands between the last data row and where we are
    for records in scan(data, start, dialect, window):
        starts, counts = records.starts, records.counts
        index.doubtful |= records.doubtful
        last = np.cumsum(counts)
        kept = ~_blank(data, records, last, one_column=index.n_columns == 1)
        begin = records.start
        if not index.n_columns:
            if not kept.any():
                index.header_stop = records.stop
                continue
            h = int(kept.argmax())
            index.header_start = int(starts[h])
            index.header_ends = records.ends[last[h] - counts[h] : last[h]].copy()
            begin = int(starts[h + 1]) if h + 1 < starts.size else records.stop
            index.header_stop = begin
            if index.n_columns == 1:
                kept = ~_blank(data, records, last, one_column=True)
            kept[: h + 1] = False
        if index.gap is None:
            behind, blank_above = _behind_blank(
                kept, records.starts > index.header_start, index.n_rows > 0, blank_above
            )
            if behind is not None:
                index.gap = index.n_rows + int(kept[:behind].sum()), int(starts[behind])
        ends = records.ends[np.repeat(kept, counts)] if not kept.all() else records.ends
        starts, counts, n_before = starts[kept], counts[kept], index.n_rows
        if counts.size and not width:
            width = index.n_columns
            first = ends[: counts[0]]
            if counts[0] == width + 1 and first[-1] - first[-2] == 1:
                width, index.trailing = width + 1, True
        wrong = counts != width
        if wrong.any():
            k = int(wrong.argmax())
            raise Misfit("ragged", int(starts[k]), n_before + k + 1, int(counts[k]), index.n_columns)
        ends = ends.reshape(-1, width) if counts.size else ends.reshape(0, index.n_columns)
        if index.trailing and counts.size:
            filled = ends[:, -1] - ends[:, -2] != 1
            if filled.any():
                k = int(filled.argmax())
                raise Misfit("ragged", int(starts[k]), n_before + k + 1, width, index.n_columns)
        if index.repeated is None and index.n_columns > 1:
            index.repeated = _repetition(data, index, starts, ends[:, index.n_columns - 1], n_before)
        index.blocks.append(_pack(begin, records.stop, starts, ends, n_before))
    return index


def _behind_blank(
    kept: NDArray[np.bool_], below: NDArray[np.bool_], rows_above: bool, blank_above: bool
) -> tuple[int | None, bool]:
    """Find the first row after a gap (a blank line between rows), or whether the next row would be one."""
    rows, blanks = np.flatnonzero(kept), np.flatnonzero(~kept & below)
    if blank_above and rows.size:
        return int(rows[0]), True
    if not rows_above:
        blanks = blanks[blanks > rows[0]] if rows.size else rows
    if not blanks.size:
        return None, blank_above
    rows = rows[rows > blanks[0]]
    return (int(rows[0]) if rows.size else None), True


def _repetition(
    data: Bytes, index: SpanIndex, starts: Positions, stops: Positions, n_before: int
) -> tuple[int, int] | None:
    """Find the first row of a window that has the very bytes of the header."""
    begin, stop = index.header_start, int(index.header_ends[-1])
    same = np.flatnonzero(stops - starts == stop - begin)
    if not same.size or stop - begin < 2 * index.n_columns:  # nearly empty names: no header to be recognised
        return None
    header = data[begin:stop].tobytes()
    for row in same.tolist():
        if data[starts[row]] == header[0] and data[starts[row] : stops[row]].tobytes() == header:
            return n_before + row, int(starts[row])
    return None


def _blank(data: Bytes, records: Records, last: Positions, one_column: bool) -> NDArray[np.bool_]:
    """Say which records are blank lines: empty, or (of several columns) nothing but white space."""
    single = records.counts == 1
    length = records.ends[last - 1] - records.starts
    blank = single & (length == 0)
    if not one_column:
        for k in np.flatnonzero(single & ~blank).tolist():
            text = data[records.starts[k] : records.starts[k] + length[k]].tobytes()
            if text.strip(b" \t\x0b\x0c\x1a"):  # 0x1A: the end-of-file mark of old DOS programs
                break
            blank[k] = True
    return blank


def _pack(start: int, stop: int, starts: Positions, ends: Positions, first_row: int) -> Block:
    """Store positions in the narrowest unsigned integers that hold them."""
    relative = ends - starts[:, None]
    longest = int(relative[:, -1].max()) if starts.size else 0
    return Block(
        start,
        stop,
        (starts - start).astype(np.min_scalar_type(stop - start)),
        np.ascontiguousarray(relative.T.astype(np.min_scalar_type(longest))),
        first_row,
    )
