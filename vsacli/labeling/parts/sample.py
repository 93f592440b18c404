"""The rows of a folder that are read for its plan: labeled ones, and a sample of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.labeling.job import Job
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.survey import first_rows
from vsacli.tables.held import HeldTable

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.target.column import Target

SAMPLE_ROWS = 100_000
SAMPLE_CELLS = 10_000_000
LABELED_ROWS = 20_000
LABELED_CELLS = 10_000_000


def choose_labeled(values: np.ndarray, target: Target, columns: int, seed: int) -> np.ndarray:
    """Positions, ascending, of the labeled rows that are read with every part: one of each class, then at random."""
    limit = int(np.clip(LABELED_CELLS // columns, 1_000, LABELED_ROWS))
    if len(values) <= limit:
        return np.arange(len(values))
    order = np.random.default_rng(seed).permutation(len(values))
    if target.kind == "classification":
        _, first = np.unique(values[order], return_index=True)
        order = np.concatenate([order[np.sort(first)], np.delete(order, first)])
        limit = max(limit, len(first))
    return np.sort(order[:limit])


def sample_rows(n_rows: int, labeled: np.ndarray, columns: int, seed: int) -> np.ndarray:
    """Rows of the table that are read for the plan, ascending: the labeled ones and others at random."""
    limit = int(np.clip(SAMPLE_CELLS // columns, 2_000, SAMPLE_ROWS))
    if n_rows <= limit:
        return np.arange(n_rows)
    drawn = np.random.default_rng(seed).choice(n_rows, limit, replace=False, shuffle=False)
    return np.union1d(drawn, labeled)


def read_rows(job: Job, parts: Sequence[Part], rows: np.ndarray) -> tuple[HeldTable, list[int]]:
    """The table of some rows, without the target; and the columns that count the rows of the folder.

    A sample of a counter has gaps, so the encoder would not know it as one.
    """
    import pyarrow as pa

    from vsacli.labeling.labeled_table import together

    nested = parts[0].open().nested
    pieces: dict[int, list[pa.Array]] = {
        j: [] for j in range(len(job.table.columns)) if j != job.column and j not in nested
    }
    counted = {j: _Range() for j in pieces}
    starts = first_rows(parts)
    for p, part in enumerate(parts):
        job.progress("reading columns", int(starts[p]), int(starts[-1]))
        inside = rows[np.searchsorted(rows, starts[p]) : np.searchsorted(rows, starts[p + 1])] - starts[p]
        if len(inside):
            for j, column in columns_of_part(part, job.table.columns, pieces):
                counted[j].add(column)
                pieces[j].append(column.take(pa.array(inside)))
    counters = [j for j, numbers in counted.items() if numbers.has_no_gap(int(starts[-1]))]
    cells = {j: together(piece) for j, piece in pieces.items()}
    return HeldTable(job.table.name, job.table.columns, len(rows), cells, nested=nested), counters


@dataclass
class _Range:
    """The range of the integers of a column."""

    low: int = 0
    high: int = 0
    n: int = 0  # -1: they are not all integers

    def add(self, column: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.n < 0 or not pa.types.is_integer(column.type) or column.null_count:
            self.n = -1
        elif len(column):
            low, high = (pc.min_max(column)[name].as_py() for name in ("min", "max"))
            self.low, self.high = (min(self.low, low), max(self.high, high)) if self.n else (low, high)
            self.n += len(column)

    def has_no_gap(self, n_rows: int) -> bool:
        """Whether these are as many integers as there are rows, and none is far from the others."""
        return self.n == n_rows and self.high - self.low == n_rows - 1


def columns_of_part(part: Part, names: Sequence[str], columns: Iterable[int]) -> Iterator[tuple[int, pa.Array]]:
    """Columns of a part, in the types that encoders know; keys of folder names are columns as well."""
    import pyarrow as pa

    from vsacli.tables.arrow_types import simplified

    table = part.open()
    keys, numbers = dict(part.keys), dict(part.numbers)
    for j in columns:
        if j < len(table.columns):
            cells = simplified(table.column(j))
            yield j, cells.cast(numbers[j], safe=False) if j in numbers else cells
        else:
            yield j, pa.array([keys[names[j]]] * table.n_rows, pa.large_string())
