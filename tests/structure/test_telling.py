"""How much attributes tell of the classes."""

from __future__ import annotations

import numpy as np

from vsacli.structure.telling import telling


def example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attributes (60, 4): one that tells all, noise, a constant, one mostly missing; shares (60, 3), classes (60,)."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = np.stack([y + 0.01 * rng.normal(size=60), rng.normal(size=60), np.ones(60), np.full(60, np.nan)], 1)
    x[:4, 3] = [1, 2, 3, 4]
    return x.astype(np.float32), np.eye(3)[y], y


def test_an_attribute_that_tells_the_classes_is_before_noise_and_constants():
    x, shares, y = example()
    labeled = np.arange(30)
    told = telling(x, shares, labeled, y[:30])
    assert 1.6 < told[0] <= 2
    assert told[1] < 0.4
    assert told[2] == 0
    assert np.isfinite(told).all()


def test_with_one_label_of_each_class_the_graph_decides():
    x, shares, y = example()
    told = telling(x[:, :2], shares, np.arange(3), y[:3])
    assert told[0] > told[1] + 0.5
    blurred = np.full_like(shares, 1 / 3)
    assert abs(np.diff(telling(x[:, :2], blurred, np.arange(3), y[:3]))) < 0.2


def test_only_the_order_of_values_counts():
    x, shares, y = example()
    bent = np.where(np.isfinite(x), np.exp(x), x)
    labeled = np.arange(9)
    np.testing.assert_allclose(telling(bent, shares, labeled, y[:9]), telling(x, shares, labeled, y[:9]))
