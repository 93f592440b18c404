"""A Parquet file as a table: reading its columns, and writing it with the missing labels filled.

Only the data of the label column are written anew, in the row groups where a label is filled; everything else is
copied byte for byte (see :mod:`vsacli.tables.parquetlayout`).
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, cast

import numpy as np
from numpy.typing import NDArray

from vsacli.errors import DataError, InputError, UsageError
from vsacli.tables.parquetlayout import (
    Chunk,
    Element,
    File,
    Footer,
    Group,
    Meta,
    NewChunk,
    add_columns,
    get,
    key_values,
    new_chunks,
    put,
    read_footer,
    splice,
)
from vsacli.tables.table import ExtraColumn, find_column
from vsacli.tables.thrift import BINARY, Struct

if TYPE_CHECKING:
    import pyarrow as pa

_INT32, _INT64, _INT96 = 1, 2, 3  # physical types
_DATA_PAGE_V2 = 3


class ParquetTable:
    """A Parquet file; see `Table` in docs/architecture.md.

    Parameters
    ----------
    source
        Its path, or its bytes.
    name
        What messages call it; the path if not given.

    Raises
    ------
    InputError
        The file cannot be read, or is cut off.
    DataError
        It is no Parquet file, or it is damaged or encrypted.
    """

    decimal: Literal[".", ","] = "."

    def __init__(self, source: str | Path | bytes | bytearray, name: str | None = None) -> None:
        in_memory = isinstance(source, (bytes, bytearray))
        self.name = name or ("the table" if in_memory else str(source))
        self.notes: list[str] = []
        self._source = source if in_memory else str(source)
        with self._open() as file:
            self._fields = read_footer(file, self.name).fields
        self.columns: list[str] = [name for name, _, _ in self._fields]
        self.n_rows: int = self._arrow_file().metadata.num_rows

    def find(self, name: str) -> int:
        """The index of a column; UsageError if there is not exactly one of that name."""
        return find_column(self.columns, name, self.name)

    def where(self, row: int) -> str:
        """A row's place, for messages."""
        return f"row {row + 1}"

    def column(self, j: int) -> pa.Array:
        """All cells of a column, in its own type."""
        _, leaves, _ = self._fields[j]
        return _one_array(self._read(lambda file: file.reader.read_all(column_indices=list(leaves)), j))

    def write(
        self,
        sink: IO[bytes],
        target: int,
        rows: NDArray[np.int64],
        values: pa.Array,
        extra: Sequence[ExtraColumn] = (),
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
            m values, of the column's value type (or what can be cast to it).
        extra
            Columns to add, of n_rows values each.

        Raises
        ------
        UsageError
            A column to add has the name of one that is there.
        DataError
            The label column's data are damaged.
        """
        for column in extra:
            if column.name in self.columns:
                raise UsageError(f"{self.name} already has a column {column.name!r}; rename it first")
        with self._open() as source:
            if not len(rows) and not extra:
                shutil.copyfileobj(source, sink, 1 << 22)
                return
            footer = read_footer(source, self.name)
            heights = [get(group, Group.ROWS) for group in footer.groups]
            starts = np.concatenate([[0], np.cumsum(heights, dtype=np.int64)])
            rows = np.asarray(rows, dtype=np.int64)
            bounds = np.searchsorted(rows, starts)
            filled = {g for g in range(len(heights)) if bounds[g] < bounds[g + 1]}
            writer = _TargetWriter(self, footer, target)
            if filled and writer.needs_wider_index(values):
                _change_arrow_schema(footer, lambda schema: _widen_index(schema, target))
            if filled and writer.changes_storage():
                filled = {g for g, height in enumerate(heights) if height}

            def new_chunk(g: int) -> NewChunk:
                part = slice(bounds[g], bounds[g + 1])
                return writer.chunk(g, rows[part] - starts[g], values[part])

            def added(g: int) -> list[NewChunk]:
                if not extra:
                    return []
                parts = [column.values.slice(starts[g], heights[g]) for column in extra]
                return _write_chunks([column.name for column in extra], parts, writer.compression)[0]

            if extra:
                empty = [column.values.slice(0, 0) for column in extra]
                add_columns(footer, _write_chunks([column.name for column in extra], empty, "none")[1])
                _describe_columns(footer, extra)
            try:
                splice(source, sink, footer, writer.leaf, filled, new_chunk, added)
            except (DataError, InputError) as error:
                raise type(error)(f"{self.name}: {error}") from None

    def read_group(self, g: int, j: int) -> pa.Array:
        """A column's cells in one row group."""
        leaves = list(self._fields[j][1])
        return _one_array(self._read(lambda file: file.reader.read_row_group(g, column_indices=leaves), j))

    def _open(self) -> BinaryIO:
        if not isinstance(self._source, str):
            import pyarrow as pa

            return cast("BinaryIO", pa.BufferReader(self._source))
        try:
            return open(self._source, "rb")
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read ({error.strerror})") from None

    def _arrow_file(self) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self._source if isinstance(self._source, str) else pa.BufferReader(self._source))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: the Parquet file is damaged ({_first_line(error)})") from None

    def _read(self, read, j: int) -> pa.ChunkedArray:
        import pyarrow as pa

        try:
            return read(self._arrow_file()).column(0)
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{self.name}: the data of column {self.columns[j]!r} are damaged ({_first_line(error)})"
            ) from None


