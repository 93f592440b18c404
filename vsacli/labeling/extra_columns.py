"""The columns that a run adds after the user's own: confidences, probabilities, standard deviations."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from vsacli.tables.table import ExtraColumn, Table

DIGITS = 4  # significant digits of a standard deviation, decimals of a probability


class AddedColumns:
    """Columns with a number in each of the table's rows `rows` and nothing in the others.

    A name that the table already has gets a number at its end; `notes` says so.
    """

    def __init__(self, table: Table, rows: np.ndarray, *, as_text: bool) -> None:
        self._n_rows, self._rows = table.n_rows, rows
        self._as_text, self._decimal = as_text, table.decimal
        self._names = set(table.columns)
        self.columns: list[ExtraColumn] = []
        self.notes: list[str] = []

    def add_probabilities(self, name: str, values: np.ndarray) -> None:
        """Add numbers in [0, 1] for `rows`."""
        self._add(name, values, [f"{value:.{DIGITS}f}" for value in values.tolist()] if self._as_text else None)

    def add_numbers(self, name: str, values: np.ndarray) -> None:
        """Add finite numbers of any size for `rows`."""
        self._add(name, values, [plain_number(value) for value in values.tolist()] if self._as_text else None)

    def _add(self, name: str, values: np.ndarray, texts: list[str] | None) -> None:
        from vsacli.tables.table import ExtraColumn

        free = free_name(name, self._names)
        if free != name:
            self.notes.append(f"column {name} exists already; the new one is {free}")
        if texts is None:
            cells = scatter(pa.array(values, pa.float64()), self._rows, self._n_rows)
        else:
            if self._decimal == ",":
                texts = [text.replace(".", ",") for text in texts]
            cells = scatter(pa.array(texts, pa.large_string()), self._rows, self._n_rows)
        self.columns.append(ExtraColumn(free, cells))


def free_name(name: str, taken: set[str]) -> str:
    """`name`, or `name_2` and so on if it is in `taken`, to which the result is added."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def plain_number(value: float) -> str:
    """Four significant digits, never an exponent: 0.01234, 12.35, 123500."""
    if value == 0 or not np.isfinite(value):
        return "0"
    decimals = DIGITS - 1 - int(np.floor(np.log10(abs(value))))
    with suppress(OverflowError):  # next to the largest number that there is
        value = round(value, decimals)
    return f"{value:.{max(decimals, 0)}f}"


def scatter(values: pa.Array, rows: np.ndarray, n_rows: int) -> pa.Array:
    """A column of `n_rows` with `values` in the sorted `rows`; elsewhere "" (text) or null."""
    place = np.full(n_rows, -1, np.int64)
    place[rows] = np.arange(len(rows))
    column = values.take(pa.array(place, mask=place < 0))
    return column.fill_null("") if pa.types.is_large_string(values.type) else column
