"""Which labels of a file `vsa` filled in, remembered beside it (`data.csv.vsa`): a table can be labeled in place.

    vsa label data.csv -t class -o data.csv        fills the empty cells, and remembers which
    (a person corrects some labels, and adds others)
    vsa label data.csv -t class -o data.csv        fills the remembered ones again, from all that a person gave

A label is remembered with the cells of its row, so that rows may be sorted, added and deleted, and with the number of
the row, which decides if most rows have other cells by now. A label that was changed since is a person's. Only digests
are kept, no cell.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError, OutputError
from vsacli.labeling.relabeled import RelabeledTable, label_cells
from vsacli.support.atomic_files import replacing
from vsacli.tables.arrow_types import as_text
from vsacli.tables.without_columns import WithoutColumns
from vsacli.target.earlier_run import added_columns, numbers_or_blank
from vsacli.target.missing import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vsacli.labeling.run import LabelingRun
    from vsacli.tables.table import Table, WritableTable

SUFFIX = ".vsa"
MOST_ROWS = 100_000  # of a table that is remembered
ABOUT = "Labels that vsa filled in, as digests. Without this file they count as given by hand."

Marks = list[tuple[str, str]]
"""Of each filled label: the digest of row number and label, and that of the cells of the row and label."""


@dataclass
class FilledRecord:
    """The labels that were filled in, of each label column of a file.

    Attributes
    ----------
    path : Path
        Of the record.
    columns : dict of str to list
        The marks of each label column.
    added : dict of str to list of str
        The columns that the run added beside each label column (confidences and probabilities).
    """

    path: Path
    columns: dict[str, Marks] = field(default_factory=dict)
    added: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def beside(cls, file: str) -> FilledRecord:
        """The record of a file; an empty one if there is none.

        Raises
        ------
        DataError
            It cannot be understood: which labels were filled in is then unknown.
        """
        path = Path(os.path.realpath(file) + SUFFIX)
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            columns = {str(name): [(str(a), str(b)) for a, b in marks] for name, marks in read["filled"].items()}
            added = {str(name): [str(other) for other in others] for name, others in read.get("added", {}).items()}
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                f"{path.name}, beside {file}, is damaged: it says which labels vsa filled in; restore it, or delete it "
                "to take all labels as given by hand"
            ) from None
        return cls(path, columns, added)

    def save(self) -> None:
        """Write the record, or remove it if it holds nothing.

        Raises
        ------
        OutputError
        """
        filled = {name: marks for name, marks in self.columns.items() if marks}
        added = {name: others for name, others in self.added.items() if others}
        content = {"about": ABOUT, "filled": filled} | ({"added": added} if added else {})
        try:
            if filled or added:
                with replacing(self.path) as fresh:
                    fresh.write_text(json.dumps(content) + "\n", encoding="utf-8")
            else:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from None

    def with_run(self, target: str, marks: Marks, added: Sequence[str]) -> FilledRecord:
        """The record of a run that filled the label column `target` and added columns."""
        return FilledRecord(self.path, self.columns | {target: marks}, self.added | {target: list(added)})

    def added_to(self, table: Table, target: str) -> list[int]:
        """The places of the columns that a run added, unless they hold anything but numbers by now."""
        names = self.added.get(target, [])
        places = [j for j in added_columns(table.columns, target) if table.columns[j] in names]
        return [j for j in places if numbers_or_blank(table.column(j)) is not None]

    def of_table(self, table: Table, target: str, column: int) -> np.ndarray:
        """Which labels of a table were filled in and are as they were then, bool (n,)."""
        known = self.columns.get(target, [])
        found = np.zeros(table.n_rows, bool)
        if not known:
            return found
        labels = as_text(label_cells(table, column)).to_pylist()
        marks = list(_marks(table, target, column, np.arange(table.n_rows), labels))
        pairs, left = set(known), Counter(cells for _, cells in known)
        for stay in (True, False):  # of equal rows with one label those that were filled, if they are where they were
            for i, mark in enumerate(marks):
                if not found[i] and left[mark[1]] > 0 and (mark in pairs or not stay):
                    found[i] = True
                    left[mark[1]] -= 1
        if 2 * found.sum() < len(known):  # columns were added or changed since
            places = {place for place, _ in known}
            found |= np.array([place in places for place, _ in marks])
        return found


def without_filled(table: WritableTable, file: str, target: str, notes: list[str]) -> WritableTable:
    """A table without what an earlier run filled and added to its file; `notes` then tells of the labels.

    Raises
    ------
    DataError
        The record beside the file is damaged.
    """
    import pyarrow as pa

    record = FilledRecord.beside(file)
    if target not in table.columns:
        return table
    if added := record.added_to(table, target):
        table = WithoutColumns(table, added)
    column = table.find(target)
    filled = record.of_table(table, target, column)
    if not filled.any():
        return table
    cells = label_cells(table, column).take(pa.array(np.arange(table.n_rows), mask=filled))
    cells = cells.fill_null("") if table.is_text else cells
    n = int(filled.sum())
    were = "label was" if n == 1 else "labels were"
    notes.append(f"{n:,} {were} filled in by an earlier run, says {record.path.name}: not learned from")
    every_row = np.ones(table.n_rows, bool)  # confidences beside the labels say no more than the record
    return RelabeledTable(table, target, column, cells, filled, every_row)


@contextlib.contextmanager
def remembered(run: LabelingRun, file: str) -> Iterator[None]:
    """Remember what a run fills into the file that it read, and adds to it; the block writes that file.

    At any moment the record knows the filled labels of the file as it is: before it is replaced and after.
    """
    if run.table.n_rows > MOST_ROWS:
        run.report.notes.append(
            f"which labels were filled in is not remembered: {run.table.name} has more than {MOST_ROWS:,} rows"
        )
        yield
        return
    old, name = FilledRecord.beside(file), run.options.target
    rows, labels = run.filled_cells()
    marks = list(_marks(run.table, name, run.column, rows, labels))
    added = [column.name for column in run.labels.extra if column.name != name]
    before = {*old.added.get(name, []), *added}
    old.with_run(name, [*old.columns.get(name, []), *marks], sorted(before)).save()
    yield
    old.with_run(name, marks, added).save()


def _marks(
    table: Table, target: str, column: int | None, rows: np.ndarray, labels: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The marks of the labels of some rows."""
    import pyarrow as pa

    skipped = {column, *added_columns(table.columns, target), *table.nested}
    columns = [j for j in range(len(table.columns)) if j not in skipped]
    cells = [as_text(table.column(j).take(pa.array(rows))).to_pylist() for j in columns]
    for i, (row, label) in enumerate(zip(rows.tolist(), labels, strict=True)):
        spelled = normalize(label)
        yield _digest(str(row), spelled), _digest(*(column[i] for column in cells), spelled)


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
