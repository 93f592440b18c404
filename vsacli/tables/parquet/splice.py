"""Replacing one column's data in a Parquet file without touching any other byte of data.

:func:`splice` copies the file, except that given column chunks are replaced and chunks of new columns follow after the
last row group; the footer's offsets move accordingly. So the other columns keep their encoding, compression,
statistics and types, including those that Arrow reads but does not write.
"""

from __future__ import annotations

import bisect
import io
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import IO, BinaryIO

from vsacli.errors import DataError, InputError
from vsacli.tables.parquet.footer import MAGIC, Chunk, File, Footer, Group, Meta, chunk_span, get, put, read_footer
from vsacli.tables.parquet.thrift import I64, Struct, decode, encode

_COPY = 1 << 22  # bytes copied at a time


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


@dataclass(frozen=True)
class Changes:
    """What becomes of the columns of a file.

    Attributes
    ----------
    leaf
        Which column chunk of a row group is replaced,
    replaced
        in which row groups.
    new_chunk
        The chunk to take its place in a row group. Asked for one row group at a time, in order of their data.
    added
        The chunks of the added columns in a row group.
    gone
        Which column chunks of every row group are left out.
    """

    leaf: int
    replaced: set[int]
    new_chunk: Callable[[int], NewChunk]
    added: Callable[[int], list[NewChunk]]
    gone: Collection[int] = ()


def splice(source: BinaryIO, sink: IO[bytes], footer: Footer, changes: Changes) -> None:
    """Copy a Parquet file with other data in one column, with more columns, and without others.

    Parameters
    ----------
    source
        The whole file, seekable.
    footer
        Its metadata; changed in place, and written with whatever the caller changed in it before.
    changes

    Raises
    ------
    DataError
        The metadata contradict each other.
    """
    leaf, replaced, gone = changes.leaf, changes.replaced, changes.gone
    cuts, indexes = _cuts(source, footer, changes)
    ends: list[int] = []
    gains: list[int] = [0]  # how far what follows the first i cuts has moved
    at = 0
    for cut in cuts:
        if cut.start < at or cut.end > footer.start:
            raise DataError(f"{footer.name}: the Parquet file is damaged (its parts overlap)")
        _copy(source, sink, at, cut.start, footer.name)
        at, size = cut.end, 0
        if cut.group is not None:
            new = changes.new_chunk(cut.group)
            _replace_chunk(footer.groups[cut.group], leaf, new, cut.start + gains[-1])
            size = sink.write(new.data)
        ends.append(cut.end)
        gains.append(gains[-1] + size - (cut.end - cut.start))
    _copy(source, sink, at, footer.start, footer.name)
    end = footer.start + gains[-1]

    def move(offset: int) -> int:
        return offset + gains[bisect.bisect_right(ends, offset)]

    for g, group in enumerate(footer.groups):
        if get(group, Group.OFFSET):
            put(group, Group.OFFSET, move(get(group, Group.OFFSET)))
        for j, chunk in enumerate(get(group, Group.COLUMNS)):
            if not (j == leaf and g in replaced):
                _move_chunk(chunk, move)
        for new in changes.added(g):
            get(group, Group.COLUMNS).append(new.placed(end))
            end += sink.write(new.data)
            _add_size(group, new.chunk, 1)
        _remove_chunks(group, gone)
    for chunk, index in indexes:
        for page in get(index, 1, []):
            page[1] = (I64, move(get(page, 1)))
        data = encode(index)
        put(chunk, Chunk.OFFSET_INDEX, end)
        put(chunk, Chunk.OFFSET_INDEX_LENGTH, len(data))
        end += sink.write(data)
    data = encode(footer.meta)
    sink.write(data + len(data).to_bytes(4, "little") + MAGIC)


