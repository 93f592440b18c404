"""Column chunks written by Arrow as a given Parquet file has them, and notes on the schema to match."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vsacli.errors import DataError
from vsacli.tables.arrow_types import is_text
from vsacli.tables.parquet.footer import Chunk, Element, File, Footer, Group, Meta, get, key_values, put
from vsacli.tables.parquet.splice import NewChunk, new_chunks
from vsacli.tables.parquet.storage import as_stored, statistics, storage_type
from vsacli.tables.parquet.thrift import BINARY, Struct

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from vsacli.tables.table import ExtraColumn

_INT32, _INT64, _INT96 = 1, 2, 3  # physical types
_DATA_PAGE_V2 = 3


class TargetWriter:
    """Writes the label column's chunks as the file has them: same compression, encoding and physical type.

    Parameters
    ----------
    file, footer
        The file, as Arrow and as we see it; the footer is changed if the column must be stored in another way.
    j
        The label column.
    read_group
        Reads the column's cells in one row group; its second argument: with the dictionary the row group has for it.
    values
        Type of the values to be written, which a column of type null takes; None if there are none.
    """

    def __init__(
        self,
        file: pq.ParquetFile,
        footer: Footer,
        j: int,
        read_group: Callable[[int, bool], pa.Array],
        values: pa.DataType | None,
    ) -> None:
        import pyarrow as pa

        name, leaves, at = footer.fields[j]
        if not leaves:
            raise DataError(f"{footer.name}: column {name!r} is an empty group and cannot hold labels")
        self.leaf = leaves[0]
        self._stored: pa.DataType | None = None  # of integers or bytes, if Arrow would take others
        self._footer, self._read_group = footer, read_group
        self._element: Struct = get(footer.meta, File.SCHEMA)[at]
        self._field: pa.Field = file.schema_arrow.field(j)
        self._metadata = file.metadata
        self._was_null = values is not None and pa.types.is_null(self._field.type)
        if self._was_null:
            self._field = self._field.with_type(values)
            change_arrow_schema(footer, lambda schema: schema.set(j, schema.field(j).with_type(values)))

    def changes_storage(self) -> bool:
        """Whether the values cannot be stored as the file has them; the schema then says how Arrow stores them."""
        _, (new,) = write_chunks(
            [self._field.name], [empty_array(self._field.type)], "none", self._field.nullable, **self._physical()
        )
        if not self._was_null and all(
            get(new, field) == get(self._element, field) for field in (Element.TYPE, Element.LENGTH)
        ):
            return False
        self._stored = None if self._was_null else storage_type(self._field.type, self._element)
        if self._stored is not None:
            return False
        kept = {f: self._element[f] for f in (Element.REPETITION, Element.NAME, Element.FIELD_ID) if f in self._element}
        self._element.clear()
        self._element.update(sorted({**new, **kept}.items()))
        return True

    def chunk(self, g: int, rows: np.ndarray, values: pa.Array) -> NewChunk:
        """The column chunk of row group ``g`` with ``values`` in its ``rows``."""
        import pyarrow as pa

        old = self._metadata.row_group(g).column(self.leaf)
        # some readers take codes for granted: the dictionary keeps its order
        encoded = old.has_dictionary_page and old.physical_type == "BYTE_ARRAY"
        cells = self._read_group(g, encoded)
        cells = _with_values(pa.nulls(len(cells), self._field.type) if self._was_null else cells, rows, values)
        chunk = get(self._footer.groups[g], Group.COLUMNS)[self.leaf]
        pages = {get(page, 1) for page in get(get(chunk, Chunk.META), Meta.ENCODING_STATS, [])}
        split = "BYTE_STREAM_SPLIT" in old.encodings and not old.has_dictionary_page
        stored = cells if self._stored is None else as_stored(cells, self._stored)
        own_statistics = old.is_stats_set and stored is not cells and not pa.types.is_integer(stored.type)
        (new,), _ = write_chunks(
            [self._field.name],
            [stored],
            codec_of(chunk),
            self._field.nullable,
            use_dictionary=old.has_dictionary_page or self._was_null,
            use_byte_stream_split=split,
            write_statistics=old.is_stats_set and not own_statistics,
            data_page_version="2.0" if _DATA_PAGE_V2 in pages else "1.0",
            **self._physical(),
        )
        if own_statistics:
            put(get(new.chunk, Chunk.META), Meta.STATISTICS, statistics(cells, stored.type))
        return new

    def _physical(self) -> dict[str, Any]:
        physical = get(self._element, Element.TYPE)
        return {
            "store_decimal_as_integer": physical in (_INT32, _INT64),
            "use_deprecated_int96_timestamps": physical == _INT96,
        }


def write_chunks(
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


_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4"}


def codec_of(chunk: Struct) -> str:
    """How Arrow is to compress a chunk that takes the place of this one, or stands beside it.

    For LZ4 with Hadoop's frames around it (5), which Arrow reads and does not write, that is LZ4 without them (7);
    for what it does not know, no compression.
    """
    return _CODECS.get(get(get(chunk, Chunk.META), Meta.CODEC, 0), "none")


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
    new = [value for value in values.unique().to_pylist() if value is not None and value not in known]
    if new:
        dictionary = pa.concat_arrays([dictionary, pa.array(new, type=dictionary.type)])
    place = {value: i for i, value in enumerate(dictionary.to_pylist())}
    codes = [None if value is None else place[value] for value in values.to_pylist()]
    codes = pa.array(codes, type=pa.int64())
    indices = pa.concat_arrays([cells.indices.cast(pa.int64()), codes]).take(pa.array(take))
    return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), dictionary, ordered=cells.type.ordered)


def empty_array(kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(pa.array([], type=kind.storage_type))
    return pa.array([], type=kind)


def change_arrow_schema(footer: Footer, change: Callable[[pa.Schema], pa.Schema]) -> None:
    """Change the Arrow schema that Arrow's writers note in the file, if there is one."""
    import pyarrow as pa

    entry = key_values(footer).get(b"ARROW:schema")
    if entry is not None and get(entry, 2):
        schema = change(pa.ipc.read_schema(pa.BufferReader(base64.b64decode(get(entry, 2)))))
        entry[2] = (BINARY, base64.b64encode(schema.serialize().to_pybytes()))


