"""The metadata of a Parquet file: where its parts lie, its schema, its notes.

A file is ``PAR1``, column chunks row group by row group, page indexes and Bloom filters, the footer (metadata in
Thrift), the footer's length, ``PAR1``.
Field numbers: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO, Self

from vsacli.errors import DataError, InputError
from vsacli.tables.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, decode

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"


class Field(IntEnum):
    """The id of a field, with the Thrift type that it has; under another type it is somebody else's, and unknown."""

    kind: int

    def __new__(cls, number: int, kind: int) -> Self:
        field = int.__new__(cls, number)
        field._value_, field.kind = number, kind
        return field


class File(Field):
    """Fields of FileMetaData that are used here; likewise the next ones."""

    SCHEMA = 2, LIST
    ROWS = 3, I64
    ROW_GROUPS = 4, LIST
    KEY_VALUES = 5, LIST
    COLUMN_ORDERS = 7, LIST
    ENCRYPTION = 8, STRUCT


class Element(Field):
    """SchemaElement."""

    TYPE = 1, I32
    LENGTH = 2, I32
    REPETITION = 3, I32
    NAME = 4, BINARY
    CHILDREN = 5, I32
    FIELD_ID = 9, I32


class Group(Field):
    """RowGroup."""

    COLUMNS = 1, LIST
    SIZE = 2, I64
    ROWS = 3, I64
    SORTING = 4, LIST
    OFFSET = 5, I64
    COMPRESSED_SIZE = 6, I64


class Chunk(Field):
    """ColumnChunk."""

    FILE_PATH = 1, BINARY
    OFFSET = 2, I64
    META = 3, STRUCT
    OFFSET_INDEX = 4, I64
    OFFSET_INDEX_LENGTH = 5, I32
    COLUMN_INDEX = 6, I64
    COLUMN_INDEX_LENGTH = 7, I32


class Meta(Field):
    """ColumnMetaData."""

    CODEC = 4, I32
    UNCOMPRESSED_SIZE = 6, I64
    COMPRESSED_SIZE = 7, I64
    KEY_VALUES = 8, LIST
    DATA_PAGE = 9, I64
    INDEX_PAGE = 10, I64
    DICTIONARY_PAGE = 11, I64
    STATISTICS = 12, STRUCT
    ENCODING_STATS = 13, LIST
    BLOOM = 14, I64
    BLOOM_LENGTH = 15, I32


def get(struct: Struct, field: int, default: Any = None) -> Any:
    """A field's value; the default if there is none of its type."""
    if field not in struct:
        return default
    kind, value = struct[field]
    return value if not isinstance(field, Field) or kind == field.kind else default


def put(struct: Struct, field: Field, value: Any) -> None:
    """Set a field, keeping the fields in the order of their ids."""
    struct[field] = (field.kind, value)
    if field < max(struct):
        ordered = sorted(struct.items())
        struct.clear()
        struct.update(ordered)


@dataclass
class Footer:
    """The metadata of a Parquet file, where in the file it starts, and what messages call the file."""

    meta: Struct
    start: int
    name: str

    @property
    def groups(self) -> list[Struct]:
        return get(self.meta, File.ROW_GROUPS, [])

    @property
    def fields(self) -> list[tuple[str, range, int]]:
        """Each top-level column: its name, its leaves (column chunks) and its place among the schema elements."""
        elements = get(self.meta, File.SCHEMA)
        out: list[tuple[str, range, int]] = []
        at, leaf = 1, 0
        for _ in range(get(elements[0], Element.CHILDREN, 0)):
            start, first = at, leaf
            open_nodes = 1
            while open_nodes:
                children = get(elements[at], Element.CHILDREN, 0)
                leaf += Element.TYPE in elements[at]  # a group may be empty
                open_nodes += children - 1
                at += 1
            out.append((get(elements[start], Element.NAME).decode(), range(first, leaf), start))
        return out


def read_footer(file: BinaryIO, name: str) -> Footer:
    """Read the metadata at the end of a seekable file.

    Raises
    ------
    InputError
        The file is cut off.
    DataError
        It is not a Parquet file, or it is encrypted or damaged.
    """
    try:
        return _read_footer(file, name)
    except InputError:  # is an OSError itself
        raise
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None


