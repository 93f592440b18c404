"""Label propagation against plain computations: every sum written out, every left-out label really removed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vsacli.baselines.class_graph import ClassGraph
from vsacli.baselines.propagation import ForestGraph, NearestGraph, nearest_by_leaves, shared_leaves
from vsacli.tasks.episode import Episode

ALPHAS = (0.3, 0.9, 0.99)


def walk(x: np.ndarray) -> np.ndarray:
    """D^-1/2 W D^-1/2 of ten nearest neighbours with self-tuning widths, entry by entry."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    z = z / np.sqrt(1 + (z / 5) ** 2)
    n = len(z)
    distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in z] for a in z])
    near = [sorted((j for j in range(n) if j != i), key=lambda j, i=i: distance[i, j])[:10] for i in range(n)]
    width = [distance[i, near[i][6]] for i in range(n)]
    w = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            w[i, j] = w[j, i] = np.exp(-(distance[i, j] ** 2) / (width[i] * width[j]))
    degree = w.sum(axis=1)
    return w / np.sqrt(degree[:, None] * degree[None])


def class_shares(s: np.ndarray, labels: dict[int, int], proportions: np.ndarray, alpha: float) -> np.ndarray:
    """Propagation of the given labels, each class scaled so that its answers sum to its proportion; (n, C)."""
    start = np.zeros((len(s), len(proportions)))
    for row, c in labels.items():
        start[row, c] = 1.0
    f = np.linalg.solve(np.eye(len(s)) - alpha * s, start)
    f = proportions * f / f.sum(axis=0)
    return f / f.sum(axis=1, keepdims=True)


def loss_of_left_out(s: np.ndarray, y: np.ndarray, proportions: np.ndarray, alpha: float) -> float:
    losses = []
    for i in range(len(y)):
        others = {j: int(c) for j, c in enumerate(y) if j != i}
        losses.append(-np.log(class_shares(s, others, proportions, alpha)[i, y[i]]))
    return float(np.mean(losses))


@pytest.mark.parametrize(("shots", "extra"), [(1, 0), (4, 0), (3, 3)])
def test_classes(blobs, shots: int, extra: int) -> None:
    episode = blobs(shots=shots, n_unlabeled=50, seed=shots)
    n = episode.n_labeled + extra  # some labels more, so that classes have different numbers of them
    episode = replace(episode, n_labeled=n, scored=episode.scored[extra:])
    y = episode.y[:n]
    proportions = np.bincount(y) / n
    s = walk(episode.x.astype(np.float64))
    method = NearestGraph(alphas=ALPHAS, usual=0.8, least=3)
    alpha = 0.8
    if shots >= 3:
        losses = {a: loss_of_left_out(s, y, proportions, a) for a in ALPHAS}
        alpha = min(losses, key=losses.__getitem__)
    expected = class_shares(s, dict(enumerate(y.tolist())), proportions, alpha)[n:]
    found = method.fit_predict(episode, np.random.default_rng(0))
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-6, atol=1e-9)


