"""Helpers for Arrow types: those that columns may have, and the ways from values to text and numbers and back."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.errors import DataError

SEVERAL_VALUES = "each cell holds several values (a list or a record)"
"""Why a nested column gives no attribute."""


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals; not booleans, dates or durations."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_nested(kind: pa.DataType) -> bool:
    """Lists, maps and structs, also under a name of their own (an extension type)."""
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
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode() if len(array) else pa.array([], type=value_type)
    return array if array.type == working else array.cast(working)


def readable(values: pa.Array) -> list[str]:
    """Each value (no nulls) as a person would read it."""
    if is_text(values.type):
        return values.to_pylist()
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type) or _is_fixed_binary(values.type):
        return [_text_of(value) for value in values.to_pylist()]
    return values.cast(pa.large_string()).to_pylist()


def _is_fixed_binary(kind: pa.DataType) -> bool:
    return pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind)


def _text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def to_float64(numbers: pa.Array) -> np.ndarray:
    """Arrow numbers (or booleans) to float64 with NaN for null; integers beyond 2^53 are rounded."""
    if not pa.types.is_float64(numbers.type):
        numbers = numbers.cast(pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def as_text(cells: pa.Array) -> pa.Array:
    """The cells as a text table holds them: strings, "" for no value."""
    try:
        return pc.fill_null(cells.cast(pa.large_string()), "")
    except pa.ArrowException:  # nested types have no cast to text
        return pa.array(["" if value is None else str(value) for value in cells.to_pylist()], pa.large_string())


def spelled(column: pa.Array) -> pa.Array:
    """Spell a column of simple Arrow values as strings: true, 3 (not 3.0), 2.5, 2024-01-31; null without a value."""
    if is_text(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        return spelled(column.dictionary_decode())
    if pa.types.is_floating(column.type):
        text = column.cast(pa.float64()).cast(pa.large_string())
        return pc.replace_substring_regex(text, r"\.0$", "")
    if pa.types.is_large_binary(column.type):
        return pa.nulls(len(column), pa.large_string())
    try:
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        return pa.nulls(len(column), pa.large_string())


def simplified(column: pa.Array) -> pa.Array:
    """Bring an Arrow column to one of few types.

    Strings become large_string, bytes large_binary, decimals float64, durations and times of day float64 seconds;
    a dictionary keeps its codes unless its values are numbers with a fraction, dates or the like.
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return simplified(column.storage)
    if pa.types.is_run_end_encoded(kind):
        return simplified(pc.run_end_decode(column))
    if pa.types.is_dictionary(kind):
        value = kind.value_type
        declared = pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_integer(value)
        return column if declared else simplified(column.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        return pc.divide(column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.float64()), ticks)
    return column


def decimals_of(values: pa.Array) -> int:
    """Most digits after the decimal point in the shortest spelling of finite numbers."""
    if pa.types.is_integer(values.type):
        return 0
    if pa.types.is_decimal(values.type):
        return max(values.type.scale, 0)
    most = 0
    for value in values.to_numpy(zero_copy_only=False):
        if np.isfinite(value):
            shortest = np.format_float_positional(value, trim="-")  # that reads back as the same value
            most = max(most, len(shortest.partition(".")[2]))
    return most


def numbers_to_arrow(values: np.ndarray, kind: pa.DataType, decimals: int) -> pa.Array:
    """Finite float64 numbers as values of a number type: rounded to ``decimals`` and kept within the type's range."""
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
