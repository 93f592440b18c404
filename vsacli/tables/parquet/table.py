"""A Parquet file as a table: reading its columns, and writing it with the missing labels filled.

Only the data of the label column are rewritten, in the row groups where a label is filled; everything else is
copied byte for byte (see :mod:`vsacli.tables.parquet.splice`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from vsacli.errors import DataError, InputError, UsageError
from vsacli.support.privacy import values_shown
from vsacli.tables.arrow_types import is_nested, is_text
from vsacli.tables.parquet.chunks import (
    TargetWriter,
    change_arrow_schema,
    codec_of,
    empty_array,
    forget_columns,
    needs_wider_index,
    note_columns,
    widen_index,
    write_chunks,
)
from vsacli.tables.parquet.footer import File, Group, add_columns, get, leave_out, put, read_footer
from vsacli.tables.parquet.splice import Changes, NewChunk, splice
from vsacli.tables.table import ExtraColumn, find_column

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetTable:
    """A Parquet file; see `Table` in docs/architecture.md.

    Parameters
    ----------
    source
        Its path, or its bytes.
    name
        Its name in messages; the path if not given.

    Raises
    ------
    InputError
        The file cannot be read, or is cut off.
    DataError
        It is not a Parquet file, or it is damaged or encrypted.
    """

    decimal = "."
    is_text = False

    def __init__(self, source: str | Path | bytes | bytearray, name: str | None = None) -> None:
        in_memory = isinstance(source, (bytes, bytearray))
        self.name = name or ("the table" if in_memory else str(source))
        self.notes: list[str] = []
        self._source = source if in_memory else str(source)
        with self._open() as file:
            footer = read_footer(file, self.name)
        self._fields = footer.fields
        self.columns: list[str] = [name for name, _, _ in self._fields]
        self.n_rows: int = sum(get(group, Group.ROWS) for group in footer.groups)  # the file's own sum may be wrong
        kinds = [field.type for field in self._arrow_file().schema_arrow]
        self.nested = {j: str(kind) for j, kind in enumerate(kinds) if is_nested(kind)}

    def find(self, name: str) -> int:
        """The index of a column; UsageError if there is not exactly one of that name."""
        return find_column(self.columns, name, self.name, is_text=False)

    def where(self, row: int) -> str:
        """A row's place, for messages."""
        return f"row {row + 1}"

    def column(self, j: int) -> pa.Array:
        """All cells of a column, in its own type.

        Raises
        ------
        DataError
            Its data are damaged, or text that is not UTF-8.
        """
        import pyarrow as pa

        _, leaves, _ = self._fields[j]
        if not leaves:
            return pa.nulls(self.n_rows)
        column = self._read(lambda file: file.reader.read_all(column_indices=list(leaves)), j, self.n_rows)
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            why = f" ({_first_line(error)})" if values_shown() else ""
            then = (
                "if it is not UTF-8 text, store it as binary"
                if is_text(column.type)
                else "write it in a type that does"
            )
            raise DataError(
                f"{self.name}: column {self.columns[j]!r} holds what its type {column.type} does not allow{why}; {then}"
            ) from None
        return column

    def write(
        self,
        sink: IO[bytes],
        target: int,
        rows: NDArray[np.int64],
        values: pa.Array,
        extra: Sequence[ExtraColumn] = (),
        *,
        without: Sequence[int] = (),
    ) -> None:
        """Write the file with other cells in one column, and with more columns.

        Parameters
        ----------
        sink
            Where the bytes go; it need not be seekable.
        target
            Index of the column.
        rows
            int64[m], sorted: the rows to fill.
        values
            m values, of the column's value type (or what can be cast to it). A column of type null takes their type.
        extra
            Columns to add, of n_rows values each.
        without
            Columns to leave out, none of them nested.

        Raises
        ------
        UsageError
            A column to add has the name of one that is there.
        DataError
            The label column's data are damaged.
        """
        for column in extra:
            if column.name in [name for j, name in enumerate(self.columns) if j not in without]:
                raise UsageError(f"{self.name} already has a column {column.name!r}; rename it first")
        with self._open() as source:
            if not len(rows) and not extra and not without:
                shutil.copyfileobj(source, sink, 1 << 22)
                return
            footer = read_footer(source, self.name)
            put(footer.meta, File.ROWS, self.n_rows)
            heights = [get(group, Group.ROWS) for group in footer.groups]
            starts = np.concatenate([[0], np.cumsum(heights, dtype=np.int64)])
            rows = np.asarray(rows, dtype=np.int64)
            bounds = np.searchsorted(rows, starts)
            filled = {g for g in range(len(heights)) if bounds[g] < bounds[g + 1]}
            file = self._arrow_file()
            field = file.schema_arrow.field(target)
            if values.null_count and not field.nullable:
                values = values.fill_null("" if is_text(values.type) else float("nan"))
            writer = TargetWriter(
                file,
                footer,
                target,
                lambda g, encoded: self._read_group(g, target, encoded, heights[g]),
                values.type if filled else None,
            )
            if filled and needs_wider_index(field.type, self.column(target), values):
                change_arrow_schema(footer, lambda schema: widen_index(schema, target))
            if filled and writer.changes_storage():
                filled = {g for g, height in enumerate(heights) if height}

            def new_chunk(g: int) -> NewChunk:
                part = slice(bounds[g], bounds[g + 1])
                return writer.chunk(g, rows[part] - starts[g], values[part])

            names = [column.name for column in extra]

            def added(g: int) -> list[NewChunk]:
                if not extra:
                    return []
                codec = codec_of(get(footer.groups[g], Group.COLUMNS)[writer.leaf])
                return write_chunks(names, [column.values.slice(starts[g], heights[g]) for column in extra], codec)[0]

            gone = [leaf for j in without for leaf in self._fields[j][1]]
            if without:
                leave_out(footer, without)
                forget_columns(footer, without, {self.columns[j] for j in without})
            if extra:
                _, elements = write_chunks(names, [column.values.slice(0, 0) for column in extra], "none")
                add_columns(footer, elements)
                note_columns(footer, extra)
            splice(source, sink, footer, Changes(writer.leaf, filled, new_chunk, added, gone))

    def _read_group(self, g: int, j: int, encoded: bool, height: int) -> pa.Array:
        """A column's cells in one row group; ``encoded``: with the dictionary that the row group has for it."""
        name, leaves, _ = self._fields[j]
        dictionaries = [name] if encoded else None
        return self._read(lambda file: file.reader.read_row_group(g, list(leaves)), j, height, dictionaries)

    def _open(self) -> BinaryIO:
        if not isinstance(self._source, str):
            import pyarrow as pa

            return cast("BinaryIO", pa.BufferReader(self._source))
        try:
            return open(self._source, "rb")
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror})") from None

    def _arrow_file(self, dictionaries: list[str] | None = None) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            source = self._source if isinstance(self._source, str) else pa.BufferReader(self._source)
            return pq.ParquetFile(source, read_dictionary=dictionaries)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            what = "Arrow cannot read it" if _is_limit(error) else "the Parquet file is damaged"
            raise DataError(f"{self.name}: {what} ({_first_line(error)})") from None

    def _read(
        self, read: Callable[[Any], pa.Table], j: int, height: int, dictionaries: list[str] | None = None
    ) -> pa.Array:
        import pyarrow as pa

        damaged = f"{self.name}: the data of column {self.columns[j]!r} are damaged"
        try:
            cells = _one_array(read(self._arrow_file(dictionaries)).column(0))
        except MemoryError:  # also an ArrowException
            raise
        except (pa.ArrowException, OSError) as error:
            if _is_limit(error):
                raise DataError(
                    f"{self.name}: Arrow cannot read the column {self.columns[j]!r} ({_first_line(error)}); leave it "
                    f"out with --exclude, or write the file without it"
                ) from None
            raise DataError(f"{damaged} ({_first_line(error)})") from None
        if len(cells) != height:
            raise DataError(f"{damaged} ({len(cells)} cells for {height} rows)")
        return cells


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and column.num_chunks > 1:  # all categories together may need more room
        kind = pa.dictionary(pa.int32(), column.type.value_type, column.type.ordered)
        column = column.cast(kind).unify_dictionaries()
    elif column.nbytes > np.iinfo(np.int32).max:  # 32-bit offsets would not reach
        wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(column.type)
        column = column if wide is None else column.cast(wide)
    if column.num_chunks == 1:
        return column.chunk(0)
    return empty_array(column.type) if column.num_chunks == 0 else pa.concat_arrays(column.chunks)


_NOT_YET = re.compile(r"not (?:yet )?(?:implemented|supported)|unsupported|NotImplemented", re.IGNORECASE)


def _is_limit(error: Exception) -> bool:
    """Whether an error of Arrow's is about what it cannot do, and not about the file."""
    import pyarrow as pa

    return isinstance(error, (pa.ArrowNotImplementedError, pa.ArrowCapacityError)) or (
        _NOT_YET.search(_first_line(error)) is not None
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
