"""A user's file as a table of attributes and answers, read as `vsa label` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vsacli.prepare import ReadOptions, prepare
from vsacli.support.progress import Progress, silent
from vsacli.tasks.encode import as_task
from vsacli.tasks.store import EncodedTable

if TYPE_CHECKING:
    from vsacli.tables.table import Table


@dataclass
class EncodedFile:
    """A user's table, encoded as `vsa label` encodes it."""

    table: EncodedTable
    classes: list[str]
    reason: str
    used: dict[str, int]
    left_out: list[tuple[str, str]]
    notes: list[str]


def encode_file(table: Table, options: ReadOptions, progress: Progress = silent) -> EncodedFile:
    """Read the target column and turn the others into attributes, over all rows.

    Raises
    ------
    UsageError, DataError
        As in `vsa label`: an unknown column, no label, no column to learn from.
    """
    prepared = prepare(table, options, progress=progress)
    labels, attributes = prepared.target, prepared.attributes
    return EncodedFile(
        table=as_task(prepared, table.name),
        classes=labels.classes,
        reason=labels.reason,
        used=attributes.used,
        left_out=attributes.left_out,
        notes=[*table.notes, *labels.notes],
    )
