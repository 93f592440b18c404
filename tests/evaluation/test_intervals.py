"""Intervals hold what they promise; extrapolation follows a power law and stays silent without one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from vsacli.evaluation.intervals import bootstrap, extrapolate, wilson


@pytest.mark.parametrize(("right", "n"), [(0, 10), (7, 10), (10, 10), (93, 100), (1, 3)])
def test_wilson_against_scipy(right: int, n: int) -> None:
    expected = binomtest(right, n).proportion_ci(method="wilson")
    found = wilson(right / n, n)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        data = rng.normal(3.0, 1.0, 40)
        interval = bootstrap(lambda i, d=data: {"mean": float(d[i].mean())}, 40, rng)["mean"]
        assert interval.value == pytest.approx(data.mean())
        hits += interval.low <= 3.0 <= interval.high
    assert 0.88 <= hits / 200 <= 0.99


def test_bootstrap_holds_its_own_value_and_skips_undefined_figures() -> None:
    rng = np.random.default_rng(0)
    found = bootstrap(lambda i: {"spread": float(np.ptp(i)), "never": float("nan")}, 20, rng)
    assert found["spread"].low <= found["spread"].value <= found["spread"].high
    assert np.isnan(found["never"].low)


def test_extrapolation_of_a_power_law_is_exact() -> None:
    sizes = np.array([5, 10, 20, 40])
    assert extrapolate(sizes, 0.8 * sizes**-0.5, 160) == pytest.approx(0.8 * 160**-0.5)


@pytest.mark.parametrize("errors", [[0.1, 0.2, 0.3], [0.2, 0.2, 0.2], [0.1, 0.3, 0.09, 0.28]])
def test_no_law_no_estimate(errors: list[float]) -> None:
    assert extrapolate([5, 10, 20, 40][: len(errors)], errors, 100) is None


def test_two_points_are_no_law() -> None:
    assert extrapolate([5, 10], [0.2, 0.1], 20) is None
