"""Values as a Parquet file stores them, where Arrow would store them otherwise.

Arrow gives a decimal the fewest bytes that its precision needs, and an unsigned integer of 32 bits four of them; other
writers take 16, or text of any length, or eight. A column keeps what it has: its chunks hold plain bytes and integers,
and only the schema says what they mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vsacli.tables.parquet.footer import Element, get
from vsacli.tables.parquet.thrift import BINARY, I64, Struct

if TYPE_CHECKING:
    import pyarrow as pa

_INT32, _INT64, _BYTE_ARRAY, _FIXED = 1, 2, 6, 7  # physical types
_WIDEST = 32  # bytes of a decimal


def storage_type(kind: pa.DataType, element: Struct) -> pa.DataType | None:
    """The type of integers or bytes in which a schema element stores decimals or integers; None for other values."""
    import pyarrow as pa

    stored = {
        _INT32: pa.int32(),
        _INT64: pa.int64(),
        _BYTE_ARRAY: pa.binary(),
        _FIXED: pa.binary(get(element, Element.LENGTH, 0) or _WIDEST),
    }.get(get(element, Element.TYPE, -1))
    fits = pa.types.is_decimal(kind) or (pa.types.is_integer(kind) and stored in (pa.int32(), pa.int64()))
    return stored if fits else None


def as_stored(cells: pa.Array, stored: pa.DataType) -> pa.Array:
    """Decimals or integers as what `storage_type` says: of a decimal its unscaled value, in bytes the highest first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_decimal(cells.type):
        return cells.cast(stored, safe=False)
    wide = cells.cast(pa.decimal256(max(cells.type.precision, 39), cells.type.scale))
    raw = np.frombuffer(wide.buffers()[1], np.uint8)[wide.offset * _WIDEST :][: len(wide) * _WIDEST]
    low_first = raw.reshape(len(wide), _WIDEST)
    valid = pc.is_valid(wide)
    if pa.types.is_integer(stored):
        width = stored.bit_width // 8
        numbers = np.ascontiguousarray(low_first[:, :width]).view(f"<i{width}").reshape(len(wide))
        return pa.array(numbers, stored, mask=~valid.to_numpy(zero_copy_only=False))
    width = stored.byte_width if pa.types.is_fixed_size_binary(stored) else _least_width(cells.type.precision)
    above = np.repeat(np.where(low_first[:, -1:] > 127, 255, 0).astype(np.uint8), max(width - _WIDEST, 0), axis=1)
    bytes_ = np.ascontiguousarray(np.concatenate([low_first, above], axis=1)[:, :width][:, ::-1])
    fixed = pa.Array.from_buffers(pa.binary(width), len(wide), [valid.buffers()[1], pa.py_buffer(bytes_)])
    return fixed if fixed.type == stored else fixed.cast(stored)


def _least_width(precision: int) -> int:
    return (int(10**precision - 1).bit_length() + 8) // 8


def statistics(cells: pa.Array, stored: pa.DataType) -> Struct:
    """Parquet's statistics of decimals in bytes, by their values: Arrow would compare the bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    told: Struct = {3: (I64, cells.null_count)}
    if cells.null_count < len(cells):
        ends = pc.min_max(cells)
        low, high = as_stored(pa.array([ends["min"].as_py(), ends["max"].as_py()], cells.type), stored).to_pylist()
        told |= {5: (BINARY, high), 6: (BINARY, low)}
    return told
