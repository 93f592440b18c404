"""The space in which classes are round: its equations written down plainly, and labels that are left out of it."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.structure import TableStructure
from vsacli.structure.answers import CLASS_CHANNELS, space_answers
from vsacli.structure.class_space import SHRINKAGE, ClassSpace
from vsacli.structure.graph import Graph


def stretched(rows: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of three classes of one covariance, the class of each, and that covariance."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    root = rng.normal(size=(4, 4)) * np.array([2.0, 1.0, 0.8, 0.8])
    return 4 * rng.normal(size=(3, 4))[y] + rng.normal(size=(rows, 4)) @ root.T, y, root @ root.T


def test_with_all_labels_classes_have_the_same_spread_in_all_directions() -> None:
    """The covariance within classes, shrunk as documented, is one in the space; distances are Mahalanobis's."""
    points, y, _ = stretched()
    space = ClassSpace.fit(points, y, 3, np.zeros((0, 3)))
    placed = space.place(points)
    within = points - np.stack([points[y == c].mean(0) for c in range(3)])[y]
    covariance = within.T @ within / len(points)
    shrunk = (1 - SHRINKAGE) * covariance + SHRINKAGE * np.trace(covariance) / 4 * np.eye(4)
    assert space.directions.shape == (4, 4)
    difference = points[0] - points[1]
    expected = difference @ np.linalg.solve(shrunk, difference)
    assert ((placed[0] - placed[1]) ** 2).sum() == pytest.approx(expected, rel=1e-6)
    means = [placed[y == c].mean(0) for c in range(3)]
    np.testing.assert_allclose(space.means, means, atol=1e-8)
    np.testing.assert_allclose(space.weights, [201, 201, 201])


def test_a_few_labels_and_all_rows_find_about_the_same_space() -> None:
    points, y, covariance = stretched()
    known = np.where(np.arange(len(y)) < 30, y, -1)
    few = ClassSpace.fit(points, known, 3, np.full((600, 3), 1 / 3))
    every = ClassSpace.fit(points, y, 3, np.zeros((0, 3)))
    for space in (few, every):
        unit = space.directions.T @ covariance @ space.directions
        assert np.linalg.cond(unit) < 0.25 * np.linalg.cond(covariance)
    assert (few.logits(few.place(points)).argmax(1) == y).mean() > 0.95


def test_class_means_do_without_the_label_of_the_row_that_is_asked_about() -> None:
    """In a given space: the weighted mean of the class's rows and of its labels' mean, the row taken out of both."""
    points, y, _ = stretched(60)
    known = np.where(np.arange(60) < 12, y, -1)
    space = ClassSpace.fit(points, known, 3, np.full((60, 3), 1 / 3))
    placed = space.place(points)
    found = space.own_logits_without(placed[:12], y[:12])
    full = space.logits(placed[:12])[np.arange(12), y[:12]]
    for i in range(12):
        c = y[i]
        labels = placed[:12][y[:12] == c]
        others = np.delete(placed[:12], i, 0)[np.delete(y[:12], i) == c]
        rows = space.means[c] * space.weights[c] - labels.mean(0) - placed[i]
        mean = (rows + others.mean(0)) / (space.weights[c] - 1)
        scale = full[i] / ((placed[i] - space.means[c]) ** 2).sum()
        assert found[i] == pytest.approx(scale * ((placed[i] - mean) ** 2).sum())
        assert found[i] < full[i]  # further from what the others say


def test_labeled_rows_that_are_alone_in_their_class_have_no_answer() -> None:
    points, y, _ = stretched(60)
    labeled = np.array([0, 3, 1, 2])  # two of class 0, one of each other
    known = np.full(60, -1)
    known[labeled] = y[labeled]
    space = ClassSpace.fit(points, known, 3, np.full((60, 3), 1 / 3))
    placed = space.place(points)
    answers = space_answers(Graph.of(placed), space, placed, labeled, y[labeled])
    assert np.isnan(answers[[1, 2]]).all()
    assert np.isfinite(np.delete(answers, [1, 2], 0)).all()


def test_the_graph_in_that_space_does_without_own_labels() -> None:
    points, y, _ = stretched(90)
    labeled = np.arange(9)
    known = np.where(np.arange(90) < 9, y, -1)
    space = ClassSpace.fit(points, known, 3, np.full((90, 3), 1 / 3))
    placed = space.place(points)
    graph = Graph.of(placed)
    answers = space_answers(graph, space, placed, labeled, y[labeled])
    for i in range(9):
        others = np.delete(labeled, i)
        without = space_answers(graph, space, placed, others, y[others])
        np.testing.assert_allclose(answers[i, :, :3], without[i, :, :3], atol=1e-6)


def test_rows_that_are_no_landmarks_lie_in_the_space_too() -> None:
    """A direction in which all classes vary hides them from the graph of attributes, not from that of the classes."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(3).repeat(5), rng.integers(3, size=985)])
    x = np.concatenate([6 * y[:, None] + rng.normal(size=(1000, 1)), 12 * rng.normal(size=(1000, 3))], 1)
    x = (x @ np.linalg.qr(rng.normal(size=(4, 4)))[0]).astype(np.float32)
    structure = TableStructure.fit(x[:800], np.arange(15), y[:15], 3)
    assert structure is not None
    answers = structure.at(x[800:]).answers
    plain, in_space = ((answers[:, :, a].argmax(1) == y[800:]).mean() for a in (1, CLASS_CHANNELS))
    assert in_space > 0.75
    assert in_space > plain + 0.1
