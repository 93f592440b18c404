"""From columns and an understood label column to a table ready for episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.encoder import AttributeEncoder
from vsacli.errors import DataError
from vsacli.tasks.store import EncodedTable

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.target.column import Target

LEAST_ROWS = 20


def encode_table(
    name: str,
    columns: Sequence[tuple[str, pa.Array]],
    labels: Target,
    *,
    decimal: str = ".",
    family: str | None = None,
    split: str = "train",
    weight: float = 1.0,
    tags: tuple[str, ...] = (),
) -> EncodedTable:
    """Encode a table's columns and labels for meta-training.

    Parameters
    ----------
    name : str
    columns : sequence of (str, pa.Array)
        All columns but the labels; names may repeat.
    labels : Target
    decimal : str
        Decimal mark of text columns.
    family, split, weight, tags
        As in :class:`EncodedTable`; the family is the name where not given.

    Raises
    ------
    DataError
        If the table is of no use: no attribute, too few labeled rows, one class, or equal targets.
    """
    encoder = AttributeEncoder()
    x = encoder.fit_transform(columns, decimal)
    counts = encoder.widths
    if x.shape[1] == 0:
        raise DataError("no usable attribute")
    if labels.n_labeled < LEAST_ROWS:
        raise DataError(f"{labels.n_labeled} labeled rows are too few (at least {LEAST_ROWS})")
    if labels.kind == "classification":
        y, n_classes = labels.codes.astype(np.int64), len(labels.classes)
        if n_classes < 2:
            raise DataError("one class only")
    else:
        y, n_classes = labels.numbers.astype(np.float64), 1
        if not np.nanstd(y.astype(np.float64)) > 0:
            raise DataError("all targets are equal")
    return EncodedTable(
        name=name,
        family=name if family is None else family,
        kind=labels.kind,
        x=x,
        column=np.repeat(np.arange(len(counts)), counts).astype(np.int32),
        y=y,
        n_classes=n_classes,
        split=split,
        weight=weight,
        tags=tags,
    )
