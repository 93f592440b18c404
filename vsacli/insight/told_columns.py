"""Which columns to show of a row: those by which a person knows it, then those that matter for its label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vsacli.labeling.labeled_table import as_text
from vsacli.target.earlier_run import added_columns

if TYPE_CHECKING:
    from vsacli.tables.table import Table

LOOKED_AT = 500
"""Rows by which a column is judged."""
MOST_NAMES = 2
"""Columns by which a person knows a row."""
OWN = 0.9
"""Share of the cells that are different, in such a column."""
LONGEST_NAME = 60
"""Characters of such a cell at most: a longer text tells, but does not name."""

_WORDS = re.compile(r"[^\W\d_][^\d\[\]{}()<>=#@/\\]*")
_NAMED = re.compile(r"(?i)\b(?:name|title|symbol|code|id|key|no|nr|number)\b|_(?:name|id|no|nr)$|name$")
_SPOKEN = re.compile(r"(?i)(?:name|title|symbol)$")  # rather than a number that nobody remembers


def naming_columns(table: Table, column: int | None) -> list[int]:
    """The columns by which a person knows a row, the best one first.

    Those are columns of words of which nearly every row has its own (a name, a symbol), whether the network uses them
    or not; without one, a column of other cells that tells rows apart and has a name such as `id`.

    Parameters
    ----------
    table : Table
    column : int, optional
        The place of the label column, which does not count.
    """
    skipped = {
        column,
        *table.nested,
        *(added_columns(table.columns, table.columns[column]) if column is not None else []),
    }
    words: list[int] = []
    codes: list[int] = []
    for j, name in enumerate(table.columns):
        if j in skipped:
            continue
        cells = [cell.strip() for cell in as_text(table.column(j).slice(0, LOOKED_AT)).to_pylist()]
        filled = [cell for cell in cells if cell]
        if len(filled) < 2 or len(filled) < len(cells) / 2 or max(map(len, filled)) > LONGEST_NAME:
            continue
        if len(set(filled)) < OWN * len(filled):
            continue
        if sum(_WORDS.fullmatch(cell) is not None for cell in filled) >= 0.8 * len(filled):
            words.append(j)
        elif _NAMED.search(name):
            codes.append(j)
    words.sort(key=lambda j: _NAMED.search(table.columns[j]) is None)
    codes.sort(key=lambda j: _SPOKEN.search(table.columns[j]) is None)
    return (words or codes[:1])[:MOST_NAMES]


def telling_columns(table: Table, column: int | None, first: Sequence[int]) -> list[int]:
    """The columns `first`, then all others that can be shown; without the label column."""
    every = dict.fromkeys([*first, *range(len(table.columns))])
    return [j for j in every if j != column and j not in table.nested]
