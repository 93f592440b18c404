"""Encoders of single columns that need only NumPy and Arrow: numbers, booleans, categories.

Each `fit` takes what was read from all rows of a column; `encode` takes any column of that name and returns float32
(n, m), NaN where nothing is observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes import column_kinds
from vsacli.attributes.column_kinds import FALSE_WORDS, TRUE_WORDS
from vsacli.attributes.numbers import NumberNotation, parse_numbers, plain_numbers, set_plain_apart
from vsacli.attributes.scaling import RobustScale
from vsacli.tables.arrow_types import is_text, spelled, to_float64
from vsacli.tables.distinct import Distinct, distinct_cells

MAX_ONE_HOT = 12
"""Most categories that get an attribute each."""

MIN_CATEGORY_SHARE = 0.005
"""Rarer categories (or those of a single row) are one attribute together, "other"."""

ONE_HOT_COVER = 0.9
"""Share of the rows that the `MAX_ONE_HOT` most frequent categories must hold for the column to be one-hot."""


class ColumnEncoder(Protocol):
    """One column to its attributes."""

    @property
    def names(self) -> list[str]:
        """What follows the column's name in the names of its attributes."""
        ...

    def encode(self, column: pa.Array) -> np.ndarray:
        """Encode a column, length n, to float32 (n, len(names))."""
        ...


@dataclass
class NumberEncoder:
    """A column of numbers: one attribute, scaled by `RobustScale`; words among the numbers are not observed.

    If enough cells are words, a second attribute is 1 where the cell holds a word and 0 where a number.
    """

    notation: NumberNotation
    scale: RobustScale
    words: bool = False

    @property
    def names(self) -> list[str]:
        return ["", "is not a number"] if self.words else [""]

    def encode(self, column: pa.Array) -> np.ndarray:
        if not is_text(column.type):
            try:
                return self.of_numbers(to_float64(column))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                column = spelled(column)
        numbers = plain_numbers(column, self.notation.decimal)
        if numbers is not None:
            return self.of_numbers(numbers)
        plain, rest = set_plain_apart(column, self.notation.decimal)
        numbers = parse_numbers(rest.values, self.notation)
        return self.of_numbers(joined(plain, rest, numbers), word_rows(rest, numbers))

    def of_numbers(self, numbers: np.ndarray, is_word: np.ndarray | None = None) -> np.ndarray:
        """Encode float64 (n,), NaN where no number; `is_word` (n,) marks the rows that hold a word."""
        scaled = self.scale.apply(numbers)
        if not self.words:
            return scaled[:, None]
        words = np.where(np.isnan(numbers), np.float32("nan"), np.float32(0))
        if is_word is not None:
            words[is_word] = 1.0
        return np.stack([scaled, words], axis=1)


def joined(plain: np.ndarray, rest: Distinct, numbers: np.ndarray) -> np.ndarray:
    """Put the plain numbers (n,) and those read from the other distinct cells (k,) together, float64 (n,)."""
    return np.where(rest.codes < 0, plain, rest.take(numbers)) if len(numbers) else plain


def word_rows(rest: Distinct, numbers: np.ndarray) -> np.ndarray:
    """Mark the rows whose cell is neither a number nor a way to leave one out, bool (n,)."""
    is_word = np.isnan(numbers) & ~column_kinds.numeric_blanks(rest.values)
    return np.append(is_word, False)[rest.codes]


@dataclass
class BooleanEncoder:
    """A column of yes/no, true/false, t/f, on/off, 1/0 in any case: one attribute, 0 or 1."""

    @property
    def names(self) -> list[str]:
        return [""]

    def encode(self, column: pa.Array) -> np.ndarray:
        cells = distinct_cells(spelled(column))
        words = [w.casefold() for w in cells.values.to_pylist()]
        truth = [1.0 if w in TRUE_WORDS else 0.0 if w in FALSE_WORDS else np.nan for w in words]
        return cells.take(np.array(truth, dtype=np.float32).reshape(-1, 1))


@dataclass
class FlagEncoder:
    """A column with one word and empty cells ("x" or nothing): 1 where the word is, 0 where the cell is empty."""

    @property
    def names(self) -> list[str]:
        return [""]

    def encode(self, column: pa.Array) -> np.ndarray:
        cells = distinct_cells(spelled(column))
        return (cells.codes >= 0).astype(np.float32)[:, None]


@dataclass
class CategoryEncoder:
    """A column of few categories: one attribute each, 0 or 1; two categories share one attribute.

    Spellings that differ in case or white space only are one category. A category that was not there when the
    encoder was fitted is 0 in all attributes (or counts as "other", if rare ones were merged into that); in a column
    of two categories it is not observed.
    """

    categories: list[str]
    has_other: bool

    @property
    def binary(self) -> bool:
        return len(self.categories) == 2 and not self.has_other

    @property
    def names(self) -> list[str]:
        if self.binary:
            return [f"= {self.categories[1]}"]
        return [f"= {c}" for c in self.categories] + (["= other"] if self.has_other else [])

    @classmethod
    def fit(cls, cells: Distinct) -> CategoryEncoder | None:
        """Choose the categories of united cells (`unite_spellings`); None if there are too many."""
        k, n = len(cells.values), cells.n_observed
        order = np.lexsort((np.arange(k), -cells.counts))[:MAX_ONE_HOT]
        if k > MAX_ONE_HOT and cells.counts[order].sum() < ONE_HOT_COVER * n:
            return None
        if k > 2:
            order = order[cells.counts[order] >= max(2.0, MIN_CATEGORY_SHARE * n)]
        if not len(order):
            return None
        kept = np.sort(order)
        return cls(cells.values.take(pa.array(kept)).to_pylist(), has_other=len(kept) < k)

    def encode(self, column: pa.Array) -> np.ndarray:
        return self.of_cells(unite_spellings(distinct_cells(spelled(column))))

    def of_cells(self, cells: Distinct) -> np.ndarray:
        """Encode united cells."""
        index = pc.index_in(cells.values, value_set=pa.array(self.categories, cells.values.type)).fill_null(-1)
        codes = index.to_numpy(zero_copy_only=False)
        if self.binary:
            per_value = np.where(codes < 0, np.float32("nan"), codes.astype(np.float32))[:, None]
        else:
            per_value = np.zeros((len(codes), len(self.categories) + 1), dtype=np.float32)
            per_value[np.arange(len(codes)), codes] = 1.0  # unknown ones are code -1: the last column, "other"
            if not self.has_other:
                per_value = per_value[:, :-1]
        return cells.take(per_value)


def unite_spellings(cells: Distinct) -> Distinct:
    """Merge values that differ in case, white space or Unicode form only; spelled in lower case."""
    values = cells.values
    if pc.all(pc.string_is_ascii(values)).as_py() is False:
        values = pc.utf8_normalize(values, form="NFKC")
    values = pc.utf8_lower(pc.replace_substring_regex(values, r"\s+", " "))
    return cells.merged(values)
