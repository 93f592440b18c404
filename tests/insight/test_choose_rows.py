"""Which rows are chosen to be labeled next."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from vsacli.insight.choose_rows import choose_rows, squared_distances


def covered(points: np.ndarray, labeled: np.ndarray, weight: np.ndarray, chosen: list[int]) -> float:
    """f(S) of the module's docstring, written out."""
    between = ((points[:, None] - points[None]) ** 2).sum(2)
    scale = np.median(between[between > 0])
    total = 0.0
    for i, point in enumerate(points):
        others = [*labeled, *points[chosen]]
        total += weight[i] * max(np.exp(-((point - other) ** 2).sum() / scale) for other in others)
    return total


def test_greedy_choice_is_nearly_the_best():
    rng = np.random.default_rng(0)
    points, labeled, weight = rng.normal(size=(12, 3)), rng.normal(size=(2, 3)), rng.random(12)
    chosen = choose_rows(points, labeled, weight, 3).tolist()
    base = covered(points, labeled, weight, [])
    best = max(covered(points, labeled, weight, list(c)) for c in combinations(range(12), 3))
    assert len(set(chosen)) == 3
    assert covered(points, labeled, weight, chosen) - base >= (1 - 1 / np.e) * (best - base)
    single = [covered(points, labeled, weight, [i]) for i in range(12)]
    assert chosen[0] == int(np.argmax(single))


def test_each_group_without_a_label_gets_one():
    rng = np.random.default_rng(1)
    centres = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    points = np.concatenate([c + 0.1 * rng.normal(size=(10, 2)) for c in centres])
    chosen = choose_rows(points, centres[:1], np.full(40, 0.5), 3)
    assert sorted(chosen // 10) == [1, 2, 3]


def test_of_two_groups_the_uncertain_one_comes_first():
    points = np.concatenate([np.zeros((10, 2)), np.full((10, 2), 5.0)])
    weight = np.repeat([0.1, 0.4], 10)
    assert choose_rows(points, np.full((1, 2), 99.0), weight, 1)[0] >= 10
    assert choose_rows(points, np.full((1, 2), 99.0), weight[::-1], 1)[0] < 10


def test_without_uncertainty_coverage_decides():
    points = np.array([[0.0], [0.1], [0.2], [8.0]])
    assert choose_rows(points, np.array([[0.1]]), np.zeros(4), 1).tolist() == [3]


def test_few_rows_equal_rows_and_none():
    assert sorted(choose_rows(np.zeros((3, 2)), np.zeros((1, 2)), np.ones(3), 9)) == [0, 1, 2]
    assert choose_rows(np.zeros((0, 2)), np.zeros((1, 2)), np.ones(0), 9).tolist() == []


def test_distances():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = np.array([[((p - q) ** 2).sum() for q in b] for p in a])
    np.testing.assert_allclose(squared_distances(a, b), expected, atol=1e-12)
