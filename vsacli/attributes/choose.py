"""Choose and fit the encoder of a column: the rules in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes import column_kinds
from vsacli.attributes.codes import CodeEncoder, repeats
from vsacli.attributes.column_encoders import (
    MAX_ONE_HOT,
    BooleanEncoder,
    CategoryEncoder,
    ColumnEncoder,
    FlagEncoder,
    NumberEncoder,
    joined,
    unite_spellings,
    word_rows,
)
from vsacli.attributes.numbers import NumberNotation, choose_notation, plain_numbers, set_plain_apart
from vsacli.attributes.scaling import RobustScale
from vsacli.attributes.text import TextEncoder
from vsacli.support.privacy import values_shown
from vsacli.tables.arrow_types import SEVERAL_VALUES, is_text, simplified, spelled, to_float64
from vsacli.tables.distinct import Distinct, distinct_cells

NUMERIC_SHARE = 0.8
"""Share of the observed cells that must be numbers for a column of text to be one of numbers ..."""

MIXED_SHARE = 0.5
"""... or this share, if the numbers take more than `MAX_ONE_HOT` values and there are at most `FEW_WORDS` words."""

FEW_WORDS = 3

WORD_SHARE = 0.02
"""Share of words among numbers from which they get an attribute of their own ("is not a number")."""

Fitted: TypeAlias = tuple[ColumnEncoder, np.ndarray]


class LeftOut(Exception):
    """A column that becomes no attribute; the message is the reason.

    `fallback` is what the column would have been, if that is better than no attribute at all.
    """

    def __init__(self, reason: str, fallback: Fitted | None = None) -> None:
        super().__init__(reason)
        self.fallback = fallback


class AnId(LeftOut):
    """A column that identifies rows and says nothing about them.

    `forced` makes attributes of it all the same, if the user asks for that.
    """

    def __init__(self, reason: str, forced: Callable[[], Fitted], fallback: Fitted | None = None) -> None:
        super().__init__(reason, fallback)
        self.forced = forced


def fit_column(name: str, column: pa.Array, *, decimal: str, seed: int) -> Fitted:
    """Decide what a column is, fit its encoder and encode it.

    Parameters
    ----------
    name : str
    column : pa.Array, length n
        As `simplified` gives it: strings as in the file, "" where empty, or native values. A dictionary is a
        declaration of categories and is kept.
    decimal : "." or ","
    seed : int

    Returns
    -------
    encoder : ColumnEncoder
    encoded : ndarray of float32, shape (n, m)

    Raises
    ------
    LeftOut
        If the column is an id (then `AnId`), constant, empty, or holds no cell values.
    """
    kind = column.type
    if pa.types.is_null(kind) or column.null_count == len(column):
        raise LeftOut("empty: no cell holds a value")
    if pa.types.is_nested(kind):
        raise LeftOut(SEVERAL_VALUES)
    if pa.types.is_large_binary(kind):
        raise LeftOut("bytes, not values")
    if pa.types.is_dictionary(kind):
        cells = distinct_cells(spelled(column))
        if len(cells.values) <= MAX_ONE_HOT:
            return _fit_categories(name, cells, decimal, seed)
        return fit_column(name, simplified(column.dictionary_decode()), decimal=decimal, seed=seed)
    if is_text(column.type):
        numbers = plain_numbers(column, decimal)
        if numbers is not None:
            return _fit_numbers(name, numbers, NumberNotation(decimal), column)
        return _fit_text(name, column, decimal, seed)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        _refuse_constant(column)
        from vsacli.attributes.dates import DateEncoder  # imports pandas

        return DateEncoder.fit_native(column)
    if pa.types.is_boolean(kind):
        truth = to_float64(column)
        if np.nanmin(truth) != np.nanmax(truth):
            return BooleanEncoder(), truth.astype(np.float32)[:, None]
    try:
        numbers = to_float64(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise LeftOut(f"values of the type {kind} are neither numbers nor text") from error
    return _fit_numbers(name, numbers, NumberNotation(), column)


def _refuse_constant(column: pa.Array) -> None:
    if column.null_count == 0 and pc.all(pc.equal(column, column[0])).as_py():
        raise _constant(column[0].as_py())


def _constant(value: object) -> LeftOut:
    return LeftOut(f"constant: every cell is {str(value)[:40] if values_shown() else 'the same'}")


def _fit_numbers(name: str, x: np.ndarray, notation: NumberNotation, source: pa.Array | None = None) -> Fitted:
    """Fit numbers, float64 (n,); `source` holds them as they were in the table, unless words were among them."""
    observed = x[~np.isnan(x)]
    if not len(observed):
        raise LeftOut("empty: no cell holds a value")
    if bool(np.all(observed == observed[0])):
        if len(observed) == len(x):
            raise _constant(observed[0] if source is None else source[0].as_py())
        if observed[0] == 1 and len(observed) > 1:
            return FlagEncoder(), (~np.isnan(x)).astype(np.float32)[:, None]
    encoder = NumberEncoder(notation, RobustScale.fit(x))
    fitted = encoder, encoder.of_numbers(x)
    reason = column_kinds.id_reason_of_numbers(name, x)
    if reason is None and source is not None:
        reason = column_kinds.id_reason_of_long_numbers(x, source) or column_kinds.id_reason_of_padded_numbers(source)
    if reason:
        raise AnId(reason, lambda: fitted, fitted)
    return fitted


def _fit_text(name: str, column: pa.Array, decimal: str, seed: int) -> Fitted:
    plain, rest = set_plain_apart(column, decimal)
    truth = column_kinds.boolean_numbers(rest.values)
    zeros_and_ones = plain[~np.isnan(plain)]
    if truth is not None and len(truth) and bool(np.all((zeros_and_ones == 0) | (zeros_and_ones == 1))):
        encoder = BooleanEncoder()
        encoded = encoder.encode(column)
        if np.nanmin(encoded) != np.nanmax(encoded):
            return encoder, encoded
    notation, numbers = choose_notation(rest, decimal, len(zeros_and_ones))
    if notation.decimal != decimal:  # then the plain ones are read in that notation too
        rest = distinct_cells(column)
        notation, numbers = choose_notation(rest, decimal)
    fitted = _fit_mostly_numbers(name, plain, rest, notation, numbers)
    if fitted is not None:
        return fitted
    del plain, rest, zeros_and_ones  # as large as the column
    return _fit_categories(name, distinct_cells(column), decimal, seed)


def _fit_mostly_numbers(
    name: str, plain: np.ndarray, rest: Distinct, notation: NumberNotation, numbers: np.ndarray
) -> Fitted | None:
    """Fit a column of text whose cells are mostly numbers, or return None."""
    rows = joined(plain, rest, numbers)
    n_numbers = int((~np.isnan(rows)).sum())
    if not n_numbers:
        return None
    is_word = word_rows(rest, numbers)
    n_words = int(is_word.sum())
    share = n_numbers / (n_numbers + n_words)
    if share < NUMERIC_SHARE:
        few_words = len(np.unique(rest.codes[is_word])) <= FEW_WORDS
        if share < MIXED_SHARE or not few_words or len(np.unique(rows[~np.isnan(rows)])) <= MAX_ONE_HOT:
            return None
    if n_words < max(2.0, WORD_SHARE * (n_numbers + n_words)):
        return _fit_numbers(name, rows, notation)
    encoder = NumberEncoder(notation, RobustScale.fit(rows), words=True)
    return encoder, encoder.of_numbers(rows, is_word)


def _fit_categories(name: str, cells: Distinct, decimal: str, seed: int) -> Fitted:
    """Fit cells that are not numbers: a flag, dates, times, categories or text."""
    if not len(cells.values):
        raise LeftOut("empty: no cell holds a value")
    united = unite_spellings(cells)
    truth = column_kinds.boolean_numbers(united.values)
    if len(united.values) == 1 or (truth is not None and len(np.unique(truth)) == 1):
        if cells.n_observed == len(cells.codes):
            raise _constant(cells.values[0].as_py())
        return FlagEncoder(), (cells.codes >= 0).astype(np.float32)[:, None]
    if pc.any(pc.match_substring_regex(cells.values, "[0-9]")).as_py():
        from vsacli.attributes.dates import ClockEncoder, DateEncoder

        fitted = ClockEncoder.fit(cells) or DateEncoder.fit_text(cells, decimal, seed)
        if fitted is not None:
            return fitted
    reason = column_kinds.id_reason_of_text(name, united, cells.values.slice(0, 2).to_pylist())
    if reason or (2 * len(united.values) > cells.n_observed and not column_kinds.is_free_text(united)):
        code = CodeEncoder.fit(cells, decimal)
        if code is not None and (reason or code[0].has_quantity):
            return code
    if reason and not repeats(united.values):
        raise AnId(reason, lambda: _fit_words(cells, united, seed))
    return _fit_words(cells, united, seed)


def _fit_words(cells: Distinct, united: Distinct, seed: int) -> Fitted:
    """Fit categories, or text if they are too many."""
    encoder = CategoryEncoder.fit(united)
    if encoder is not None:
        return encoder, encoder.of_cells(united)
    fitted = TextEncoder.fit(cells, seed)
    if not fitted[0].names:
        said = "the cells are made of the same words and differ only in their order"
        if pc.max(pc.utf8_length(cells.values)).as_py() > (most := fitted[0].max_length):
            said = f"the first {most:,} characters of the cells, which are read, are made of the same words"
        raise LeftOut(f"text: {said}")
    return fitted
