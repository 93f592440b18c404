"""Columns in memory, read as a table is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vsacli.tables.table import find_column

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class HeldTable:
    """Some columns of a table in memory, as a `Table` that is only read.

    Attributes
    ----------
    name, columns, n_rows
        As of `Table`.
    cells : mapping of int to pa.Array
        The columns that there are, by their place in `columns`.
    place : callable, optional
        What `where` says of a row; by default its number.
    """

    name: str
    columns: Sequence[str]
    n_rows: int
    cells: Mapping[int, pa.Array] = field(default_factory=dict)
    place: Callable[[int], str] | None = None
    notes: list[str] = field(default_factory=list)
    decimal: str = "."
    is_text: bool = False
    nested: Mapping[int, str] = field(default_factory=dict)

    def find(self, name: str) -> int:
        return find_column(self.columns, name, self.name, is_text=self.is_text)

    def where(self, row: int) -> str:
        return f"row {row + 1}" if self.place is None else self.place(row)

    def column(self, j: int) -> pa.Array:
        return self.cells[j]
