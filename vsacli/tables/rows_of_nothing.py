"""Rows that describe no thing: separators alone, and the totals below a table, as spreadsheets leave them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from vsacli.tables.distinct import blank
from vsacli.tables.numbers.digits import with_ascii_digits
from vsacli.tables.numbers.notation import parse

if TYPE_CHECKING:
    from vsacli.tables.table import Table

_LAST = 5  # rows at the end among which totals are looked for
_FEWEST = 8  # numbers that a total adds up
_MOST_ROWS = 100_000  # of a table that somebody looks at
_LOOKED_AT = 200  # of the first numbers of a column, before all are read
_ROUNDING = 1e-6  # of a total, in relation to it
_NO_DIGITS = {mark: re.compile(rf"[^-\d{re.escape(mark)}]") for mark in ".,"}


def empty_rows(table: Table, target: int | None, among: np.ndarray) -> np.ndarray:
    """Those rows whose cells are all empty or white space, of a table of text.

    A token such as ``NA`` is something written. A table of Parquet has none: its nulls were put there one by one.

    Parameters
    ----------
    table : Table
    target : int, optional
        The place of its label column, if it has one. If that is the only column, no row counts as empty.
    among : ndarray of int
        The rows that are looked at, from 0, ascending.
    """
    if not table.is_text or not set(range(len(table.columns))) - {target}:
        return among[:0]
    for j in range(len(table.columns)):
        if not len(among):
            break
        among = among[blank(table.column(j).take(pa.array(among)))]
    return among


def total_rows(table: Table, target: int | None) -> np.ndarray:
    """The row of totals near the end of a table of text, and the rows below it: ascending, from 0.

    In a row of totals some number is the sum of all numbers above it in its column, and larger than each.
    """
    first = table.n_rows - _LAST
    if not table.is_text or first < _FEWEST or table.n_rows > _MOST_ROWS:
        return np.zeros(0, np.int64)
    for j in range(len(table.columns)):
        if j == target or j in table.nested:
            continue
        cells = table.column(j)
        ends = pa.concat_arrays([cells.slice(first), cells.slice(0, min(first, _LOOKED_AT))])
        if not _may_be_a_sum(*np.split(_about(ends.to_pylist(), table.decimal), [_LAST])):
            continue
        numbers = _numbers(cells, table.decimal)
        above = np.cumsum(numbers) - numbers
        largest = np.maximum.accumulate(np.abs(numbers))
        for row in range(first, table.n_rows):
            size = abs(numbers[row])
            if size > largest[row - 1] and abs(numbers[row] - above[row]) <= _ROUNDING * size:
                return np.arange(row, table.n_rows)
    return np.zeros(0, np.int64)


def _may_be_a_sum(last: np.ndarray, start: np.ndarray) -> bool:
    """Whether one of the last numbers of a column may be the sum of all others, given the first ones."""
    start = start[np.isfinite(start)]
    if np.count_nonzero(start) < _FEWEST or not np.isfinite(last).any():
        return False
    one_sign = not (start < 0).any() or not (start > 0).any()
    least = abs(start.sum()) if one_sign else np.abs(start).max()
    return bool(np.nanmax(np.abs(last)) >= least * (1 - _ROUNDING))


def _about(cells: list[str | None], decimal: str) -> np.ndarray:
    """What cells may be as numbers, NaN where they can be none: quickly, for all of them are read where it matters."""
    found = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        with suppress(ValueError):
            found[i] = float(_NO_DIGITS[decimal].sub("", cell or "").replace(decimal, "."))
    return found


def _numbers(cells: pa.Array, decimal: str) -> np.ndarray:
    """Cells as numbers, 0 where they are none, float64 (k,)."""
    return np.nan_to_num(parse(with_ascii_digits(cells, decimal), decimal).values, posinf=0, neginf=0)
