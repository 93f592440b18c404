"""Rows in which nothing is written: separators alone, as spreadsheets leave them below a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.blank_tokens import SPACES

if TYPE_CHECKING:
    from vsacli.tables.table import Table


def empty_rows(table: Table, target: int | None, among: np.ndarray) -> np.ndarray:
    """Those of the rows `among` (ascending, from 0) whose cells are all empty or white space, of a table of text.

    A token such as ``NA`` is something written. A table of Parquet has none: its nulls were put there one by one.

    Parameters
    ----------
    table : Table
    target : int, optional
        The place of its label column, if it has one; without other columns there are no empty rows.
    among : ndarray of int
    """
    if not table.is_text or not set(range(len(table.columns))) - {target}:
        return among[:0]
    for j in range(len(table.columns)):
        if not len(among):
            break
        among = among[_blank(table.column(j), among)]
    return among


def _blank(cells: pa.Array, rows: np.ndarray) -> np.ndarray:
    """Which of these rows' cells hold nothing, bool (k,)."""
    some = cells.take(pa.array(rows))
    if pa.types.is_null(some.type):
        return np.ones(len(rows), bool)
    return pc.fill_null(pc.equal(pc.utf8_trim(some, SPACES), ""), True).to_numpy(zero_copy_only=False)
