"""Robust scaling with a smooth clip."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.attributes.scaling import LIMIT, RobustScale


def test_the_formula() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 9.0, np.nan])
    z = (x - 3.0) / ((4.0 - 2.0) / 1.3489795003921634)
    np.testing.assert_allclose(RobustScale.fit(x).apply(x), z / np.sqrt(1 + (z / 4) ** 2), rtol=1e-6)


def test_normal_numbers_keep_unit_variance() -> None:
    x = 1e13 + 1e3 * np.random.default_rng(0).normal(size=20_000)
    scaled = RobustScale.fit(x).apply(x)
    assert scaled.dtype == np.float32
    assert abs(np.median(scaled)) < 0.02
    assert 0.85 < scaled.std() < 1.0  # a little less than 1, because of the clip


def test_infinities_and_the_ends_of_float64() -> None:
    x = np.array([np.inf, -np.inf, 1e308, -1e308, 3.5, 1e38, np.nan])
    scaled = RobustScale.fit(x).apply(x)
    assert scaled[0] == LIMIT
    assert scaled[1] == -LIMIT
    assert np.isnan(scaled[6])
    assert (np.abs(scaled[2:6]) < LIMIT).all()
    assert scaled[3] < scaled[4] <= scaled[5] < scaled[2]


@pytest.mark.parametrize("values", [[np.inf, -np.inf], [1.7e308, -1.7e308, 0.0], [5e-324, 0.0, 1e-320], [1e308, 1e308]])
def test_nothing_becomes_infinite_or_nan(values: list[float]) -> None:
    x = np.array(values)
    scaled = RobustScale.fit(x).apply(x)
    assert np.isfinite(scaled).all()
    assert (np.diff(scaled[np.argsort(x)]) >= 0).all()


def test_one_outlier_does_not_flatten_the_rest() -> None:
    x = np.concatenate([np.arange(20.0), [1e15]])
    assert np.ptp(RobustScale.fit(x).apply(x)[:20]) > 1.5


def test_mostly_one_value() -> None:
    """The median of |x - 0| over {1, 3, 5, 1e15} is 4."""
    x = np.array([0.0] * 20 + [1.0, 3.0, 5.0, 1e15])
    z = np.array([0.25, 0.75, 1.25])
    scaled = RobustScale.fit(x).apply(x)
    assert (scaled[:20] == 0).all()
    np.testing.assert_allclose(scaled[20:23], z / np.sqrt(1 + (z / 4) ** 2), rtol=1e-6)
    assert scaled[23] == pytest.approx(LIMIT)


def test_two_values_are_0_and_1() -> None:
    scale = RobustScale.fit(np.array([7.0, 3.0, 3.0, np.nan]))
    np.testing.assert_array_equal(scale.apply(np.array([3.0, 7.0, 5.0, 1e300, -np.inf])), [0, 1, 0.5, LIMIT, -LIMIT])
