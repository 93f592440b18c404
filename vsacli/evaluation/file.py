"""A user's file as a table of attributes and answers, read as `vsa label` reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vsacli import prepare
from vsacli.labeling.copies import find_copies
from vsacli.labeling.given_back import give_back
from vsacli.labeling.run import find_target
from vsacli.support.progress import Progress, silent
from vsacli.tasks.encode import as_task
from vsacli.tasks.store import EncodedTable

if TYPE_CHECKING:
    import numpy as np

    from vsacli.labeling.labeled_table import LabeledContext
    from vsacli.tables.table import Table, WritableTable


@dataclass
class EncodedFile:
    """A user's table, encoded as `vsa label` encodes it.

    Attributes
    ----------
    file : Table
        The rows: those of other tables that give labels first, then those of the table.
    table : EncodedTable
    classes : list of str
    reason : str
        Why they are classes or numbers.
    missing : int
        Rows without a label.
    used : dict of str to int
        Columns in use, each with its number of attributes.
    left_out : list of (str, str)
        Other columns, each with the reason.
    notes : list of str
    """

    file: Table
    table: EncodedTable
    classes: list[str]
    reason: str
    missing: int
    used: dict[str, int]
    left_out: list[tuple[str, str]]
    notes: list[str]


def encode_file(
    table: WritableTable, options: prepare.ReadOptions, progress: Progress = silent, *, labeled: Sequence[Table] = ()
) -> EncodedFile:
    """Read the target column and turn the others into attributes, over all rows.

    Parameters
    ----------
    table : WritableTable
    options : ReadOptions
    progress : callable
    labeled : sequence of Table
        Other tables with labels, as of `vsacli.labeling.run.label_table`.

    Raises
    ------
    UsageError, DataError
        As in `vsa label`: an unknown column, no label, no column to learn from.
    """
    others: Table | None = None
    notes: list[str] = []
    if labeled:
        returned = give_back(table, labeled, options)
        table, others, notes = returned.table, returned.others, returned.notes
    context, column, target = find_target(table, others, options)
    file = table if context is None else context.stacked_table()
    columns = prepare.Columns(
        file, options, column, among=None if context is None else context.matched(), progress=progress
    )
    attributes = prepare.read_attributes(columns, copies=_copies(context, column, options), words=True)
    if context is not None:
        notes += context.notes(options.target)
    return EncodedFile(
        file=file,
        table=as_task(prepare.Prepared(attributes, target), table.name),
        classes=target.classes,
        reason=target.reason,
        missing=int(target.missing.sum()),
        used=attributes.used,
        left_out=attributes.left_out,
        notes=[*table.notes, *target.notes, *notes],
    )


def _copies(context: LabeledContext | None, column: int | None, options: prepare.ReadOptions) -> np.ndarray | None:
    """Which labeled rows of another table are rows of this one, bool; None if there is no other."""
    if context is None:
        return None
    table = context.table
    skip = {column, *prepare.excluded_columns(table, options), *table.nested}
    return find_copies(context, skip).any_row
