"""The form in which rows go to a person and come back with labels: what each of its columns is called.

<target>,<target>_guess,<target>_confidence,row,<the table's other columns>

The empty cell to fill stands first, beside the guess. `--suggest-to` and `--ask` write it, `--labeled` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vsacli.labeling.extra_columns import free_name

if TYPE_CHECKING:
    from vsacli.tables.table import Table


@dataclass(frozen=True)
class RowsToLabel:
    """The columns of the form, for a table.

    Attributes
    ----------
    target, guess, certainty, row : str
        Their names; a name that the table already has gets a number at its end. `row` is the number of the row in the
        table, from 1 (the header and blank lines do not count).
    others : list of int
        The columns of the table that follow.
    header : list of str
    """

    target: str
    guess: str
    certainty: str
    row: str
    others: list[int]
    header: list[str]

    @classmethod
    def of(cls, table: Table, column: int | None, target: str, *, classes: bool) -> RowsToLabel:
        """The form for a table.

        Parameters
        ----------
        table : Table
            Columns whose cells hold several values are left out: a line of text cannot say them.
        column : int, optional
            The place of the label column, if it has one.
        target : str
            The name of the label column.
        classes : bool
            The certainty is a confidence, not a standard deviation.
        """
        columns = table.columns
        taken = set(columns)
        guess, certainty = (
            free_name(name, taken) for name in (f"{target}_guess", f"{target}_{'confidence' if classes else 'std'}")
        )
        row = row_number_column(columns)
        name = target if column is None else columns[column]
        others = [j for j in range(len(columns)) if j != column and j not in table.nested]
        return cls(name, guess, certainty, row, others, [name, guess, certainty, row, *(columns[j] for j in others)])


def row_number_column(columns: Sequence[str]) -> str:
    """The name of the column with row numbers, for a table with these columns."""
    return free_name("row", set(columns))


def is_form(columns: Sequence[str], target: str) -> bool:
    """Whether a table with these columns is such a form, for the label column `target`."""
    name = re.compile(rf"{re.escape(target)}_guess(?:_\d+)?", re.DOTALL)
    return any(name.fullmatch(column) for column in columns)


def of_the_form(columns: Sequence[str], target: str) -> set[str]:
    """Which of these columns a form has for itself, if it is one."""
    if not is_form(columns, target):
        return set()
    name = re.compile(rf"row(?:_\d+)?|{re.escape(target)}_(?:guess|confidence|std)(?:_\d+)?", re.DOTALL)
    return {column for column in columns if name.fullmatch(column)}
