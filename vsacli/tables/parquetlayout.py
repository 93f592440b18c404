"""Where things lie in a Parquet file, and how to replace one column's data without touching any other byte of data.

A file is ``PAR1``, column chunks row group by row group, page indexes and Bloom filters, the footer (metadata in
Thrift), the footer's length, ``PAR1``. :func:`splice` copies all of it, except that given column chunks are replaced
and chunks of new columns follow after the last row group; the footer's offsets move accordingly. So the other columns
keep their encoding, compression, statistics and types, including those that Arrow reads but does not write.
Field numbers: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import bisect
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import IO, Any, BinaryIO

from vsacli.errors import DataError, InputError
from vsacli.tables.thrift import I32, I64, STRUCT, Struct, decode, encode

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_COPY = 1 << 22  # bytes copied at a time


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
    CRYPTO = 8


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
    """The metadata of a Parquet file, and where in the file it starts."""

    meta: Struct
    start: int

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
        It is no Parquet file, or an encrypted or damaged one.
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
        raise DataError(f"{name}: this is no Parquet file (it does not start with PAR1)")
    if size < 12 or tail[4:] != MAGIC:
        raise InputError(f"{name}: the Parquet file is cut off (its end is missing); copy or download it again")
    length = int.from_bytes(tail[:4], "little")
    start = size - 8 - length
    if start < 4:
        raise DataError(f"{name}: the Parquet file is damaged (its metadata would be longer than the file)")
    file.seek(start)
    try:
        meta, _ = decode(file.read(length))
        footer = Footer(meta, start)
        _ = footer.fields
    except (ValueError, IndexError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise DataError(f"{name}: the Parquet file is damaged (its metadata cannot be read: {error})") from None
    if any(Chunk.FILE_PATH in c for g in footer.groups for c in get(g, Group.COLUMNS)):
        raise DataError(f"{name}: the Parquet file keeps its columns in other files; write it as one file first")
    if File.ENCRYPTION in meta or any(Chunk.CRYPTO in c for g in footer.groups for c in get(g, Group.COLUMNS)):
        raise DataError(f"{name}: the Parquet file is encrypted; decrypt it first")
    return footer


def chunk_span(chunk: Struct) -> tuple[int, int]:
    """First and last-plus-one byte of a column chunk; (0, 0) if it has no page."""
    meta = get(chunk, Chunk.META)
    starts = (get(meta, Meta.DATA_PAGE), get(meta, Meta.DICTIONARY_PAGE), get(meta, Meta.INDEX_PAGE))
    start = min((at for at in starts if at), default=0)
    return start, start + (get(meta, Meta.COMPRESSED_SIZE) if start else 0)


@dataclass
class NewChunk:
    """A column chunk that Arrow wrote: its bytes, and its metadata as long as they lay at ``start``."""

    data: memoryview
    chunk: Struct
    start: int

    def placed(self, at: int) -> Struct:
        """The chunk's metadata now that its bytes lie at ``at``."""
        _move_chunk(self.chunk, lambda offset: offset - self.start + at)
        return self.chunk


def new_chunks(data: memoryview) -> tuple[list[NewChunk], list[Struct]]:
    """The column chunks of a whole small Parquet file of one row group, and its schema elements less the root."""
    footer = read_footer(io.BytesIO(data), "new columns")
    chunks = []
    for chunk in get(footer.groups[0], Group.COLUMNS):
        start, end = chunk_span(chunk)
        _drop_indexes(chunk)
        chunks.append(NewChunk(data[start:end], chunk, start))
    return chunks, get(footer.meta, File.SCHEMA)[1:]


@dataclass(frozen=True)
class _Cut:
    """Bytes of the old file that are left out, and the row group whose new chunk takes their place, if any."""

    start: int
    end: int
    group: int | None = None


def splice(
    source: BinaryIO,
    sink: IO[bytes],
    footer: Footer,
    leaf: int,
    replaced: set[int],
    new_chunk: Callable[[int], NewChunk],
    added: Callable[[int], list[NewChunk]],
) -> None:
    """Copy a Parquet file with other data in one column, and with more columns.

    Parameters
    ----------
    source
        The whole file, seekable.
    footer
        Its metadata; changed in place, and written with whatever the caller changed in it before.
    leaf
        Which column chunk of a row group is replaced,
    replaced
        in which row groups.
    new_chunk
        The chunk to take its place in a row group. Asked for one row group at a time, in order of their data.
    added
        The chunks of the added columns in a row group.

    Raises
    ------
    DataError
        The metadata contradict each other.
    """
    cuts, indexes = _cuts(source, footer, leaf, replaced)
    ends: list[int] = []
    gains: list[int] = [0]  # how far what follows the first i cuts has moved
    at = 0
    for cut in cuts:
        if cut.start < at or cut.end > footer.start:
            raise DataError("the Parquet file is damaged (its parts overlap)")
        _copy(source, sink, at, cut.start)
        at, size = cut.end, 0
        if cut.group is not None:
            new = new_chunk(cut.group)
            _replace_chunk(footer.groups[cut.group], leaf, new, cut.start + gains[-1])
            size = sink.write(new.data)
        ends.append(cut.end)
        gains.append(gains[-1] + size - (cut.end - cut.start))
    _copy(source, sink, at, footer.start)
    end = footer.start + gains[-1]

    def move(offset: int) -> int:
        return offset + gains[bisect.bisect_right(ends, offset)]

    for g, group in enumerate(footer.groups):
        if get(group, Group.OFFSET):
            put(group, Group.OFFSET, I64, move(get(group, Group.OFFSET)))
        for j, chunk in enumerate(get(group, Group.COLUMNS)):
            if not (j == leaf and g in replaced):
                _move_chunk(chunk, move)
        for new in added(g):
            get(group, Group.COLUMNS).append(new.placed(end))
            end += sink.write(new.data)
            _add_size(group, new.chunk, 1)
    for chunk, index in indexes:
        for page in get(index, 1, []):
            put(page, 1, I64, move(get(page, 1)))
        data = encode(index)
        put(chunk, Chunk.OFFSET_INDEX, I64, end)
        put(chunk, Chunk.OFFSET_INDEX_LENGTH, I32, len(data))
        end += sink.write(data)
    data = encode(footer.meta)
    sink.write(data + len(data).to_bytes(4, "little") + MAGIC)


