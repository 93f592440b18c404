"""From a table that was read to one that episodes are drawn from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError
from vsacli.tasks.store import EncodedTable

if TYPE_CHECKING:
    from vsacli.prepare import Prepared

LEAST_ROWS = 20


def as_task(prepared: Prepared, name: str) -> EncodedTable:
    """A table that was read, as `EncodedTable`; its family is its name."""
    labels, classification = prepared.target, prepared.target.kind == "classification"
    return EncodedTable(
        name=name,
        family=name,
        kind=labels.kind,
        x=prepared.attributes.x,
        column=prepared.attributes.source,
        y=labels.codes.astype(np.int64) if classification else labels.numbers.astype(np.float64),
        n_classes=len(labels.classes) if classification else 1,
        further=prepared.attributes.further,
        words=prepared.attributes.words,
    )


def training_task(prepared: Prepared, name: str, **changes: object) -> EncodedTable:
    """A table for meta-training, with other fields of :class:`EncodedTable` as given.

    Raises
    ------
    DataError
        If the table cannot be used: too few labeled rows, one class, or equal targets.
    """
    labels = prepared.target
    if labels.n_labeled < LEAST_ROWS:
        raise DataError(f"{labels.n_labeled} labeled rows are too few (at least {LEAST_ROWS})")
    table = as_task(prepared, name)
    if table.kind == "classification":
        if table.n_classes < 2:
            raise DataError("one class only")
    elif not np.nanstd(table.y) > 0:
        raise DataError("all targets are equal")
    return replace(table, **changes)
