"""What the benchmark of unusual columns makes: tables of which one column decides, and few labels."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from tests.benchmarks.test_unlabeled_and_groups import script

KINDS = script("heard").KINDS


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, makers in KINDS.items() for name in makers])
def test_tables_have_one_column_that_decides(kind: str, name: str) -> None:
    text, truth, given = script("heard").make(KINDS[kind][name], 40, 5, 1)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] != "" for row in rows] == given.tolist()
    assert all(row["label"] == ("no", "yes")[c] for row, c, known in zip(rows, truth, given, strict=True) if known)
    assert np.bincount(truth[given]).tolist() == [5, 5]
    cells = [[row["says"] for row, c in zip(rows, truth, strict=True) if c == label] for label in (0, 1)]
    assert not set(cells[0]) & set(cells[1])
    if kind == "filled or empty":
        assert set(cells[0]) == {""}
        assert len(set(cells[1])) > 10
    elif kind == "part of a code":
        assert len({*cells[0], *cells[1]}) > 30
