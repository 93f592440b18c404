"""A table of delimited text, held as the file's own bytes and the positions of its cells."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from vsacli.errors import DataError, UsageError
from vsacli.support.privacy import quoted
from vsacli.tables.table import ExtraColumn, find_column
from vsacli.tables.text import cells, dialect, file_bytes
from vsacli.tables.text.encoding import Encoding, line_of, not_in_encoding, to_utf8
from vsacli.tables.text.format import TextFormat
from vsacli.tables.text.preamble import sep_line
from vsacli.tables.text.scanner import QUOTE, Bytes, Positions
from vsacli.tables.text.spans import Block
from vsacli.tables.text.splice import splice

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_COPIED = 1_000  # different values that are looked for among the cells, so that they are written alike
_MOST_LOOKED_AT = 10_000  # cells of a block


class TextTable:
    """Delimited text (CSV and its kin).

    Parameters
    ----------
    data : bytes
        The whole file, not compressed. It is kept, and not copied if it is UTF-8.
    name : str
        For messages; its ending hints at the delimiter.
    delimiter, encoding : str, optional
        As given by the user; decided over the whole file if left out.
    header_line : int, optional
        Number of the line with the header, from 1; if left out, the first one that is not a comment.
    path : str, optional
        Where the same bytes lie: a large file is not kept in memory but read again from there.

    Raises
    ------
    DataError, UsageError
        The bytes are not text of that encoding, or not a table.
    """

    is_text = True
    nested: Mapping[int, str] = MappingProxyType({})

    def __init__(
        self,
        data: bytes | bytearray,
        *,
        name: str,
        delimiter: str | None = None,
        encoding: str | None = None,
        header_line: int | None = None,
        path: str | None = None,
    ) -> None:
        text, start, self._encoding = to_utf8(data, name, encoding)
        del data
        self._data: Bytes | file_bytes.FileBytes = np.frombuffer(text, dtype=np.uint8)
        layout = dialect.detect(self._data, start, name, delimiter, header_line)
        self._dialect, self._index, self._added = layout.dialect, layout.index, layout.extra_delimiter
        self._sep_line = sep_line(self._data, start)[0] is not None
        self.name = name
        self.notes: list[str] = layout.notes
        self.columns: list[str] = [
            cells.unquote(raw, self._dialect.escape).decode() if self._dialect.quoting else raw.decode()
            for raw in (bytes(text[a:b]) for a, b in self._index.header_cells())
        ]
        self.n_rows: int = self._index.n_rows
        self.decimal: Literal[".", ","] = self._decide_decimal()
        if self.decimal == ",":
            self.notes.append("decimal mark: comma (detected)")
        if path is not None and len(text) >= file_bytes.LARGE:
            self._data = file_bytes.FileBytes.of(path, name, text) or self._data

    def _decide_decimal(self) -> Literal[".", ","]:
        mark = self._dialect.delimiter
        if mark is None or mark == ord(",") or not dialect.contains(self._data[:], ord(",")):
            return "."
        return dialect.decimal_mark((self.column(j) for j in range(len(self.columns))), mark)

    @property
    def format(self) -> TextFormat:
        """How this file is written, for rows that shall be read as it is."""
        delimiter = "," if self._added is None else chr(self._added)
        return TextFormat(delimiter, self._encoding, self.decimal, self._sep_line)

    def find(self, name: str) -> int:
        """Return the number of the column called `name`; UsageError if there is none, or several."""
        return find_column(self.columns, name, self.name)

    def where(self, row: int) -> str:
        """Return the place of data row `row` (from 0) for messages: "row 3 (line 4)"."""
        block = next(b for b in self._index.blocks if row < b.first_row + b.n_rows)
        at = block.start + int(block.starts[row - block.first_row])
        return f"row {row + 1} (line {line_of(self._data[: at + 1].data, at)})"

    def column(self, j: int) -> pa.LargeStringArray:
        """Return all cells of column `j`, unquoted and otherwise as they stand; "" for an empty one.

        Returns
        -------
        large_string[n_rows]
            Without nulls.
        """
        import pyarrow as pa

        blocks = self._index.blocks
        room = 0
        for block in blocks:
            first, stop = block.cells(j)
            room += int((stop - first).sum())
        text, offsets = np.empty(room, dtype=np.uint8), np.zeros(self.n_rows + 1, dtype=np.int64)
        used = 0
        for block in blocks:
            piece, ends = cells.unquoted(self._piece(block), *block.cells(j), self._dialect)
            text[used : used + piece.size] = piece
            offsets[block.first_row + 1 : block.first_row + block.n_rows + 1] = ends[1:] + used
            used += piece.size
        return pa.LargeStringArray.from_buffers(self.n_rows, pa.py_buffer(offsets), pa.py_buffer(text[:used]))

    def write(
        self,
        sink: BinaryIO,
        target: int,
        rows: NDArray[np.int64],
        values: pa.Array,
        extra: Sequence[ExtraColumn] = (),
        *,
        without: Sequence[int] = (),
    ) -> None:
        """Write the file with cells of one column replaced and columns added; all other bytes as they were.

        A value that stands in a quoted cell of its column is written with the bytes of that cell. Another one is
        quoted if it has to be, or if the cells of its column that stay are all quoted. With nothing to replace and to
        add, the file comes back byte for byte (not compressed: that is for the sink to do).

        Parameters
        ----------
        sink : binary file
            Written in pieces. What it raises (`BrokenPipeError`, ...) is left alone.
        target : int
        rows : int64[r]
            Ascending numbers of data rows.
        values : string[r]
            Null: the cell stays as it is.
        extra : sequence of ExtraColumn
            Strings, or numbers (then with the table's decimal mark).
        without : sequence of int
            Columns to leave out, each with one delimiter.

        Raises
        ------
        UsageError
            An extra column is called as one that is there.
        DataError
            A value that the file's encoding, or a file without quoting, cannot hold.
        """
        import pyarrow.compute as pc

        values = _as_text(values)
        if values.null_count:
            rows, values = rows[pc.is_valid(values).to_numpy(zero_copy_only=False)], values.drop_null()
        spelled = self._spell(values, always=self._keeps_quotes(target, rows))
        spelled = self._as_given(target, rows, values, spelled)
        if (
            len(self.columns) - len(without) == 1 and not extra and self._dialect.quoting
        ):  # a blank line would be no row
            spelled = pc.if_else(pc.equal(spelled, ""), '""', spelled)
        always = bool(extra) and self._quotes_everything()
        header = self._header(extra, without)
        output = _Output(sink, self._encoding, self.name)
        output.check(spelled, header)
        output.write(header)
        cuts = np.searchsorted(rows, [block.first_row for block in self._index.blocks] + [self.n_rows])
        for block, a, b in zip(self._index.blocks, cuts[:-1], cuts[1:], strict=True):
            first, stop = block.cells(target)
            here = rows[a:b] - block.first_row
            edits = first[here], stop[here], *_buffers(spelled.slice(a, b - a))
            if without:
                edits = _merge(edits, _deleted([block.cells(j) for j in range(len(self.columns))], without))
            if extra:
                _, behind = block.cells(len(self.columns) - 1)
                edits = _merge(edits, (behind, behind, *_buffers(self._appended(extra, block, always))))
            output.write(splice(self._piece(block), *edits))
        output.finish()

    def _piece(self, block: Block) -> Bytes:
        return self._data[block.start : block.stop]

    def _spell(self, values: pa.Array, always: bool) -> pa.Array:
        """Spell values as cells of this file."""
        try:
            return cells.quoted(values, replace(self._dialect, delimiter=self._added), always)
        except ValueError as error:
            raise DataError(
                f"{self.name}: {quoted(error.args[0], 'a label')} cannot be written, it has a delimiter or line end "
                f"and the file quotes no cells"
            ) from None

    def _as_given(self, target: int, rows: NDArray[np.int64], values: pa.Array, spelled: pa.Array) -> pa.Array:
        """Spell values that a cell of the column holds as the first such cell does, with its quotes."""
        import pyarrow as pa

        wanted = dict.fromkeys(values.unique().to_pylist())
        if not self._dialect.quoting or len(wanted) > _MOST_COPIED:
            return spelled
        copied: dict[str | None, str] = {}
        cuts = np.searchsorted(rows, [block.first_row for block in self._index.blocks] + [self.n_rows])
        for block, a, b in zip(self._index.blocks, cuts[:-1], cuts[1:], strict=True):
            first, stop = block.cells(target)
            piece = self._piece(block)
            stays = cells.is_quoted(piece, first, stop)
            stays[rows[a:b] - block.first_row] = False
            for i in np.flatnonzero(stays)[:_MOST_LOOKED_AT]:
                raw = piece[first[i] : stop[i]].tobytes()
                value = cells.unquote(raw, self._dialect.escape).decode()
                if value in wanted:
                    copied.setdefault(value, raw.decode())
                if len(copied) == len(wanted):
                    break
            if len(copied) == len(wanted):
                break
        if not copied:
            return spelled
        own = spelled.to_pylist()
        return pa.array([copied.get(value, own[i]) for i, value in enumerate(values.to_pylist())], pa.large_string())

    def _keeps_quotes(self, target: int, rows: NDArray[np.int64]) -> bool:
        """Say whether the cells of a column that stay (or, if none has text, all) are quoted, each of them."""
        quoted = filled = all_quoted = 0
        cuts = np.searchsorted(rows, [block.first_row for block in self._index.blocks] + [self.n_rows])
        for block, a, b in zip(self._index.blocks, cuts[:-1], cuts[1:], strict=True):
            first, stop = block.cells(target)
            with_quotes = cells.is_quoted(self._piece(block), first, stop)
            all_quoted += int(with_quotes.sum())
            stays = stop > first
            stays[rows[a:b] - block.first_row] = False
            filled += int(stays.sum())
            quoted += int((with_quotes & stays).sum())
        return quoted == filled if filled else 0 < all_quoted == self.n_rows

    def _quotes_everything(self) -> bool:
        """Say whether each cell of the table is quoted."""
        return self._dialect.quoting and all(
            cells.is_quoted(self._piece(block), *block.cells(j)).all()
            for block in self._index.blocks
            for j in range(len(self.columns))
        )

    def _header(self, extra: Sequence[ExtraColumn], without: Sequence[int]) -> Bytes:
        """Return the bytes up to the first row, with the names of added columns and not of those to leave out."""
        import pyarrow as pa

        head = self._data[: self._index.header_stop]
        spans = [(np.array([a]), np.array([b])) for a, b in self._index.header_cells()]
        deleted = _deleted(spans, without)
        if not extra:
            return splice(head, *deleted)
        if self._added is None:
            raise DataError(
                f"{self.name}: no column can be added to its one: comma, semicolon, tab and bar all occur in its text"
            )
        taken = {name for j, name in enumerate(self.columns) if j not in without}
        for column in extra:
            if column.name in taken:
                raise UsageError(f"{self.name} has a column {column.name!r} already: rename it, or add none")
            taken.add(column.name)
        always = all(head[a] == QUOTE for a, b in self._index.header_cells() if b > a) and self._dialect.quoting
        names = self._spell(pa.array([column.name for column in extra], pa.large_string()), always)
        text = "".join(chr(self._added) + name for name in names.to_pylist()).encode()
        at = self._index.header_ends[-1:]
        inserted = at, at, np.frombuffer(text, dtype=np.uint8), np.array([0, len(text)])
        return splice(head, *_merge(deleted, inserted))

    def _appended(self, extra: Sequence[ExtraColumn], block: Block, always: bool) -> pa.Array:
        """Spell what is added to each row of a block: a delimiter and a cell for every extra column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        assert self._added is not None
        mark = pa.scalar(chr(self._added), pa.large_string())
        parts: list[pa.Array | pa.Scalar] = []
        for column in extra:
            values = _as_text(column.values.slice(block.first_row, block.n_rows), self.decimal)
            parts += [mark, self._spell(pc.fill_null(values, ""), always)]
        return pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))


