"""Rows in which nothing is written: separators alone, as spreadsheets leave them below a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.blank_tokens import SPACES

if TYPE_CHECKING:
    from vsacli.tables.table import Table


def empty_rows(table: Table, among: np.ndarray) -> np.ndarray:
    """Those of the rows `among` (ascending, from 0) whose cells are all empty or white space, of a table of text.

    A token such as ``NA`` is something written. A table of Parquet has none: its nulls were put there one by one.
    """
    if not table.is_text:
        return among[:0]
    for j in range(len(table.columns)):
        if not len(among):
            break
        cells = table.column(j).take(pa.array(among))
        blank = pc.fill_null(pc.equal(pc.utf8_trim(cells, SPACES), ""), True)
        among = among[blank.to_numpy(zero_copy_only=False)]
    return among
