"""Where a closed form is far surer of itself than the network, it answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from vsacli import VSARegressor
from vsacli.nn.answers import CAUTIOUS, LEAST_LEFT, with_exact


def mixed(var: float, error: float) -> tuple[float, float]:
    """What becomes of a network's 0 beside a closed form's 1."""
    mean, left = with_exact(*(torch.tensor([[[v]]], dtype=torch.float64) for v in (0, var, 1, error)))
    return float(mean), float(left)


def test_the_closed_form_answers_only_where_it_is_far_surer() -> None:
    assert mixed(1.0, 1.0)[0] < 0.005
    assert mixed(1.0, 1 / 16)[0] == 0.5
    assert mixed(1.0, 1 / 100)[0] > 0.95
    assert mixed(1e-4, 1e-6)[0] > 0.95


def test_what_is_left_is_neither_nothing_nor_more_than_before() -> None:
    np.testing.assert_allclose(mixed(1.0, 0.0), (1, LEAST_LEFT))
    np.testing.assert_allclose(mixed(1.0, 0.02)[1], 1 - mixed(1.0, 0.02)[0] * (1 - CAUTIOUS * 0.02))
    assert mixed(1.0, 10.0)[1] == 1


def test_sums_of_attributes_are_answered_exactly() -> None:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(160, 4)).round(3), columns=list("abcd"))
    y = 3 * x["a"] - 2 * x["b"] + x["c"]
    given = y.where(np.arange(160) < 30)
    mean, std = VSARegressor().fit(x, given).predict(x[30:], return_std=True)
    away = np.abs(mean - y[30:])
    assert away.mean() < 0.005 * y.std()
    assert (away < 3 * std).mean() > 0.95


def test_sums_of_skewed_amounts_are_exact_far_from_all_labels() -> None:
    rng = np.random.default_rng(1)
    x = pd.DataFrame(
        {"work": rng.lognormal(4, 0.6, 500), "material": rng.lognormal(4, 1, 500), "other": rng.normal(size=500)}
    )
    y = x["work"] + x["material"]
    given = y.where(np.arange(500) < 30)
    mean, _ = VSARegressor().fit(x, given).predict(x[30:], return_std=True)
    away = np.abs(mean - y[30:])
    assert y[30:].max() > 3 * given.max()
    assert away.max() < 0.01 * y.std()
