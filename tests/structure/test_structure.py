"""The structure of a table: what its graph says of rows, against plain computations and plain cases."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.structure import TableStructure
from vsacli.structure.answers import CLASS_CHANNELS, SPACE_ANSWERS, STRENGTHS, class_answers, number_answers
from vsacli.structure.distances import squared_distances
from vsacli.structure.graph import NEIGHBOURS, WIDTH_NEIGHBOUR, Graph
from vsacli.structure.metric import Metric


def groups(n: int = 240, k: int = 3, m: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in k groups far apart, and the group of each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centres = 8 * rng.permutation(np.eye(max(k, m)))[:k, :m]
    return (centres[y] + rng.normal(size=(n, m))).astype(np.float32), y


def plain_graph(points: np.ndarray) -> np.ndarray:
    """D^-1/2 W D^-1/2, written down row by row."""
    n = len(points)
    distance = np.array([[np.linalg.norm(a - b) for b in points] for a in points])
    order = [[j for j in np.argsort(distance[i], kind="stable") if j != i] for i in range(n)]
    width = [distance[i, order[i][WIDTH_NEIGHBOUR - 1]] for i in range(n)]
    w = np.zeros((n, n))
    for i in range(n):
        for j in order[i][:NEIGHBOURS]:
            w[i, j] = w[j, i] = np.exp(-(distance[i, j] ** 2) / (width[i] * width[j]))
    root = np.sqrt(w.sum(1))
    return w / root[:, None] / root[None]


def test_the_graph_is_the_one_written_down_plainly():
    points = np.random.default_rng(1).normal(size=(40, 3))
    np.testing.assert_allclose(Graph.of(points).walk.toarray(), plain_graph(points), atol=1e-9)


def test_influence_and_coordinates_satisfy_their_equations():
    points = np.random.default_rng(2).normal(size=(90, 3))
    graph = Graph.of(points)
    s = graph.walk.toarray()
    sources = np.array([3, 17])
    for alpha in STRENGTHS:
        g = graph.influence(sources, alpha)
        np.testing.assert_allclose((np.eye(90) - alpha * s) @ g, np.eye(90)[:, sources], atol=1e-8)
    coordinates, values = graph.diffusion(5)
    walk = s * np.sqrt(graph.degrees)[None] / np.sqrt(graph.degrees)[:, None]  # D^-1 W
    weighted = np.average(coordinates, axis=0, weights=graph.degrees)  # 0 for an eigenvector
    np.testing.assert_allclose(walk @ (coordinates - weighted), (coordinates - weighted) * values, atol=1e-3)
    np.testing.assert_allclose((coordinates**2).mean(0), 1, atol=1e-9)
    assert ((coordinates**3).sum(0) > 0).all()
    assert (np.diff(values) <= 1e-9).all()


def test_groups_apart_have_coordinates_of_eigenvalue_one():
    """Five components: the constant and four others, all found, each constant within a group."""
    x, y = groups(n=400, k=5, m=5)
    graph = Graph.of(5 * x.astype(np.float64))
    coordinates, values = graph.diffusion(8)
    np.testing.assert_allclose(values[:4], 1, atol=1e-6)
    assert values[4] < 0.999
    for c in range(5):
        np.testing.assert_allclose(np.ptp(coordinates[y == c][:, :4], axis=0), 0, atol=1e-9)


def test_answers_of_labeled_rows_do_not_know_their_own_label():
    """Leaving a label out, one at a time, gives what the answers of labeled rows say at once."""
    x, y = groups(60, 2)
    graph = Graph.of(Metric.fit(x).apply(x))
    labeled = np.array([0, 1, 2, 3, 4, 5])
    answers = class_answers(graph, labeled, y[labeled], 2)
    numbers = number_answers(graph, labeled, y[labeled] * 3.0 + labeled)
    for i in range(len(labeled)):
        others = np.delete(labeled, i)
        without = class_answers(graph, others, y[others], 2)
        np.testing.assert_allclose(answers[labeled[i], :, :4], without[labeled[i], :, :4], atol=1e-6)
        without = number_answers(graph, others, y[others] * 3.0 + others)
        np.testing.assert_allclose(numbers[labeled[i], :, :3], without[labeled[i], :, :3], atol=1e-6)


def test_one_label_a_class_answers_rows_in_groups():
    x, y = groups()
    labeled = np.array([int(np.flatnonzero(y == c)[0]) for c in range(3)])
    structure = TableStructure.fit(x, labeled, y[labeled], 3)
    assert structure is not None
    found = structure.of_landmarks
    rest = np.setdiff1d(np.arange(len(x)), labeled)
    assert found.answers.shape == (len(x), 3, CLASS_CHANNELS + SPACE_ANSWERS)
    assert (found.answers[rest, :, 0].argmax(1) == y[rest]).mean() > 0.98
    assert np.isnan(found.answers[labeled]).all()  # no other label of their class: nothing to say
    np.testing.assert_allclose(found.weights[:2], 1, atol=1e-4)  # two coordinates tell three groups apart
    assert found.weights[2] < 0.9


def test_numbers_along_the_graph():
    x, y = groups()
    labeled = np.arange(6)
    structure = TableStructure.fit(x, labeled, 10.0 * y[labeled], 0)
    assert structure is not None
    np.testing.assert_allclose(structure.of_landmarks.answers[6:, 0, 0], 10.0 * y[6:], atol=0.5)


def test_classes_with_more_labels_win_no_more_rows():
    """Class mass normalization: ten labels against one, on rows of which nothing is known, split them about evenly."""
    x = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    labeled = np.arange(11)
    y = np.array([1] + [0] * 10)
    structure = TableStructure.fit(x, labeled, y, 2)
    assert structure is not None
    by_mass, plain = (structure.of_landmarks.answers[11:, :, a].argmax(1).mean() for a in (1, 2))
    assert plain < 0.3 < by_mass


def test_rows_beside_the_landmarks_have_what_landmarks_have():
    x, y = groups(400)
    labeled = np.arange(9)
    structure = TableStructure.fit(x[:200], labeled, y[labeled], 3)
    assert structure is not None
    found = structure.at(x[200:])
    assert (found.answers[:, :, 0].argmax(1) == y[200:]).mean() > 0.98
    for c in range(3):
        own = structure.of_landmarks.coordinates[y[:200] == c].mean(0)
        np.testing.assert_allclose(found.coordinates[y[200:] == c].mean(0)[:2], own[:2], atol=0.15)


def test_a_row_far_out_and_cells_without_value_change_nothing_else():
    x, y = groups()
    x[5, 0] = 1e30
    x[6] = np.nan
    labeled = np.arange(3)
    structure = TableStructure.fit(x, labeled, y[labeled], 3)
    assert structure is not None
    found = structure.of_landmarks
    assert np.isfinite(found.coordinates).all()
    assert np.isfinite(found.answers[3:]).all()
    rest = np.arange(7, len(x))
    assert (found.answers[rest, :, 0].argmax(1) == y[rest]).mean() > 0.9


@pytest.mark.parametrize(
    "x", [np.ones((50, 3), np.float32), np.zeros((5, 2), np.float32), np.zeros((50, 0), np.float32)]
)
def test_no_structure(x: np.ndarray):
    assert TableStructure.fit(x, np.array([0, 1]), np.array([0, 1]), 2) is None


def test_a_yes_or_no_weighs_as_one_unit_and_a_number_as_one_deviation():
    x = np.array([[0, 10], [1, 20], [0, 30], [1, 40]], np.float32)
    points = Metric.fit(x).apply(x)
    assert np.ptp(points[:, 0]) == pytest.approx(1.0)
    assert points[:, 1].std() == pytest.approx(1.0, rel=0.05)
    d = squared_distances(points, points)
    assert d[0, 0] == 0
    assert d[0, 1] == pytest.approx(((points[0] - points[1]) ** 2).sum())
