"""Small tables for the tests of evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vsacli.tasks.store import EncodedTable


def class_table(name: str = "blobs", n: int = 120, n_classes: int = 3, seed: int = 0, **more) -> EncodedTable:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    x = 2.0 * rng.standard_normal((n_classes, 4))[y] + rng.standard_normal((n, 4))
    fields = {"family": name, "n_classes": n_classes, "y": y.astype(np.int64)} | more
    return EncodedTable(name=name, kind="classification", x=x.astype(np.float32), column=np.arange(4), **fields)


def number_table(name: str = "line", n: int = 80, seed: int = 0, **more) -> EncodedTable:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = 50.0 + 7.0 * x[:, 0] + rng.standard_normal(n)
    fields = {"family": name, "n_classes": 1, "y": y.astype(np.float32)} | more
    return EncodedTable(name=name, kind="regression", x=x.astype(np.float32), column=np.arange(3), **fields)


@pytest.fixture(name="class_table")
def _class_table() -> Callable[..., EncodedTable]:
    return class_table


@pytest.fixture(name="number_table")
def _number_table() -> Callable[..., EncodedTable]:
    return number_table