def _cuts(
    source: BinaryIO, footer: Footer, leaf: int, replaced: set[int]
) -> tuple[list[_Cut], list[tuple[Struct, Struct]]]:
    """What to leave out, in file order: the replaced chunks and what indexes them, and all offset indexes.

    The offset indexes of chunks that stay are returned, to be written anew: they hold offsets.
    """
    cuts: list[_Cut] = []
    indexes: list[tuple[Struct, Struct]] = []
    if not replaced:
        return cuts, indexes
    for g, group in enumerate(footer.groups):
        for j, chunk in enumerate(get(group, Group.COLUMNS)):
            goes = j == leaf and g in replaced
            offset_index = get(chunk, Chunk.OFFSET_INDEX)
            if offset_index:
                cuts.append(_Cut(offset_index, offset_index + get(chunk, Chunk.OFFSET_INDEX_LENGTH)))
                if not goes:
                    indexes.append((chunk, _read_struct(source, cuts[-1])))
            if not goes:
                continue
            cuts.append(_Cut(*chunk_span(chunk), g))
            for struct, where, length in (
                (chunk, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH),
                (get(chunk, Chunk.META), Meta.BLOOM, Meta.BLOOM_LENGTH),
            ):
                if get(struct, where) and get(struct, length):
                    cuts.append(_Cut(get(struct, where), get(struct, where) + get(struct, length)))
    return sorted(cuts, key=lambda cut: (cut.start, cut.end)), indexes


def _read_struct(source: BinaryIO, cut: _Cut) -> Struct:
    source.seek(cut.start)
    try:
        return decode(source.read(cut.end - cut.start))[0]
    except ValueError as error:
        raise DataError(f"the Parquet file is damaged (its page index cannot be read: {error})") from None


def _copy(source: BinaryIO, sink: IO[bytes], start: int, end: int) -> None:
    source.seek(start)
    while start < end:
        data = source.read(min(_COPY, end - start))
        if not data:
            raise InputError("the Parquet file became shorter while it was read")
        sink.write(data)
        start += len(data)


def _replace_chunk(group: Struct, leaf: int, new: NewChunk, at: int) -> None:
    chunks = get(group, Group.COLUMNS)
    old, chunk = chunks[leaf], new.placed(at)
    note = get(old, Chunk.META).get(Meta.KEY_VALUES)
    if note is not None:
        put(get(chunk, Chunk.META), Meta.KEY_VALUES, *note)
    _add_size(group, old, -1)
    _add_size(group, chunk, 1)
    chunks[leaf] = chunk
    if any(get(by, 1) == leaf for by in get(group, Group.SORTING, [])):
        del group[Group.SORTING]  # the filled column need not be sorted any more


def _add_size(group: Struct, chunk: Struct, sign: int) -> None:
    meta = get(chunk, Chunk.META)
    for total, part in ((Group.SIZE, Meta.UNCOMPRESSED_SIZE), (Group.COMPRESSED_SIZE, Meta.COMPRESSED_SIZE)):
        if total in group:
            put(group, total, I64, get(group, total) + sign * get(meta, part))


def _move_chunk(chunk: Struct, move: Callable[[int], int]) -> None:
    meta = get(chunk, Chunk.META)
    for struct, field in (
        (chunk, Chunk.OFFSET),
        (chunk, Chunk.COLUMN_INDEX),
        (meta, Meta.DATA_PAGE),
        (meta, Meta.INDEX_PAGE),
        (meta, Meta.DICTIONARY_PAGE),
        (meta, Meta.BLOOM),
    ):
        if get(struct, field):
            put(struct, field, I64, move(get(struct, field)))


def _drop_indexes(chunk: Struct) -> None:
    for field in (Chunk.OFFSET_INDEX, Chunk.OFFSET_INDEX_LENGTH, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH):
        chunk.pop(field, None)
    for field in (Meta.BLOOM, Meta.BLOOM_LENGTH):
        get(chunk, Chunk.META).pop(field, None)


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
