"""A table of which some columns are neither read nor written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from vsacli.tables.table import ExtraColumn, WritableTable, find_column

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class WithoutColumns:
    """A table without some of the columns that its file has.

    Parameters
    ----------
    base : WritableTable
    gone : collection of int
        The places of these columns, not of all.
    """

    def __init__(self, base: WritableTable, gone: Collection[int]) -> None:
        self.base = base
        self._gone = sorted(set(gone))
        self._places = [j for j in range(len(base.columns)) if j not in gone]
        self.columns: Sequence[str] = [base.columns[j] for j in self._places]
        self.nested: Mapping[int, str] = {i: base.nested[j] for i, j in enumerate(self._places) if j in base.nested}
        self.name, self.n_rows, self.notes = base.name, base.n_rows, base.notes
        self.decimal, self.is_text = base.decimal, base.is_text

    def find(self, name: str) -> int:
        return find_column(self.columns, name, self.name, is_text=self.is_text)

    def where(self, row: int) -> str:
        return self.base.where(row)

    def column(self, j: int) -> pa.Array:
        return self.base.column(self._places[j])

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
        gone = [*self._gone, *(self._places[j] for j in without)]
        self.base.write(sink, self._places[target], rows, values, extra, without=gone)
