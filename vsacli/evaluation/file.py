"""A user's file as a table of attributes and answers, encoded as `vsa label` encodes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from vsacli.errors import DataError
from vsacli.tasks.store import EncodedTable

if TYPE_CHECKING:
    from vsacli.tables.table import Table

Progress = Callable[[str, int, int], None]


@dataclass
class EncodedFile:
    """A table of a user, encoded as `vsa label` encodes it."""

    table: EncodedTable
    classes: list[str]
    reason: str
    used: dict[str, int]
    left_out: list[tuple[str, str]]
    notes: list[str]


def encode_file(
    table: Table,
    target: str,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    na: Sequence[str] = (),
    default_na: bool = True,
    exclude: Sequence[str] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> EncodedFile:
    """Read the target column and turn the others into attributes, over all rows.

    Raises
    ------
    UsageError, DataError
        As in `vsa label`: an unknown column, no label, no column to learn from.
    """
    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.target.column import read_target

    at = table.find(target)
    labels = read_target(
        table.column(at),
        task=task,
        na=na,
        default_na=default_na,
        decimal=table.decimal,
        name=target,
        where=table.where,
    )
    excluded = {table.find(name) for name in exclude}
    encoder = AttributeEncoder(seed=seed)

    def columns():
        for j, name in enumerate(table.columns):
            if j != at and j not in excluded:
                if progress is not None:
                    progress("reading columns", j, len(table.columns))
                yield name, table.column(j)

    x = encoder.fit_transform(columns(), decimal=table.decimal)
    if x.shape[1] == 0:
        raise DataError(f"{table.name}: no column to learn from beside the target; add columns that describe the rows")
    classification = labels.kind == "classification"
    counts = list(encoder.used.values())
    encoded = EncodedTable(
        name=table.name,
        family=table.name,
        kind=labels.kind,
        x=x,
        column=np.repeat(np.arange(len(counts)), counts).astype(np.int32),
        y=labels.codes if classification else labels.numbers,
        n_classes=len(labels.classes) if classification else 1,
    )
    left_out = [(table.columns[j], "--exclude") for j in sorted(excluded)] + encoder.left_out
    return EncodedFile(
        encoded, labels.classes, labels.reason, dict(encoder.used), left_out, [*table.notes, *labels.notes]
    )
