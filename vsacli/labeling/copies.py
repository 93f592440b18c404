"""Rows of another table that are copies of rows of the table to fill.

That is the loop of `--suggest-to` and `--labeled`: some rows are written, a person labels them, and they come back
beside themselves. They give labels, but have no say in column types: an id would seem to occur twice.
The network is not asked about a row that comes back unchanged: it has a label.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.numbers import plain_numbers
from vsacli.tables.arrow_types import is_text, simplified
from vsacli.tables.distinct import trimmed

if TYPE_CHECKING:
    from vsacli.labeling.labeled_table import LabeledContext

ALIKE = 2 / 3
"""Share of the columns in which a copy agrees with its row: cells may have been corrected, or a format changed."""

SURE_BITS = 10.0
"""By how much the cells that agree must be more than chance, beyond what finds one pair among all pairs of rows."""

_WHOLE = 2.0**53  # numbers beyond it may be different ones that float64 does not tell apart


@dataclass(frozen=True)
class Copies:
    """Which rows of the other table are rows of the table to fill.

    Attributes
    ----------
    of : int64 (rows of the context,)
        The row of the table to fill that each is a copy of; -1 if it is not a copy.
    unchanged : bool (rows of the context,)
        Whether it agrees with that row in every compared cell, of at least two.
    """

    of: np.ndarray
    unchanged: np.ndarray

    @property
    def any_row(self) -> np.ndarray:
        """Bool (rows of the context,): which are copies."""
        return self.of >= 0


def find_copies(context: LabeledContext, skip: Collection[int | None], claimed: np.ndarray | None = None) -> Copies:
    """Find which labeled rows of the other table are also in the table to fill.

    Parameters
    ----------
    context : LabeledContext
    skip : columns of the table to fill
        Not compared: the target, and what the user excludes.
    claimed : int64 (rows of the context,), optional
        The row of the table to fill that each says it is, -1 if none. It is that row if all compared cells agree.

    Returns
    -------
    Copies

    Notes
    -----
    A row is found by a cell that only one row of the table to fill holds; it is a copy of that row if all compared
    cells are the same (white space around them and the spelling of numbers aside), or at least the share `ALIKE` of
    them, and these by more than chance: a value that one in 8 rows has counts 3 bits. Where the column of that cell is
    a key, each of its values occurring once in either table, the share is enough. A table in which no cell is the only
    one of its kind has no ids either, so there nothing depends on it.
    """
    compared = [j for j in context.matched() if j not in skip]
    twin = np.full(context.n_rows, -1, np.int64)
    keyed = np.zeros(context.n_rows, bool)  # found by a key
    most = 0
    for j in compared:
        above, below = _keys(context, j)
        found = _only_place(above, below)
        if _is_key(above) and _is_key(below):
            keyed |= found >= 0
        n_found = int((found >= 0).sum())
        twin = np.where(found >= 0, found, twin) if n_found > most else np.where(twin >= 0, twin, found)
        most = max(most, n_found)
        if most == context.n_rows and keyed.all():
            break
    alike, bits = _cells_alike(context, compared, twin)
    unchanged = (alike == len(compared)) & (len(compared) > 1)
    by_chance = np.log2(max(1, context.n_rows)) + np.log2(max(1, context.table.n_rows)) + SURE_BITS
    enough = (alike >= ALIKE * len(compared)) & (keyed | (bits >= by_chance))
    twin[~(enough | (alike == len(compared)))] = -1
    if claimed is not None and compared:
        right = _cells_alike(context, compared, claimed)[0] == len(compared)
        twin[right], unchanged[right] = claimed[right], True
    return Copies(twin, unchanged & (twin >= 0))


def _cells_alike(context: LabeledContext, compared: Sequence[int], twin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In how many of the compared columns each labeled row agrees with its row `twin`, int64 (-1 where that is -1), and
    the bits that this takes by chance, float64."""
    rows = np.flatnonzero(twin >= 0)
    alike, bits = np.full(context.n_rows, -1, np.int64), np.zeros(context.n_rows)
    if not len(rows):
        return alike, bits
    alike[rows] = 0
    for j in compared:
        above, below = _keys(context, j)
        of_row = _bits(below)[twin[rows]]
        above, below = above.take(pa.array(rows)), below.take(pa.array(twin[rows]))
        same = pc.or_(pc.fill_null(pc.equal(above, below), False), pc.and_(pc.is_null(above), pc.is_null(below)))
        agrees = same.to_numpy(zero_copy_only=False)
        alike[rows] += agrees
        bits[rows] += np.where(agrees, of_row, 0.0)
    return alike, bits


def _bits(cells: pa.Array) -> np.ndarray:
    """How unlikely the value of each cell is among all of them, in bits; a missing one is a value."""
    codes = cells.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    return -np.log2(np.bincount(codes)[codes] / len(codes))


def _is_key(cells: pa.Array) -> bool:
    """Whether no value occurs twice, and none is missing."""
    return cells.null_count == 0 and pc.count_distinct(cells).as_py() == len(cells)


def _keys(context: LabeledContext, column: int) -> tuple[pa.Array, pa.Array]:
    """The cells of a column in the labeled rows and in the table to fill, cells that say the same being equal."""
    cells = simplified(context.stacked(column))
    if pa.types.is_nested(cells.type):
        cells = pa.nulls(len(cells))
    if is_text(cells.type):
        cells = trimmed(cells)
        numbers = plain_numbers(cells, context.table.decimal)
        if numbers is not None and (np.isnan(numbers) | (np.abs(numbers) < _WHOLE)).all():
            cells = pa.array(numbers, mask=np.isnan(numbers))
    return cells.slice(0, context.n_rows), cells.slice(context.n_rows)


def _only_place(above: pa.Array, below: pa.Array) -> np.ndarray:
    """The one place in `below` of each value of `above`, int64 (len(above),); -1 if there is none, or several."""
    encoded = above.dictionary_encode()
    if not len(encoded.dictionary):
        return np.full(len(above), -1, np.int64)
    codes = pc.index_in(below, value_set=encoded.dictionary).fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(codes >= 0)
    place = np.full(len(encoded.dictionary) + 1, -1, np.int64)  # the last entry serves the nulls
    place[codes[rows]] = rows
    place[:-1][np.bincount(codes[rows], minlength=len(encoded.dictionary)) > 1] = -1
    return place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
