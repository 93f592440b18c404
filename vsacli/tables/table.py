"""A table as a user has it: read from a file, its cells by column, and written back with cells filled."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from vsacli.errors import UsageError
from vsacli.support.privacy import VARIABLE, values_shown
from vsacli.support.wording import nearest, some

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_MEASURED = re.compile(r"\s*(?:[+-]?\d+[.,]\d+|[+-]\d+)\s*")  # no name: a header line that has it is one of cells


@dataclass(frozen=True)
class ExtraColumn:
    """A column to be added after those of the file.

    Attributes
    ----------
    name : str
        Its header.
    values : pa.Array
        As long as the table. A null becomes an empty cell (in Parquet: a null).
    """

    name: str
    values: pa.Array


class Table(Protocol):
    """What is read of a table, whatever kind of file it came from.

    Attributes
    ----------
    name : str
        For messages: the path as given, or "standard input".
    columns : list of str
        Header names as spelled; duplicates and empty ones kept, in order.
    n_rows : int
        Data rows. Blank lines of a text file do not count.
    notes : list of str
        What the reader decided by itself.
    decimal : "." or ","
        Decimal mark of a text table.
    is_text : bool
        Cells are text; else they have the types of a Parquet file.
    nested : mapping of int to str
        Columns of which each cell holds several values (a list, a record), and their types. They hold no labels and
        become no attributes, so nothing needs to read them.
    """

    name: str
    n_rows: int
    notes: list[str]

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def decimal(self) -> str: ...

    @property
    def is_text(self) -> bool: ...

    @property
    def nested(self) -> Mapping[int, str]: ...

    def find(self, name: str) -> int:
        """Return the number of the column called `name`; UsageError if there is none, or several."""
        ...

    def where(self, row: int) -> str:
        """Return the place of data row `row` (from 0) for messages: "row 3 (line 4)"."""
        ...

    def column(self, j: int) -> pa.Array:
        """Return all cells of column `j`: text (never null), or a Parquet column's own type with its nulls."""
        ...


class WritableTable(Table, Protocol):
    """A table that came from a file, and can be written as that file with cells filled."""

    def write(
        self,
        sink: BinaryIO,
        target: int,
        rows: np.ndarray,
        values: pa.Array,
        extra: Sequence[ExtraColumn] = (),
        *,
        without: Sequence[int] = (),
    ) -> None:
        """Write the same file with `values` at `rows` (ascending) of column `target`, and `extra` columns added.

        A null value leaves its cell as it is; values of a text table are text. Of the columns of the file those at
        the places `without` are left out.
        """
        ...


def find_column(columns: Sequence[str], name: str, table: str, *, is_text: bool = True) -> int:
    """Return the number of the column called `name` of the table called `table`.

    A name that is not there as spelled may be there in another Unicode form (composed and decomposed
    letters look the same), or with white space around it.

    Raises
    ------
    UsageError
        There is no such column (the message suggests an existing one), or more than one.
    """

    def composed(text: str) -> str:
        return unicodedata.normalize("NFC", text)

    for spell in (str, composed, lambda text: composed(text).strip()):
        places = [j for j, column in enumerate(columns) if spell(column) == spell(name)]
        if len(places) == 1:
            return places[0]
        if places:
            listed = ", ".join(str(j + 1) for j in places[:-1]) + f" and {places[-1] + 1}"
            raise UsageError(
                f"{table}: {len(places)} columns are called {name!r} (columns {listed}), so the name is "
                f"ambiguous; rename all but one"
            )
    raise UsageError(f"{table} has no column {name!r}; {_suggestion(columns, name, is_text)}")


def _suggestion(columns: Sequence[str], name: str, is_text: bool) -> str:
    if not columns:
        return "it has no columns at all"
    repair = ": --delimiter sets another delimiter, --header-line another line for the header" if is_text else ""
    if not any(column.strip() for column in columns):
        unnamed = "1 column has no name" if len(columns) == 1 else f"{len(columns):,} columns have no names"
        return f"its {unnamed}{repair}"
    near = nearest([column for column in columns if len(column) <= 200], name)
    if near is not None and len(columns) > 1:
        return f"did you mean {near!r}?"
    if is_text and len(columns) == 1 and name.casefold().strip() in columns[0].casefold().split():
        if re.search(r"\s\s", columns[0].strip()) is None:
            return "its columns are separated by single spaces: --delimiter space reads them"
        return (
            "its columns are aligned with spaces; make a CSV file of it first: python3 -c 'import pandas; "
            'pandas.read_fwf("FILE").to_csv("FILE.csv", index=False)\''
        )
    if is_text and any(map(_MEASURED.fullmatch, columns)) and not values_shown():
        return (
            "some of its names are numbers, as in a row of data: add a line with names above it, or give "
            "the line of the header with --header-line"
        )
    if not values_shown():  # without a header, these would be the cells of a row
        if len(columns) > 1:
            return f"it has {len(columns):,} columns ({VARIABLE}=1 lists them)"
        return f"it has 1 column ({VARIABLE}=1 names it){repair}"
    listed = some([repr(column if len(column) <= 40 else column[:39] + "…") for column in columns], 10)
    if len(columns) == 1:
        return f"its only column is {listed}{repair}"
    return f"it has {listed}"
