"""Cells of a text table: from bytes to values and back. Quotes are added and removed here; nothing is interpreted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vsacli.tables.text.scanner import CR, LF, QUOTE, Bytes, Dialect, Positions

if TYPE_CHECKING:
    import pyarrow as pa

_ESCAPED = re.compile(rb'(?:[^"\\]++|\\.|""|\\\Z)*+', re.DOTALL)
_ESCAPE = re.compile(rb'\\["\\]|""')
_EMPTY = np.zeros(0, dtype=np.uint8)


def gather(data: Bytes, first: Positions, stop: Positions) -> tuple[Bytes, Positions]:
    """Copy the stretches `data[first[k]:stop[k]]` together.

    Returns
    -------
    text : uint8[sum of the lengths]
    offsets : int64[r + 1]
        Where each stretch begins in `text`, and the end of the last.
    """
    offsets = np.concatenate(([0], np.cumsum(stop - first)))
    if not offsets[-1]:
        return _EMPTY, offsets
    index = np.arange(offsets[-1])
    index += np.repeat(first - offsets[:-1], stop - first)
    return data[index], offsets


def unquoted(data: Bytes, first: Positions, stop: Positions, dialect: Dialect) -> tuple[Bytes, Positions]:
    """Copy cells together without their quotes, doubled (and escaped) quotes made single; as `gather`."""
    if not dialect.quoting or not first.size:
        return gather(data, first, stop)
    starts_quoted = is_quoted(data, first, stop)
    if not starts_quoted.any():
        return gather(data, first, stop)
    length = stop - first
    plain = starts_quoted & (length >= 2) & (data[np.maximum(stop - 1, 0)] == QUOTE)
    if dialect.escape or (plain != starts_quoted).any():  # text after the closing quote
        return _unquoted_one_by_one(data, first, stop, dialect.escape)
    text, offsets = gather(data, first + plain, stop - plain)
    inner = np.flatnonzero(text == QUOTE)
    if inner.size:
        inner = inner[plain[np.searchsorted(offsets, inner, side="right") - 1]]
    if inner.size:
        # Inside quotes they come in pairs; one of each pair is removed.
        cell = np.searchsorted(offsets, inner, side="right")
        if inner.size % 2 or (inner[1::2] - inner[::2] != 1).any() or (cell[1::2] != cell[::2]).any():
            return _unquoted_one_by_one(data, first, stop, escape=False)
        gone = inner[1::2]
        keep = np.ones(text.size, dtype=bool)
        keep[gone] = False
        text, offsets = text[keep], offsets - np.searchsorted(gone, offsets)
    return text, offsets


def _unquoted_one_by_one(data: Bytes, first: Positions, stop: Positions, escape: bool) -> tuple[Bytes, Positions]:
    values = [unquote(data[a:b].tobytes(), escape) for a, b in zip(first.tolist(), stop.tolist(), strict=True)]
    offsets = np.concatenate(([0], np.cumsum([len(v) for v in values]))).astype(np.int64)
    return np.frombuffer(b"".join(values), dtype=np.uint8), offsets


def unquote(cell: bytes, escape: bool = False) -> bytes:
    """Return the value of one cell of the file, as `csv.reader` does.

    With `escape`, a backslash in a quoted cell takes its meaning from a quote or backslash behind it.
    """
    if not cell.startswith(b'"'):
        return cell
    if escape:
        inner = _ESCAPED.match(cell, 1)
        assert inner is not None
        return _ESCAPE.sub(lambda found: found[0][1:], inner[0]) + cell[inner.end() + 1 :]
    at, value = 1, bytearray()
    while True:
        close = cell.find(b'"', at)
        if close < 0:
            return bytes(value + cell[at:])
        value += cell[at:close]
        if cell[close + 1 : close + 2] != b'"':
            return bytes(value + cell[close + 1 :])
        value += b'"'
        at = close + 2


def is_quoted(data: Bytes, first: Positions, stop: Positions) -> np.ndarray:
    """Say of each cell whether it begins with a quote; bool[r]."""
    return (stop > first) & (data[np.minimum(first, data.size - 1)] == QUOTE) if data.size else stop > first


def quoted(values: pa.Array, dialect: Dialect, always: bool) -> pa.Array:
    """Spell values as cells: quoted if need be, or `always`.

    Parameters
    ----------
    values : large_string[r]
        Without nulls.

    Raises
    ------
    ValueError
        A value needs quotes in a file without quoting. Its argument is the value.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    special = [chr(b) for b in (LF, CR) + ((dialect.delimiter,) if dialect.delimiter is not None else ())]
    if dialect.quoting:
        special.append(chr(QUOTE))
    needed = pa.array(np.full(len(values), always and dialect.quoting))
    for mark in special:
        needed = pc.or_(needed, pc.match_substring(values, mark))
    if not pc.any(needed).as_py():
        return values
    if not dialect.quoting:
        raise ValueError(values.filter(needed)[0].as_py())
    mark = pa.scalar('"', values.type)
    inner = values
    if dialect.escape:
        inner = pc.replace_substring(inner, "\\", "\\\\")
    inner = pc.replace_substring(inner, '"', '\\"' if dialect.escape else '""')
    spelled = pc.binary_join_element_wise(mark, inner, mark, pa.scalar("", values.type))
    return pc.if_else(needed, spelled, values)
