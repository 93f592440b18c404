"""The paper's Circle-Spiral data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from vsacli.errors import UsageError
from vsacli.tasks.synthetic.circle_spiral import circle_spiral


def test_sizes_are_those_of_the_paper() -> None:
    tasks = circle_spiral(seed=3)
    assert len(tasks) == 100
    assert len({task.name for task in tasks}) == 100
    assert sum(task.shape == "circle" for task in tasks) == 50
    assert {task.x.shape[0] for task in tasks} == {100}
    assert {task.x.shape[1] for task in tasks} == set(range(2, 11))
    for task in tasks:
        classes, counts = np.unique(task.y, return_counts=True)
        assert len(classes) == task.n_classes == (2 if task.shape == "circle" else 5)
        assert set(counts) == {50 if task.shape == "circle" else 20}
        assert task.x.dtype == np.float32
        assert task.y.dtype == np.int64


def test_seed_and_number_decide_the_tasks() -> None:
    a, b, c = circle_spiral(4, seed=1), circle_spiral(4, seed=1), circle_spiral(4, seed=2)
    assert all(np.array_equal(s.x, t.x) and np.array_equal(s.y, t.y) for s, t in zip(a, b, strict=True))
    assert any(s.x.shape != t.x.shape or not np.array_equal(s.x, t.x) for s, t in zip(a, c, strict=True))
    assert circle_spiral(2, seed=0, n_examples=125)[0].x.shape[0] == 125


def test_classes_are_circles_of_two_radii_and_arms_that_wind() -> None:
    for task in circle_spiral(40, seed=0, n_examples=500):
        plane = task.x[:, task.place]
        assert KNeighborsClassifier(1).fit(plane[:400], task.y[:400]).score(plane[400:], task.y[400:]) > 0.97
        radius, angle = np.hypot(*plane.T), np.arctan2(plane[:, 1], plane[:, 0])
        if task.shape == "circle":
            inner, outer = radius[task.y == 0], radius[task.y == 1]
            assert np.median(outer) / np.median(inner) == pytest.approx(2.0, rel=0.05)
        else:
            # The angle grows by half a turn along an arm: unwound by the radius, it is the arm's own.
            t = (radius / np.quantile(radius, 0.99) - 0.2) / 0.8
            turn = (angle / (2 * np.pi) - 0.5 * t) % 1.0
            error = np.abs((turn - task.y / 5 + 0.5) % 1.0 - 0.5)
            assert np.median(error) < 0.03


def test_other_attributes_are_standard_noise_and_the_plane_has_their_scale() -> None:
    tasks = circle_spiral(60, seed=0, n_examples=300)
    plane = np.concatenate([task.x[:, task.place].ravel() for task in tasks])
    noise = np.concatenate([np.delete(task.x, task.place, axis=1).ravel() for task in tasks])
    assert plane.std() == pytest.approx(1.0, abs=0.03)
    assert noise.std() == pytest.approx(1.0, abs=0.02)
    assert noise.mean() == pytest.approx(0.0, abs=0.02)
    assert len({task.place for task in tasks}) > 20  # attributes are permuted


def test_too_few_examples_are_refused() -> None:
    with pytest.raises(UsageError, match="5 examples"):
        circle_spiral(3, n_examples=4)
    with pytest.raises(UsageError, match="needs a task"):
        circle_spiral(0)
