"""A table read with other label cells than its file has: a person gave some, and others were filled in before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from vsacli.labeling.extra_columns import scatter
from vsacli.tables.arrow_types import plain
from vsacli.tables.table import ExtraColumn, find_column
from vsacli.tables.without_columns import WithoutColumns
from vsacli.target.earlier_run import added_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.tables.table import Table, WritableTable


class RelabeledTable:
    """A table with other label cells, which are also written.

    Parameters
    ----------
    base : WritableTable
        The table as its file has it.
    target : str
        The label column; if `base` has none of that name, it becomes the last one.
    column : int, optional
        Its place in `base`.
    cells : pa.Array
        All its cells (n,), no dictionary.
    changed : ndarray of bool, shape (n,)
        Which of them differ from those of the file.
    given : ndarray of bool, shape (n,)
        Rows whose label a person gave: a confidence beside it is of an earlier answer, and is not read.
    """

    def __init__(
        self,
        base: WritableTable,
        target: str,
        column: int | None,
        cells: pa.Array,
        changed: np.ndarray,
        given: np.ndarray,
    ) -> None:
        self.base, self._in_file = base, column is not None
        self.at = len(base.columns) if column is None else column
        self._columns = list(base.columns) if self._in_file else [*base.columns, target]
        self._cells, self._changed, self._given = cells, changed, given
        self._beside = set(added_columns(base.columns, target))
        self.name, self.n_rows, self.notes = base.name, base.n_rows, base.notes

    @property
    def columns(self) -> Sequence[str]:
        return self._columns

    @property
    def decimal(self) -> str:
        return self.base.decimal

    @property
    def is_text(self) -> bool:
        return self.base.is_text

    @property
    def nested(self) -> Mapping[int, str]:
        return self.base.nested

    def find(self, name: str) -> int:
        return find_column(self._columns, name, self.name)

    def where(self, row: int) -> str:
        return self.base.where(row)

    def column(self, j: int) -> pa.Array:
        import pyarrow as pa

        if j == self.at:
            categorical = self._in_file and pa.types.is_dictionary(self.base.column(j).type)
            return self._cells.dictionary_encode() if categorical else self._cells
        cells = self.base.column(j)
        if j in self._beside and self._given.any():
            cells = cells.take(pa.array(np.arange(len(cells)), mask=self._given))
            return cells.fill_null("") if self.is_text else cells
        return cells

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
        import pyarrow as pa

        if target != self.at:
            raise ValueError("only the label column of a relabeled table is written")
        other = np.setdiff1d(np.flatnonzero(self._changed), rows)
        every = np.concatenate([rows, other])
        cells = pa.concat_arrays([_of_type(values, self._cells.type), self._cells.take(pa.array(other))])
        order = np.argsort(every, kind="stable")
        every, cells = every[order], cells.take(pa.array(order))
        if self._in_file:
            self.base.write(sink, target, every, cells, extra, without=without)
            return
        whole = ExtraColumn(self._columns[-1], scatter(cells, every, self.n_rows))
        self.base.write(sink, 0, every[:0], cells[:0], [whole, *extra], without=without)


def file_of(table: Table) -> Table:
    """The table as its file has it."""
    while isinstance(table, RelabeledTable | WithoutColumns):
        table = table.base
    return table


def label_cells(table: Table, column: int) -> pa.Array:
    """The cells of the label column of a table, categories as their values."""
    return plain(table.column(column), table.columns[column])[0]


def _of_type(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    return values if values.type == wanted else values.cast(wanted)
