"""Likely classes by a graph and class means: plain cases, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.structure.graph import Graph, influence, spread
from vsacli.structure.shortlist import Shortlist


def clusters(classes: int, rows: int, m: int = 6, apart: float = 4.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in clusters, and the cluster of each; the first row of each comes first."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
    return (apart * rng.normal(size=(classes, m))[y] + rng.normal(size=(rows, m))).astype(np.float32), y


def shares(x: np.ndarray, y: np.ndarray, classes: int, landmarks: int | None = None) -> np.ndarray:
    """Of all rows but the first of each class, whose labels are known."""
    known = np.where(np.arange(len(x)) < classes, y, -1)
    return Shortlist.fit(x, known, classes, landmarks or len(x)).at(x[classes:])


@pytest.mark.parametrize("landmarks", [500, 150], ids=["all rows", "landmarks"])
def test_clear_clusters_are_found_from_one_label_each(landmarks: int):
    x, y = clusters(40, 500)
    found = shares(x, y, 40, landmarks)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
    assert (found > 0).all()
    assert (found.argmax(1) == y[40:]).mean() > 0.97


def test_attributes_that_say_nothing_of_the_classes_do_not_hide_them():
    """The nearest labeled row is of the right class for fewer than half of the rows."""
    x, y = clusters(30, 600, m=4, apart=4)
    rng = np.random.default_rng(1)
    other = 20 * rng.normal(size=(600, 1)) @ rng.normal(size=(1, 6)) + rng.normal(size=(600, 6))
    x = np.concatenate([x @ rng.normal(size=(4, 6)) + other, x], 1).astype(np.float32)
    z = (x - x.mean(0)) / x.std(0)
    nearest = ((z[30:, None] - z[None, :30]) ** 2).sum(2).argmin(1)
    right = (nearest == y[30:]).mean()
    assert (shares(x, y, 30).argmax(1) == y[30:]).mean() > right + 0.1


def test_walks_from_several_sources_add_up():
    points = np.random.default_rng(2).normal(size=(60, 3))
    walk = Graph.of(points).walk
    start = np.zeros((60, 1))
    start[[3, 8], 0] = 1
    expected = influence(walk, np.array([3, 8]), 0.9).sum(1)
    np.testing.assert_allclose(spread(walk, start, 0.9)[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((60, 0), np.float32),
        np.ones((60, 3), np.float32),
        np.full((60, 2), np.nan, np.float32),
        np.random.default_rng(3).normal(size=(60, 400)).astype(np.float32),
    ],
    ids=["no attribute", "all alike", "nothing observed", "more attributes than rows"],
)
def test_odd_tables_have_shares(x: np.ndarray):
    found = shares(x, np.arange(60) % 30, 30)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