def test_rows_that_no_label_reaches_are_answered_by_the_nearest_label() -> None:
    """Three groups far apart, labels in two of them: the third one is nearer to the second."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 2)) + np.repeat([[-60.0], [0], [40]], 30, axis=0)
    order = np.r_[0, 30, np.delete(np.arange(90), [0, 30])]
    y = np.repeat([0, 1, 1], 30)[order]
    for method in (NearestGraph(), ForestGraph(n_trees=20)):
        episode = Episode(x[order].astype(np.float32), 2, y, "classification", 2, np.ones(88, bool))
        probs = method.fit_predict(episode, np.random.default_rng(0)).probabilities
        assert (probs.argmax(axis=1) == episode.answer).mean() > 0.95
    third = NearestGraph().fit_predict(episode, np.random.default_rng(0)).probabilities[58:]
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    z = (z / np.sqrt(1 + (z / 5) ** 2))[order]
    distance = np.linalg.norm(z[60:, None] - z[:2], axis=2)
    np.testing.assert_allclose(np.log(third[:, 1] / third[:, 0]), distance[:, 0] - distance[:, 1], atol=1e-5)


def test_numbers(line) -> None:
    episode = line(n_labeled=8, n_unlabeled=40)
    s, y = walk(episode.x.astype(np.float64)), episode.y[:8].astype(np.float64)
    left_out_by, answers = [], []
    for alpha in (0.99, 0.97, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3):
        influence = np.linalg.inv(np.eye(48) - alpha * s)[:, :8]
        left_out = []
        for i in range(8):
            others = [j for j in range(8) if j != i]
            left_out.append(sum(influence[i, j] * y[j] for j in others) / sum(influence[i, j] for j in others))
        left_out_by.append(left_out)
        answers.append(influence[8:] @ y / influence[8:].sum(axis=1))
    likelihood = np.mean((np.array(left_out_by) - y) ** 2, axis=1) ** -4.0  # of eight labels
    share = likelihood / likelihood.sum()
    found = NearestGraph().fit_predict(episode, np.random.default_rng(0))
    np.testing.assert_allclose(found.mean, share @ np.array(answers), rtol=1e-6)
    np.testing.assert_allclose(found.std, np.sqrt(np.mean((share @ np.array(left_out_by) - y) ** 2)), rtol=1e-6)


def test_what_is_not_observed_is_in_the_middle(blobs) -> None:
    """And a column of two values keeps its range of one, as in the structure that the network reads."""
    episode = blobs(n_unlabeled=30)
    x = episode.x.astype(np.float64)
    x[:, 0] = x[:, 0] > 0
    x[::4, 1] = np.nan
    points = NearestGraph().attributes(x)
    assert np.ptp(points[:, 0]) == pytest.approx(1.0)
    assert (points[::4, 1] == 0).all()
    assert points[np.isfinite(x[:, 1]), 1].mean() == pytest.approx(0.0, abs=0.05)


def test_the_order_of_equal_rows_does_not_favour_labeled_ones() -> None:
    """A hundred equal rows: labeled ones, which stand first, are not the neighbours of all others."""
    x = np.zeros((100, 2))
    for method in (NearestGraph(), ForestGraph(n_trees=5)):
        degree = np.asarray((method.walk(x, np.random.default_rng(0)) > 0).sum(axis=0)).ravel()
        assert degree[:10].mean() < 3 * degree.mean()


def test_rows_that_share_leaves() -> None:
    share = np.eye(4) + np.array([[0, 3, 1, 2], [3, 0, 0, 2], [1, 0, 0, 5], [2, 2, 5, 0]]) / 10
    near, values = nearest_by_leaves(share)
    assert near.tolist() == [[1, 3, 2], [0, 3, 2], [3, 0, 1], [2, 0, 1]]
    np.testing.assert_allclose(values, [[0.3, 0.2, 0.1], [0.3, 0.2, 0], [0.5, 0.1, 0], [0.5, 0.2, 0.2]], atol=1e-9)


def test_shared_leaves_are_counted_tree_by_tree() -> None:
    """Two groups far apart in two columns that depend on each other: rows of a group meet four times as often."""
    rng = np.random.default_rng(0)
    group = np.arange(80) % 2
    x = 10.0 * group[:, None] + rng.standard_normal((80, 2))
    share = shared_leaves(x, rng, 40)
    assert (np.diag(share) == 1).all()
    np.testing.assert_array_equal(share, share.T)
    np.testing.assert_allclose(share * 40, np.round(share * 40))
    same = group[:, None] == group
    assert share[same].mean() > 3 * share[~same].mean()


def test_trees_ignore_columns_that_say_nothing_of_the_others() -> None:
    """Six columns of categories tell the groups, thirty of numbers add noise that drowns them in distances."""
    rng = np.random.default_rng(3)
    y = np.concatenate([[0, 1], rng.integers(2, size=298)])
    x = rng.standard_normal((300, 36)).astype(np.float32)
    x[:, :6] = np.where(rng.random((300, 6)) < 0.9, y[:, None], 1 - y[:, None])
    episode = Episode(x, 2, y, "classification", 2, np.ones(298, bool))
    accuracy = [
        np.mean(m.fit_predict(episode, np.random.default_rng(0)).probabilities.argmax(axis=1) == episode.answer)
        for m in (NearestGraph(), ForestGraph())
    ]
    assert accuracy[1] > 0.9
    assert accuracy[1] > accuracy[0] + 0.05


def test_the_graph_of_classes_forgets_directions_in_which_all_classes_vary() -> None:
    """Three groups six apart along one axis, blurred by twelve along three others, rotated: z-scores undo nothing."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.concatenate([np.arange(3).repeat(3), rng.integers(3, size=300)])
        x = np.concatenate([6 * y[:, None] + rng.standard_normal((309, 1)), 12 * rng.standard_normal((309, 3))], axis=1)
        x = (x @ np.linalg.qr(rng.standard_normal((4, 4)))[0]).astype(np.float32)
        episode = Episode(x, 9, y, "classification", 3, np.ones(300, bool))
        answers = (m.fit_predict(episode, np.random.default_rng(0)) for m in (NearestGraph(), ClassGraph()))
        found.append([np.mean(a.probabilities.argmax(axis=1) == episode.answer) for a in answers])
    plain, by_class = np.mean(found, axis=0)
    assert by_class > plain + 0.15