def _cuts(source: BinaryIO, footer: Footer, changes: Changes) -> tuple[list[_Cut], list[tuple[Struct, Struct]]]:
    """What to leave out, in file order: chunks that are replaced or gone and what indexes them, all offset indexes.

    The offset indexes of chunks that stay are returned, to be rewritten: they hold offsets.
    """
    cuts: list[_Cut] = []
    indexes: list[tuple[Struct, Struct]] = []
    if not changes.replaced and not changes.gone:
        return cuts, indexes
    for g, group in enumerate(footer.groups):
        for j, chunk in enumerate(get(group, Group.COLUMNS)):
            new = j == changes.leaf and g in changes.replaced
            goes = new or j in changes.gone
            offset_index = get(chunk, Chunk.OFFSET_INDEX)
            if offset_index:
                cuts.append(_Cut(offset_index, offset_index + get(chunk, Chunk.OFFSET_INDEX_LENGTH)))
                index = None if goes else _read_index(source, cuts[-1])
                if index is not None:
                    indexes.append((chunk, index))
                elif not goes:
                    _drop_indexes(chunk)
            if not goes:
                continue
            cuts.append(_Cut(*chunk_span(chunk), g if new else None))
            for struct, where, length in (
                (chunk, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH),
                (get(chunk, Chunk.META), Meta.BLOOM, Meta.BLOOM_LENGTH),
            ):
                if get(struct, where) and get(struct, length):
                    cuts.append(_Cut(get(struct, where), get(struct, where) + get(struct, length)))
    return sorted(cuts, key=lambda cut: (cut.start, cut.end)), indexes


def _read_index(source: BinaryIO, cut: _Cut) -> Struct | None:
    """An offset index; None if it is damaged, which no reader of all data notices."""
    source.seek(cut.start)
    try:
        index, _ = decode(source.read(cut.end - cut.start))
        return index if all(type(get(page, 1)) is int for page in get(index, 1)) else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _copy(source: BinaryIO, sink: IO[bytes], start: int, end: int, name: str) -> None:
    while start < end:
        try:
            source.seek(start)
            data = source.read(min(_COPY, end - start))
        except OSError as error:
            raise InputError(f"{name} cannot be read any more: {error.strerror or error}") from None
        if not data:
            raise InputError(f"{name}: the Parquet file became shorter while it was read")
        sink.write(data)
        start += len(data)


def _replace_chunk(group: Struct, leaf: int, new: NewChunk, at: int) -> None:
    chunks = get(group, Group.COLUMNS)
    old, chunk = chunks[leaf], new.placed(at)
    note = get(get(old, Chunk.META), Meta.KEY_VALUES)
    if note is not None:
        put(get(chunk, Chunk.META), Meta.KEY_VALUES, note)
    _add_size(group, old, -1)
    _add_size(group, chunk, 1)
    chunks[leaf] = chunk
    if any(get(by, 1) == leaf for by in get(group, Group.SORTING, [])):
        del group[Group.SORTING]  # the filled column need not be sorted any more


def _remove_chunks(group: Struct, gone: Collection[int]) -> None:
    chunks, sorting = get(group, Group.COLUMNS), get(group, Group.SORTING, [])
    if any(get(by, 1) in gone for by in sorting):
        del group[Group.SORTING]
    else:
        for by in sorting:
            by[1] = (by[1][0], get(by, 1) - sum(j < get(by, 1) for j in gone))
    for j in sorted(gone, reverse=True):
        _add_size(group, chunks[j], -1)
        del chunks[j]


def _add_size(group: Struct, chunk: Struct, sign: int) -> None:
    meta = get(chunk, Chunk.META)
    for total, part in ((Group.SIZE, Meta.UNCOMPRESSED_SIZE), (Group.COMPRESSED_SIZE, Meta.COMPRESSED_SIZE)):
        if get(group, total) is not None:
            put(group, total, get(group, total) + sign * get(meta, part, 0))


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
            put(struct, field, move(get(struct, field)))


def _drop_indexes(chunk: Struct) -> None:
    for field in (Chunk.OFFSET_INDEX, Chunk.OFFSET_INDEX_LENGTH, Chunk.COLUMN_INDEX, Chunk.COLUMN_INDEX_LENGTH):
        chunk.pop(field, None)
    for field in (Meta.BLOOM, Meta.BLOOM_LENGTH):
        get(chunk, Chunk.META).pop(field, None)
