"""Encoded tables for tests, each of whose values says which row and attribute it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from vsacli.kinds import TaskKind
from vsacli.tasks.store import EncodedTable


def table_of(
    name: str = "t", kind: TaskKind = "classification", n: int = 80, m: int = 5, classes: int = 3, **fields: Any
) -> EncodedTable:
    """Attribute j of row i is 1000 (j + 1) + i + 1; labels are random."""
    rng = np.random.default_rng(n + m)
    x = (1000 * (np.arange(m) + 1) + np.arange(n)[:, None] + 1).astype(np.float32)
    if kind == "classification":
        y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)]).astype(np.int64)
    else:
        y, classes = rng.normal(size=n), 1
    return EncodedTable(name, fields.pop("family", name), kind, x, np.arange(m, dtype=np.int32), y, classes, **fields)


def rows_of(x: np.ndarray) -> np.ndarray:
    """The rows of `table_of` that the rows of `x` are, whatever their attributes and signs."""
    rows = np.abs(x).astype(int) % 1000 - 1
    assert (rows == rows[:, :1]).all()
    return rows[:, 0]


def attributes_of(x: np.ndarray) -> np.ndarray:
    """The attributes of `table_of` that those of `x` are."""
    attributes = np.abs(x).astype(int) // 1000 - 1
    assert (attributes == attributes[:1]).all()
    return attributes[0]