class _Output:
    """A sink for pieces of UTF-8, written in the file's own encoding."""

    def __init__(self, sink: BinaryIO, encoding: Encoding, name: str) -> None:
        self._sink, self._encoding, self._name = sink, encoding, name
        self._encoder = None
        if not encoding.is_utf8:
            self._encoder = codecs.getincrementalencoder(encoding.codec)()
            sink.write(encoding.mark)

    def check(self, values: pa.Array, header: Bytes) -> None:
        """Refuse what the encoding cannot hold, before anything is written."""
        import pyarrow.compute as pc

        if self._encoder is not None:
            for text in [header.tobytes().decode(), *pc.unique(values).to_pylist()]:
                self._encode(text, codecs.getincrementalencoder(self._encoding.codec)())

    def write(self, piece: Bytes) -> None:
        if self._encoder is None:
            self._sink.write(piece.data)
        else:
            self._sink.write(self._encode(piece.tobytes().decode(), self._encoder))

    def finish(self) -> None:
        if self._encoder is not None:
            self._sink.write(self._encoder.encode("", final=True))

    def _encode(self, text: str, encoder: codecs.IncrementalEncoder) -> bytes:
        try:
            return encoder.encode(text)
        except UnicodeEncodeError as error:
            raise not_in_encoding(error, self._encoding, self._name) from None