class _TargetWriter:
    """Writes the label column's chunks as the file has them: same compression, encoding and physical type."""

    def __init__(self, table: ParquetTable, footer: Footer, j: int) -> None:
        self.table, self.footer, self.j = table, footer, j
        file = table._arrow_file()
        _, leaves, at = footer.fields[j]
        self.leaf = leaves[0]
        self.element: Struct = get(footer.meta, File.SCHEMA)[at]
        self.field: pa.Field = file.schema_arrow.field(j)
        self.metadata = file.metadata
        n_groups = self.metadata.num_row_groups
        self.compression = _codec(self.metadata.row_group(0).column(self.leaf)) if n_groups else "snappy"

    def needs_wider_index(self, values: pa.Array) -> bool:
        """Whether new categories make too many for the column's index type, which readers would then refuse."""
        kind = self.field.type
        if not hasattr(kind, "index_type"):
            return False
        known = set(cast("pa.DictionaryArray", self.table.column(self.j)).dictionary.to_pylist())
        known.update(values.unique().to_pylist())
        return len(known) > np.iinfo(kind.index_type.to_pandas_dtype()).max + 1

    def changes_storage(self) -> bool:
        """Whether Arrow stores this type in another way than the file does; the schema then follows."""
        _, (new,) = _write_chunks(
            [self.field.name], [_empty(self.field.type)], "none", self.field.nullable, **self._physical()
        )
        if all(get(new, field) == get(self.element, field) for field in (Element.TYPE, Element.LENGTH)):
            return False
        kept = {f: self.element[f] for f in (Element.REPETITION, Element.NAME, Element.FIELD_ID) if f in self.element}
        self.element.clear()
        self.element.update(sorted({**new, **kept}.items()))
        return True

    def chunk(self, g: int, rows: np.ndarray, values: pa.Array) -> NewChunk:
        """The column chunk of row group ``g`` with ``values`` in its ``rows``."""
        cells = _with_values(self.table.read_group(g, self.j), rows, values)
        old = self.metadata.row_group(g).column(self.leaf)
        meta = get(get(self.footer.groups[g], Group.COLUMNS)[self.leaf], Chunk.META)
        pages = {get(page, 1) for page in get(meta, Meta.ENCODING_STATS, [])}
        split = "BYTE_STREAM_SPLIT" in old.encodings and not old.has_dictionary_page
        (new,), _ = _write_chunks(
            [self.field.name],
            [cells],
            _codec(old),
            self.field.nullable,
            use_dictionary=old.has_dictionary_page,
            use_byte_stream_split=split,
            write_statistics=old.is_stats_set,
            data_page_version="2.0" if _DATA_PAGE_V2 in pages else "1.0",
            **self._physical(),
        )
        return new

    def _physical(self) -> dict[str, Any]:
        physical = get(self.element, Element.TYPE)
        return {
            "store_decimal_as_integer": physical in (_INT32, _INT64),
            "use_deprecated_int96_timestamps": physical == _INT96,
        }


