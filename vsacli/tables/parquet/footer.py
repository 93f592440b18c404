"""The metadata of a Parquet file: where its parts lie, its schema, its notes.

A file is ``PAR1``, column chunks row group by row group, page indexes and Bloom filters, the footer (metadata in
Thrift), the footer's length, ``PAR1``.
Field numbers: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO

from vsacli.errors import DataError, InputError
from vsacli.tables.parquet.thrift import I32, STRUCT, Struct, decode

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"


class File(IntEnum):
    """Ids of the fields of FileMetaData that are used here; likewise the next ones."""

    SCHEMA = 2
    ROW_GROUPS = 4
    KEY_VALUES = 5
    COLUMN_ORDERS = 7
    ENCRYPTION = 8


class Element(IntEnum):
    """SchemaElement."""

    TYPE = 1
    LENGTH = 2
    REPETITION = 3
    NAME = 4
    CHILDREN = 5
    FIELD_ID = 9


class Group(IntEnum):
    """RowGroup."""

    COLUMNS = 1
    SIZE = 2
    ROWS = 3
    SORTING = 4
    OFFSET = 5
    COMPRESSED_SIZE = 6


class Chunk(IntEnum):
    """ColumnChunk."""

    FILE_PATH = 1
    OFFSET = 2
    META = 3
    OFFSET_INDEX = 4
    OFFSET_INDEX_LENGTH = 5
    COLUMN_INDEX = 6
    COLUMN_INDEX_LENGTH = 7


class Meta(IntEnum):
    """ColumnMetaData."""

    UNCOMPRESSED_SIZE = 6
    COMPRESSED_SIZE = 7
    KEY_VALUES = 8
    DATA_PAGE = 9
    INDEX_PAGE = 10
    DICTIONARY_PAGE = 11
    ENCODING_STATS = 13
    BLOOM = 14
    BLOOM_LENGTH = 15


def get(struct: Struct, field: int, default: Any = None) -> Any:
    """A field's value."""
    return struct[field][1] if field in struct else default


def put(struct: Struct, field: int, kind: int, value: Any) -> None:
    """Set a field, keeping the fields in the order of their ids."""
    struct[field] = (kind, value)
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
                leaf += not children
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
    file.seek(0, 2)
    size = file.tell()
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
        if File.ENCRYPTION in meta:
            raise DataError(f"{name}: the Parquet file is encrypted; decrypt it first")
        footer = Footer(meta, start, name)
        _check(footer)
    except DataError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{name}: the Parquet file is damaged (its metadata cannot be read: {error})") from None
    if any(Chunk.FILE_PATH in c for g in footer.groups for c in get(g, Group.COLUMNS)):
        raise DataError(f"{name}: the Parquet file keeps its columns in other files; write it as one file first")
    return footer


def _check(footer: Footer) -> None:
    """Raise one of Python's errors if the metadata are not built as their users expect."""
    n_leaves = sum(len(leaves) for _, leaves, _ in footer.fields)
    for group in footer.groups:
        chunks = get(group, Group.COLUMNS)
        if len(chunks) != n_leaves:
            raise ValueError("a column is missing in a row group")
        for chunk in chunks:
            meta = get(chunk, Chunk.META, {})
            numbers = [
                *(get(chunk, field, 0) for field in Chunk if field not in (Chunk.FILE_PATH, Chunk.META)),
                *(get(meta, field, 0) for field in Meta if field not in (Meta.KEY_VALUES, Meta.ENCODING_STATS)),
                *(get(group, field, 0) for field in Group if field not in (Group.COLUMNS, Group.SORTING)),
            ]
            if not all(type(number) is int and number >= 0 for number in numbers):
                raise ValueError("a place or size is not a number")
            if (Chunk.OFFSET_INDEX in chunk) > (Chunk.OFFSET_INDEX_LENGTH in chunk):
                raise ValueError("a page index has no length")
            parts = [
                chunk_span(chunk),
                _span(chunk, Chunk.OFFSET_INDEX, Chunk.OFFSET_INDEX_LENGTH),
                _span(chunk, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH),
                _span(meta, Meta.BLOOM, Meta.BLOOM_LENGTH),
            ]
            if any(end > footer.start for _, end in parts):
                raise ValueError("a part would lie beyond the end")


def _span(struct: Struct, start: int, length: int) -> tuple[int, int]:
    return get(struct, start, 0), get(struct, start, 0) + get(struct, length, 0)


def chunk_span(chunk: Struct) -> tuple[int, int]:
    """First and last-plus-one byte of a column chunk; (0, 0) if it has no page."""
    meta = get(chunk, Chunk.META)
    starts = (get(meta, Meta.DATA_PAGE), get(meta, Meta.DICTIONARY_PAGE), get(meta, Meta.INDEX_PAGE))
    start = min((at for at in starts if at), default=0)
    return start, start + (get(meta, Meta.COMPRESSED_SIZE) if start else 0)


def key_values(footer: Footer) -> dict[bytes, Struct]:
    """The file's own key-value metadata: key to its entry (field 2 is the value)."""
    return {get(entry, 1): entry for entry in get(footer.meta, File.KEY_VALUES, [])}


def add_columns(footer: Footer, elements: Iterable[Struct]) -> None:
    """Add top-level columns without children to the schema."""
    schema = get(footer.meta, File.SCHEMA)
    for element in elements:
        schema.append(element)
        put(schema[0], Element.CHILDREN, I32, get(schema[0], Element.CHILDREN, 0) + 1)
        orders = get(footer.meta, File.COLUMN_ORDERS)
        if orders is not None:
            orders.append({1: (STRUCT, {})})  # TypeDefinedOrder
