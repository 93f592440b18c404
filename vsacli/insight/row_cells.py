"""The cells of a few rows of a labeling run, as they are in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from vsacli.labeling.run import LabelingRun


class RowCells:
    """Cells of stacked rows of a run (those of `--labeled` first), column by column."""

    def __init__(self, run: LabelingRun) -> None:
        self._run = run
        self._above = set(run.context.matched()) if run.context else set()

    def name(self, row: int) -> str:
        """What to call a row: its number in the table, from 1, or the table it comes from."""
        above = self._run.n_above
        if row >= above:
            return f"row {row - above + 1:,}"
        assert self._run.context is not None
        return f"a labeled row of {PurePath(self._run.context.source.name).name}"

    def take(self, rows: np.ndarray, columns: Sequence[int]) -> list[list[Any]]:
        """The cells of `rows` in `columns` of the table, a list a row; "" where the other table has no such column."""
        import pyarrow as pa

        run, above = self._run, self._run.n_above
        out: list[list[Any]] = [[] for _ in rows]
        for j in columns:
            if j in self._above:
                assert run.context is not None
                found = run.context.stacked(j).take(pa.array(rows)).to_pylist()
            else:
                below = run.table.column(j).take(pa.array(np.maximum(rows - above, 0))).to_pylist()
                found = ["" if row < above else value for row, value in zip(rows, below, strict=True)]
            for row, value in zip(out, found, strict=True):
                row.append(value)
        return out