def _read_footer(file: BinaryIO, name: str) -> Footer:
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(4)
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    if head == _ENCRYPTED or tail[4:] == _ENCRYPTED:
        raise DataError(f"{name}: the Parquet file is encrypted; decrypt it first")
    if head != MAGIC:
        raise DataError(f"{name}: this is not a Parquet file (it does not start with PAR1)")
    if size < 12 or tail[4:] != MAGIC:
        raise InputError(f"{name}: the Parquet file is cut off (its end is missing); copy or download it again")
    length = int.from_bytes(tail[:4], "little")
    start = size - 8 - length
    if start < 4:
        raise DataError(f"{name}: the Parquet file is damaged (its metadata would be longer than the file)")
    file.seek(start)
    try:
        meta, _ = decode(file.read(length))
        if get(meta, File.ENCRYPTION) is not None:
            raise DataError(f"{name}: the Parquet file is encrypted; decrypt it first")
        footer = Footer(meta, start, name)
        _check(footer)
    except DataError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{name}: the Parquet file is damaged (its metadata cannot be read: {error})") from None
    return footer


def _check(footer: Footer) -> None:
    """Raise one of Python's errors if the metadata are not built as their users expect.

    What no reader of the data needs is no reason: an index or filter that is not where it should be is taken out.
    """
    n_leaves = sum(len(leaves) for _, leaves, _ in footer.fields)
    for group in footer.groups:
        chunks = get(group, Group.COLUMNS)
        if len(chunks) != n_leaves:
            raise ValueError("a column is missing in a row group")
        if get(group, Group.ROWS) < 0:
            raise ValueError("a row group has a negative number of rows")
        for chunk in chunks:
            meta = get(chunk, Chunk.META)
            if get(meta, Meta.COMPRESSED_SIZE) < 0 or get(meta, Meta.DATA_PAGE) < 0:
                raise ValueError("a place or size is negative")
            if chunk_span(chunk)[1] > footer.start:
                if get(chunk, Chunk.FILE_PATH):
                    raise DataError(
                        f"{footer.name}: the Parquet file keeps its columns in other files; write it as one file first"
                    )
                raise ValueError("a part would lie beyond the end")
    data = sorted(chunk_span(chunk) for group in footer.groups for chunk in get(group, Group.COLUMNS))
    for group in footer.groups:
        for chunk in get(group, Group.COLUMNS):
            for struct, at, length in (
                (chunk, Chunk.OFFSET_INDEX, Chunk.OFFSET_INDEX_LENGTH),
                (chunk, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH),
                (get(chunk, Chunk.META), Meta.BLOOM, Meta.BLOOM_LENGTH),
            ):
                _drop_if_unsound(struct, at, length, data, footer.start)


def _drop_if_unsound(struct: Struct, at: Field, length: Field, data: list[tuple[int, int]], end: int) -> None:
    """Take out the place of an index or filter if that cannot be: beyond the end, or where column chunks lie."""
    start, size = get(struct, at), get(struct, length)
    if start is None:
        return
    if size is None and length is Meta.BLOOM_LENGTH:
        size = 1  # older writers note none
    stop = start + (size or 0)
    before = bisect.bisect_left(data, (stop, 0)) - 1
    if start < 0 or stop <= start or stop > end or (before >= 0 and data[before][1] > start):
        del struct[at]
        struct.pop(length, None)


def chunk_span(chunk: Struct) -> tuple[int, int]:
    """First and last-plus-one byte of a column chunk; (0, 0) if it has no page."""
    meta = get(chunk, Chunk.META)
    starts = (get(meta, Meta.DATA_PAGE), get(meta, Meta.DICTIONARY_PAGE, 0), get(meta, Meta.INDEX_PAGE, 0))
    start = min((at for at in starts if at > 0), default=0)
    return start, start + (get(meta, Meta.COMPRESSED_SIZE) if start else 0)


def key_values(footer: Footer) -> dict[bytes, Struct]:
    """The file's own key-value metadata: key to its entry (field 2 is the value)."""
    return {get(entry, 1): entry for entry in get(footer.meta, File.KEY_VALUES, [])}


def add_columns(footer: Footer, elements: Iterable[Struct]) -> None:
    """Add top-level columns without children to the schema."""
    schema = get(footer.meta, File.SCHEMA)
    for element in elements:
        schema.append(element)
        put(schema[0], Element.CHILDREN, get(schema[0], Element.CHILDREN, 0) + 1)
        orders = get(footer.meta, File.COLUMN_ORDERS)
        if orders is not None:
            orders.append({1: (STRUCT, {})})  # TypeDefinedOrder


def leave_out(footer: Footer, places: Iterable[int]) -> None:
    """Take top-level columns without children out of the schema."""
    schema, orders, fields = get(footer.meta, File.SCHEMA), get(footer.meta, File.COLUMN_ORDERS), footer.fields
    for j in sorted(set(places), reverse=True):
        _, leaves, at = fields[j]
        del schema[at]
        put(schema[0], Element.CHILDREN, get(schema[0], Element.CHILDREN) - 1)
        if orders is not None:
            del orders[leaves[0]]
