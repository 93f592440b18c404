"""Arrow types that a label column may have, and the way from a number back into each."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


SEVERAL_VALUES = "each cell holds several values (a list or a record)"
"""Why a nested column gives no attribute."""


def is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals; not booleans, dates or durations."""
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_nested(kind: pa.DataType) -> bool:
    """Lists, maps and structs, also under a name of their own (an extension type)."""
    import pyarrow as pa

    return pa.types.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)


def not_labels(name: str, kind: object) -> DataError:
    """The error for a nested column that is to hold labels."""
    return DataError(f"column {name!r} holds {kind}, not labels; choose another column with --target")


def plain(column: pa.Array | pa.ChunkedArray, name: str) -> tuple[pa.Array, pa.DataType, bool]:
    """One array without dictionary, whose distinct values Arrow can find.

    Returns
    -------
    cells
        The values; text as ``large_string``.
    value_type
        The column's own value type (that of the dictionary, if it has one).
    categorical
        The column is dictionary-encoded, so its values are categories.

    Raises
    ------
    DataError
        The column is nested or of another type that cannot hold labels.
    """
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
        column = column.cast(kind)
    categorical = pa.types.is_dictionary(kind)
    value_type = kind.value_type if categorical else kind
    if pa.types.is_nested(value_type):
        raise not_labels(name, kind)
    working = value_type
    if is_text(value_type):
        working = pa.large_string()
    elif pa.types.is_float16(value_type):
        working = pa.float32()
    if isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([_cast(chunk, value_type, working) for chunk in column.chunks], type=working)
        cells = column.combine_chunks() if column.num_chunks else pa.array([], type=working)
        if isinstance(cells, pa.ChunkedArray):
            cells = pa.concat_arrays(cells.chunks)
    else:
        cells = _cast(column, value_type, working)
    return cells, value_type, categorical


def _cast(array: pa.Array, value_type: pa.DataType, working: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode() if len(array) else pa.array([], type=value_type)
    return array if array.type == working else array.cast(working)


def as_text(values: pa.Array) -> list[str]:
    """Each value (no nulls) as a person would read it."""
    import pyarrow as pa

    if is_text(values.type):
        return values.to_pylist()
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type) or _is_fixed_binary(values.type):
        return [_text_of(value) for value in values.to_pylist()]
    return values.cast(pa.large_string()).to_pylist()


def _is_fixed_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind)


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def as_numbers(values: pa.Array) -> np.ndarray:
    """float64 of integers, floats or decimals (no nulls)."""
    import pyarrow as pa

    return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def decimals_of(values: pa.Array) -> int:
    """Most digits after the decimal point in the shortest spelling of finite numbers."""
    import pyarrow as pa

    if pa.types.is_integer(values.type):
        return 0
    if pa.types.is_decimal(values.type):
        return max(values.type.scale, 0)
    most = 0
    for value in values.to_numpy(zero_copy_only=False):
        if np.isfinite(value):
            spelled = np.format_float_positional(value, trim="-")  # shortest that reads back as the same value
            most = max(most, len(spelled.partition(".")[2]))
    return most


def numbers_to_arrow(values: np.ndarray, kind: pa.DataType, decimals: int) -> pa.Array:
    """Finite float64 numbers as values of a number type: rounded to ``decimals`` and kept within the type's range."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        whole = (min(max(int(value), int(info.min)), int(info.max)) for value in np.rint(values).tolist())
        return pa.array(list(whole), type=kind)
    if pa.types.is_decimal(kind):
        step = decimal.Decimal(1).scaleb(-kind.scale)
        most = (decimal.Decimal(10) ** kind.precision - 1).scaleb(-kind.scale)
        with decimal.localcontext(prec=max(kind.precision, 17) + 320):
            exact = (decimal.Decimal(value).quantize(step) for value in values.tolist())
            return pa.array([min(max(value, -most), most) for value in exact], type=kind)
    rounded = np.round(values, decimals) if decimals < 15 else values
    dtype = np.dtype(kind.to_pandas_dtype())
    limit = float(np.finfo(dtype).max)
    return pa.array(np.clip(rounded, -limit, limit).astype(dtype), type=kind)
