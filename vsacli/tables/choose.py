"""Choose and fit the encoder of a column: the rules in the order in which they are tried."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables import columnkinds
from vsacli.tables.distinct import Distinct, distinct_cells
from vsacli.tables.encoders import (
    BooleanEncoder,
    CategoryEncoder,
    ColumnEncoder,
    FlagEncoder,
    NumberEncoder,
    as_text,
    is_text,
    unite_spellings,
)
from vsacli.tables.numbers import NumberStyle, number_style, parse_numbers, plain_numbers, to_float64
from vsacli.tables.scaling import RobustScale

NUMERIC_SHARE = 0.8
"""Share of the observed cells that must be numbers for a column of text to be one of numbers ..."""

MIXED_SHARE = 0.5
"""... or this share, if the numbers take more than `MAX_ONE_HOT` values and the words are few."""

WORD_SHARE = 0.02
"""Share of words among numbers from which they get an attribute of their own ("is not a number")."""


class LeftOut(Exception):
    """A column that becomes no attribute; the message is the reason."""


Fitted = tuple[ColumnEncoder, np.ndarray]


def fit_column(name: str, column: pa.Array, *, decimal: str, seed: int) -> Fitted:
    """Decide what a column is, fit its encoder and encode it.

    Parameters
    ----------
    name : str
    column : pa.Array, length n
        Strings as in the file, "" where empty, or native Arrow values.
    decimal : "." or ","
    seed : int

    Returns
    -------
    encoder : ColumnEncoder
    encoded : ndarray of float32, shape (n, m)

    Raises
    ------
    LeftOut
        If the column is an id, constant, empty, or holds no cell values.
    """
    column = simplified(column)
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        raise LeftOut("empty: no cell holds a value")
    if pa.types.is_nested(kind):
        raise LeftOut("nested values, not cells")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        raise LeftOut("bytes, not values")
    if pa.types.is_boolean(kind):
        return _fit_numbers(name, column, to_float64(column), NumberStyle())
    if is_text(column):
        numbers = plain_numbers(column, decimal)
        if numbers is not None:
            return _fit_numbers(name, column, numbers, NumberStyle(decimal))
        return _fit_text(name, distinct_cells(column), decimal, seed)
    return _fit_numbers(name, column, to_float64(column), NumberStyle())


def simplified(column: pa.Array) -> pa.Array:
    """Bring an Arrow column to one of few types: large_string, float64, or a native type that casts to float64.

    Dictionaries are decoded; durations become seconds, times seconds since midnight; string_view and
    binary_view become large_string and large_binary.
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return simplified(column.storage)
    if pa.types.is_dictionary(kind):
        return simplified(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return simplified(pc.run_end_decode(column))
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column


def _fit_numbers(name: str, column: pa.Array, x: np.ndarray, style: NumberStyle) -> Fitted:
    observed = x[~np.isnan(x)]
    if not len(observed):
        raise LeftOut("empty: no cell holds a value")
    if bool(np.all(observed == observed[0])):
        if len(observed) == len(x):
            raise LeftOut(f"constant: every cell is {observed[0]:g}")
        if observed[0] == 1 and len(observed) > 1:
            return FlagEncoder(), np.isfinite(x).astype(np.float32)[:, None]
    reason = columnkinds.id_reason_of_numbers(name, x) or columnkinds.id_reason_of_long_numbers(x, column)
    if reason:
        raise LeftOut(reason)
    encoder = NumberEncoder(style, RobustScale.fit(x))
    return encoder, encoder.of_numbers(x)


def _fit_text(name: str, cells: Distinct, decimal: str, seed: int) -> Fitted:
    n_rows = len(cells.codes)
    if not len(cells.values):
        raise LeftOut("empty: no cell holds a value")
    booleans = columnkinds.boolean_numbers(cells.values)
    if booleans is not None and len(np.unique(booleans)) == 2:
        return BooleanEncoder(), cells.take(booleans.astype(np.float32)[:, None])
    fitted = _fit_mostly_numbers(name, cells, decimal)
    if fitted is not None:
        return fitted
    united = unite_spellings(cells)
    if len(united.values) == 1:
        if united.n_observed == n_rows:
            raise LeftOut(f"constant: every cell is {cells.values[0].as_py()[:40]}")
        return FlagEncoder(), (united.codes >= 0).astype(np.float32)[:, None]
    reason = columnkinds.id_reason_of_text(name, united)
    if reason:
        raise LeftOut(reason)
    encoder = CategoryEncoder.fit(united)
    if encoder is not None:
        return encoder, encoder.of_cells(united)
    from vsacli.tables.texts import TextEncoder  # imports scikit-learn and skrub

    return TextEncoder.fit(cells, seed)


def _fit_mostly_numbers(name: str, cells: Distinct, decimal: str) -> Fitted | None:
    """Fit a column of text whose cells are mostly numbers, or return None."""
    style = number_style(cells, decimal)
    numbers = parse_numbers(cells.values, style)
    is_number = ~np.isnan(numbers)
    is_word = ~is_number & ~columnkinds.numeric_blanks(cells.values)
    n_numbers, n_words = int(cells.counts[is_number].sum()), int(cells.counts[is_word].sum())
    if not n_numbers:
        return None
    share = n_numbers / (n_numbers + n_words)
    few_words = int(is_word.sum()) <= 3 and len(np.unique(numbers[is_number])) > 12
    if share < NUMERIC_SHARE and not (share >= MIXED_SHARE and few_words):
        return None
    rows = cells.take(numbers)
    _, fitted = _fit_numbers(name, pc.drop_null(cells.values.filter(pa.array(is_number))), rows, style)
    has_words = n_words >= max(2.0, WORD_SHARE * cells.n_observed)
    encoder = NumberEncoder(style, RobustScale.fit(rows), words=has_words)
    return encoder, encoder.of_cells(cells, numbers) if has_words else fitted