_Edits = tuple[Positions, Positions, Bytes, Positions]
"""First byte and end of each stretch to replace, the text to put there, and its offsets."""


def _merge(one: _Edits, other: _Edits) -> _Edits:
    """Merge edits by position; if both are at one place, `one` comes first."""
    order = np.argsort(np.concatenate((one[0], other[0])), kind="stable")
    begin = np.concatenate((one[3][:-1], other[3][:-1] + one[2].size))
    end = np.concatenate((one[3][1:], other[3][1:] + one[2].size))
    text, offsets = cells.gather(np.concatenate((one[2], other[2])), begin[order], end[order])
    return (
        np.concatenate((one[0], other[0]))[order],
        np.concatenate((one[1], other[1]))[order],
        text,
        offsets,
    )


def _deleted(spans: Sequence[tuple[Positions, Positions]], without: Sequence[int]) -> _Edits:
    """Take out columns whose cells lie at `spans`: of a row each cell with the delimiter before it, or else behind."""
    kept = min(set(range(len(spans))) - set(without))
    pieces = [
        (spans[j - 1][1], spans[j][1]) if j > kept else (spans[j][0], spans[j + 1][0]) for j in sorted(set(without))
    ]
    nothing = np.zeros(0, dtype=np.int64)
    first = np.concatenate([nothing, *(a for a, _ in pieces)])
    stop = np.concatenate([nothing, *(b for _, b in pieces)])
    order = np.argsort(first, kind="stable")
    return first[order], stop[order], np.zeros(0, dtype=np.uint8), np.zeros(first.size + 1, dtype=np.int64)


def _as_text(values: pa.Array | pa.ChunkedArray, decimal: str = ".") -> pa.Array:
    """Return values as large_string; floating-point numbers with the table's decimal mark."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    text = values.cast(pa.large_string())
    if decimal != "." and pa.types.is_floating(values.type):
        text = pc.replace_substring(text, ".", decimal)
    return text


def _buffers(values: pa.Array) -> tuple[Bytes, Positions]:
    """Return the bytes of a large_string array and where each value begins and ends in them."""
    _, offsets, text = values.buffers()
    if not len(values) or text is None:
        return np.zeros(0, dtype=np.uint8), np.zeros(len(values) + 1, dtype=np.int64)
    where = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    return np.frombuffer(text, dtype=np.uint8)[where[0] : where[-1]], where - where[0]
