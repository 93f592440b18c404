"""Which columns the answers depend on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tiny import Recorder
from vsacli.insight.column_importance import MOST_COLUMNS, MOST_ROWS, UsedColumns, column_importances
from vsacli.labeling.run import LabelOptions

OPTIONS = LabelOptions(target="y", device="cpu")


def silent(step: str, done: int, total: int) -> None:
    pass


def columns_of(*widths: tuple[int, int]) -> UsedColumns:
    """Columns (place, attributes) without text."""
    return UsedColumns(widths, np.zeros(sum(width for _, width in widths), bool))


def make_table(n: int, noise: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One attribute that separates two classes, one constant within the labeled rows, and noise."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    x = 0.1 * rng.normal(size=(n, noise + 1)).astype(np.float32)
    x[:, 0] += 10 * codes
    labeled = np.arange(n) < 10
    return x, labeled, codes[labeled]


def test_the_column_that_decides_comes_first_and_the_others_change_nothing():
    x, labeled, y = make_table(80, 3)
    found = column_importances(
        Recorder().checkpoint(), x, labeled, y, 2, columns_of((4, 1), (0, 1), (7, 2)), OPTIONS, silent
    )
    assert found[0].column == 4
    assert found[0].rows == pytest.approx(0.5, abs=0.2)  # of shuffled rows half land in the other class
    assert found[0].change == pytest.approx(found[0].rows, abs=0.01)
    assert {(f.column, f.rows) for f in found[1:]} == {(0, 0.0), (7, 0.0)}
    assert all(f.change < 0.01 for f in found[1:])


def test_attributes_of_one_column_move_together():
    x, labeled, y = make_table(80, 2)
    x[:, 1] = 2 * x[:, 0]  # shuffled alone, each would leave the other to go by
    asked = Recorder()
    column_importances(asked.checkpoint(), x, labeled, y, 2, columns_of((0, 2), (1, 1)), OPTIONS, silent)
    assert len(asked.batches) == 3
    rows = [{tuple(sorted(row)) for row in batch.x[0].tolist()} for batch in asked.batches]
    moved = [batch.x[0].double().numpy() for batch in asked.batches]
    twins = [[np.array_equal(m[:, i], 2 * m[:, j]) for i in range(3) for j in range(3)] for m in moved]
    assert all(sum(pairs) == 1 for pairs in twins)
    assert len(rows[0] & rows[1]) < 40  # of 70 rows few keep their other attribute; the 10 labeled ones do
    assert len(rows[0] & rows[1]) >= 10


def test_cost_is_bounded():
    x, labeled, y = make_table(600, 39)
    asked = Recorder()
    found = column_importances(
        asked.checkpoint(), x, labeled, y, 2, columns_of(*((j, 1) for j in range(40))), OPTIONS, silent
    )
    assert len(found) == MOST_COLUMNS
    assert found[0].column == 0
    assert len(asked.batches) == MOST_COLUMNS + 1
    assert all(batch.x.shape[1] == 10 + MOST_ROWS for batch in asked.batches)


def test_numbers():
    x, labeled, _ = make_table(80, 2)

    class Sum(Recorder):
        def __call__(self, batch):  # type: ignore[no-untyped-def]
            import torch

            from vsacli.nn import RegressionOutput

            mean = batch.x[:, batch.n_labeled :].amax(2, keepdim=True)  # the attribute that is large
            return RegressionOutput(mean, torch.ones_like(mean))

    y = np.arange(10.0)
    found = column_importances(
        Sum("regression").checkpoint(), x, labeled, y, 0, columns_of((0, 1), (1, 1), (2, 1)), OPTIONS, silent
    )
    assert found[0].column == 0
    assert found[0].change == pytest.approx(np.sqrt(2), abs=0.4)  # two draws of one distribution
    assert all(f.rows == 0 for f in found)
    assert all(f.change < 0.1 for f in found[1:])