def needs_wider_index(kind: pa.DataType, column: pa.Array, values: pa.Array) -> bool:
    """Whether ``values`` bring more categories than ``kind`` (the column's type) can count: readers would refuse."""
    import pyarrow as pa

    if not isinstance(column, pa.DictionaryArray):
        return False
    known = {*column.dictionary.to_pylist(), *values.unique().to_pylist()}
    return len(known) > np.iinfo(kind.index_type.to_pandas_dtype()).max + 1


def widen_index(schema: pa.Schema, j: int) -> pa.Schema:
    """The schema with room for more categories in one column."""
    import pyarrow as pa

    field = schema.field(j)
    kind = pa.dictionary(pa.int32(), field.type.value_type, field.type.ordered)
    return schema.set(j, field.with_type(kind))


def note_columns(footer: Footer, extra: Sequence[ExtraColumn]) -> None:
    """Add the new columns to what Arrow and pandas noted about the file's schema, if they did."""
    import pyarrow as pa

    def add(schema: pa.Schema) -> pa.Schema:
        for column in extra:
            schema = schema.append(pa.field(column.name, column.values.type))
        return schema

    _change_notes(footer, add, lambda columns: columns + _pandas_columns(extra))


def forget_columns(footer: Footer, places: Sequence[int], names: Collection[str]) -> None:
    """Take columns out of what Arrow and pandas noted about the file's schema, if they did."""

    def remove(schema: pa.Schema) -> pa.Schema:
        for j in sorted(set(places), reverse=True):
            schema = schema.remove(j)
        return schema

    _change_notes(footer, remove, lambda columns: [c for c in columns if c["field_name"] not in names])


def _change_notes(
    footer: Footer, of_arrow: Callable[[pa.Schema], pa.Schema], of_pandas: Callable[[list[Any]], list[Any]]
) -> None:
    """Change what Arrow noted about the schema, and the columns that pandas noted: beside it, and within it."""

    def in_pandas(note: bytes) -> bytes:
        try:
            noted = json.loads(note)
            noted["columns"] = of_pandas(noted["columns"])
        except (ValueError, KeyError, TypeError):  # not what pandas writes: leave it
            return note
        return json.dumps(noted).encode()

    def change(schema: pa.Schema) -> pa.Schema:
        schema, noted = of_arrow(schema), dict(schema.metadata or {})
        if b"pandas" in noted:
            schema = schema.with_metadata({**noted, b"pandas": in_pandas(noted[b"pandas"])})
        return schema

    change_arrow_schema(footer, change)
    entry = key_values(footer).get(b"pandas")
    if entry is not None:
        entry[2] = (BINARY, in_pandas(get(entry, 2)))


def _pandas_columns(extra: Sequence[ExtraColumn]) -> list[dict[str, Any]]:
    """Notes in pandas' form on columns of text, numbers and booleans; it needs none for others."""
    import pyarrow as pa

    noted = []
    for column in extra:
        kind = column.values.type
        if is_text(kind):
            pandas_type, numpy_type = "unicode", "object"
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            pandas_type = numpy_type = np.dtype(kind.to_pandas_dtype()).name
        else:
            continue
        types = {"pandas_type": pandas_type, "numpy_type": numpy_type, "metadata": None}
        noted.append({"name": column.name, "field_name": column.name, **types})
    return noted