def _write_chunks(
    names: Sequence[str], columns: Sequence[pa.Array], compression: str, nullable: bool = True, **options: Any
) -> tuple[list[NewChunk], list[Struct]]:
    """Column chunks and schema elements of flat columns, written by Arrow as one row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field(name, column.type, nullable) for name, column in zip(names, columns, strict=True)])
    table = pa.Table.from_arrays(list(columns), schema=schema)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression=compression, store_schema=False, **options) as writer:
        writer.write_table(table, row_group_size=max(len(table), 1))
    return new_chunks(memoryview(sink.getvalue()))


def _codec(chunk: Any) -> str:
    return "none" if chunk.compression == "UNCOMPRESSED" else str(chunk.compression).lower()


def _is_extension(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return isinstance(kind, pa.BaseExtensionType)


def _with_values(cells: pa.Array, rows: np.ndarray, values: pa.Array) -> pa.Array:
    """The cells with other values in some rows; a dictionary keeps its order and gets new values at its end."""
    import pyarrow as pa

    if _is_extension(cells.type):
        return cells.type.wrap_array(_with_values(cells.storage, rows, values))
    take = np.arange(len(cells), dtype=np.int64)
    take[rows] = len(cells) + np.arange(len(rows))
    if not isinstance(cells, pa.DictionaryArray):
        # views have no kernel to take from them
        working = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(cells.type, cells.type)
        return pa.concat_arrays([cells.cast(working), values.cast(working)]).take(pa.array(take)).cast(cells.type)
    dictionary = cells.dictionary
    values = values.cast(dictionary.type)
    known = set(dictionary.to_pylist())
    new = [value for value in values.unique().to_pylist() if value not in known]
    if new:
        dictionary = pa.concat_arrays([dictionary, pa.array(new, type=dictionary.type)])
    place = {value: i for i, value in enumerate(dictionary.to_pylist())}
    codes = pa.array([place[value] for value in values.to_pylist()], type=pa.int64())
    indices = pa.concat_arrays([cells.indices.cast(pa.int64()), codes]).take(pa.array(take))
    return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), dictionary, ordered=cells.type.ordered)


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
    return _empty(column.type) if column.num_chunks == 0 else pa.concat_arrays(column.chunks)


def _empty(kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(pa.array([], type=kind.storage_type))
    return pa.array([], type=kind)


def _change_arrow_schema(footer: Footer, change: Callable[[pa.Schema], pa.Schema]) -> None:
    """Change the Arrow schema that Arrow's writers note in the file, if there is one."""
    import pyarrow as pa

    entry = key_values(footer).get(b"ARROW:schema")
    if entry is not None:
        schema = change(pa.ipc.read_schema(pa.BufferReader(base64.b64decode(get(entry, 2)))))
        put(entry, 2, BINARY, base64.b64encode(schema.serialize().to_pybytes()))


def _widen_index(schema: pa.Schema, j: int) -> pa.Schema:
    import pyarrow as pa

    field = schema.field(j)
    kind = pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)
    return schema.set(j, field.with_type(kind))


def _describe_columns(footer: Footer, extra: Sequence[ExtraColumn]) -> None:
    """Add the new columns to what Arrow and pandas noted about the file's schema, if they did."""
    import pyarrow as pa

    def add(schema: pa.Schema) -> pa.Schema:
        for column in extra:
            schema = schema.append(pa.field(column.name, column.values.type))
        noted = dict(schema.metadata or {})
        if b"pandas" in noted:
            schema = schema.with_metadata({**noted, b"pandas": _with_pandas_columns(noted[b"pandas"], extra)})
        return schema

    _change_arrow_schema(footer, add)
    entry = key_values(footer).get(b"pandas")
    if entry is not None:
        put(entry, 2, BINARY, _with_pandas_columns(get(entry, 2), extra))


def _with_pandas_columns(note: bytes, extra: Sequence[ExtraColumn]) -> bytes:
    try:
        noted = json.loads(note)
        noted["columns"] += [_pandas_column(column) for column in extra]
    except (ValueError, KeyError, TypeError):  # not what pandas writes: leave it
        return note
    return json.dumps(noted).encode()


def _pandas_column(column: ExtraColumn) -> dict[str, Any]:
    kind = column.values.type.to_pandas_dtype()
    numpy_type = np.dtype(kind).name
    pandas_type = "unicode" if numpy_type == "object" else numpy_type
    return {
        "name": column.name,
        "field_name": column.name,
        "pandas_type": pandas_type,
        "numpy_type": numpy_type,
        "metadata": None,
    }


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
