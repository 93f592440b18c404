"""Label propagation over all rows of an episode, along a graph of nearest neighbours or of shared leaves.

F = (I - alpha S)^-1 Y as in :mod:`vsacli.baselines.label_spreading`, which takes a dense graph of one bandwidth; here
each row has ten neighbours (:mod:`vsacli.structure.graph`), and no class wins rows by having better connected labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vsacli.baselines.base import Floats, Rows, SimpleMethod, log_loss, seed_from
from vsacli.structure.class_space import softmax
from vsacli.structure.distances import squared_distances
from vsacli.structure.graph import NEIGHBOURS, Graph, influence, walk_between
from vsacli.structure.metric import Metric

LEAST = 1e-12
"""Influence below which no label reaches a row."""

STRENGTHS = (0.99, 0.97, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3)
"""Values of alpha whose answers for numbers are averaged."""


class Propagation(SimpleMethod):
    """Labels spread along a graph of all rows; how far (`alpha`) is settled by leave-one-out on the labeled rows.

    Classes: each class's influence is scaled to its share of the labels (class mass normalization: Zhu, Ghahramani
    and Lafferty, 2003); a row in a part of the graph without a label is answered by the nearest labels. Below `least`
    labels per class leave-one-out answers are noise (on 90 meta-training tables 0.1 to 0.4 points worse than none with
    3 and 5 labels per class, 0.2 better with 10), and `usual` is taken. Numbers: the mean of the labels weighted by
    their influence, averaged over `STRENGTHS` by the likelihood of their leave-one-out errors, whose deviation it has
    (on 60 meta-training tables 2 to 4% less squared error than the best strength alone).

    S does not depend on the labels, so leaving one out only drops its column.
    """

    def __init__(self, alphas: tuple[float, ...], usual: float, least: int = 10):
        self.alphas = alphas
        self.usual = usual
        self.least = least

    def attributes(self, x: NDArray[np.floating]) -> Floats:
        """Coordinates of :class:`vsacli.structure.metric.Metric`, what is not observed in the middle."""
        return Metric.fit(x).apply(x) if x.shape[1] else np.zeros((len(x), 1))

    def graph(self, points: Floats, rng: np.random.Generator) -> sparse.csr_array:
        """The matrix S (n, n) of the graph of some points (n, M); their order decides between equal neighbours."""
        raise NotImplementedError

    def walk(self, points: Floats, rng: np.random.Generator) -> sparse.csr_array:
        """The same, in which chance decides: labeled rows come first, and would be everyone's neighbours."""
        order = rng.permutation(len(points))
        place = np.argsort(order)
        return self.graph(points[order], rng)[place][:, place]

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        one_hot = np.eye(rows.n_seen)[rows.y]
        walk = self.walk(rows.all, rng)
        enough = one_hot.sum(axis=0).min() >= self.least
        best, best_loss = np.zeros(0), np.inf
        for alpha in self.alphas if enough else (self.usual,):
            spread = influence(walk, np.arange(len(one_hot)), alpha)
            loss = log_loss(rows.y, _left_out_classes(spread, one_hot)) if enough else 0.0
            if loss < best_loss:
                best, best_loss = spread, loss
        return class_answers(best, rows, rows.all)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        walk, n = self.walk(rows.all, rng), len(rows.y)
        answers, errors = [], []
        for alpha in STRENGTHS:
            spread = np.maximum(influence(walk, np.arange(n), alpha), LEAST)
            answers.append(spread[n:] @ rows.y / spread[n:].sum(axis=1))
            others = spread[:n] * (1 - np.eye(n))
            errors.append(others @ rows.y / others.sum(axis=1) - rows.y)
        loss = np.maximum(np.mean(np.square(errors), axis=1), LEAST)
        share = softmax(-0.5 * n * np.log(loss))
        std = np.sqrt(np.mean(np.square(share @ np.array(errors))))
        return share @ np.array(answers), np.full(len(rows.unlabeled), std)


class NearestGraph(Propagation):
    """Along the graph of ten nearest neighbours, with self-tuning widths."""

    def __init__(self, alphas: tuple[float, ...] = (0.9, 0.7, 0.5), usual: float = 0.9, least: int = 10):
        super().__init__(alphas, usual, least)

    def graph(self, points: Floats, rng: np.random.Generator) -> sparse.csr_array:
        return Graph.of(points).walk


class ForestGraph(Propagation):
    """Along the graph of the ten rows that share most leaves of trees trained without labels.

    Extremely randomised trees learn to distinguish the rows from rows with shuffled columns (Shi and Horvath,
    "Unsupervised learning with random forest predictors", 2006): they split where columns depend on each other.
    """

    def __init__(
        self,
        alphas: tuple[float, ...] = (0.9, 0.7, 0.5),
        usual: float = 0.8,
        least: int = 10,
        n_trees: int = 100,
    ):
        super().__init__(alphas, usual, least)
        self.n_trees = n_trees

    def graph(self, points: Floats, rng: np.random.Generator) -> sparse.csr_array:
        return walk_between(*nearest_by_leaves(shared_leaves(points, rng, self.n_trees)))[0]


def shared_leaves(x: Floats, rng: np.random.Generator, n_trees: int) -> Floats:
    """The share of trees (n, n) in which two rows fall into the same leaf; x is (n, M)."""
    from sklearn.ensemble import ExtraTreesClassifier

    shuffled = rng.permuted(x, axis=0)
    real = np.arange(2 * len(x)) < len(x)
    trees = ExtraTreesClassifier(n_trees, min_samples_leaf=5, random_state=seed_from(rng), n_jobs=1)
    leaves = trees.fit(np.concatenate([x, shuffled]), real).apply(x)  # (n, trees)
    together = np.zeros((len(x), len(x)))
    for leaf in leaves.T:
        together += leaf[:, None] == leaf
    return together / n_trees


def nearest_by_leaves(share: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The ten rows (n, k) that each one shares most leaves with, and the shares (n, k); of equal ones the first."""
    k = min(NEIGHBOURS, len(share) - 1)
    others = share.copy()
    np.fill_diagonal(others, -1.0)
    near = np.argsort(-others, axis=1, kind="stable")[:, :k]
    return near, np.maximum(np.take_along_axis(others, near, axis=1), LEAST)


def class_answers(spread: Floats, rows: Rows, points: Floats) -> Floats:
    """Probabilities (U, K) of unlabeled rows by what each labeled row passes on to all rows, (N, L).

    Each class has the share of all answers that it has of the labels. Rows that no label reaches are answered by the
    nearest of each class, where ``points`` (N, D) are the coordinates of all rows.
    """
    one_hot = np.eye(rows.n_seen)[rows.y]
    n = len(one_hot)
    scores = spread @ one_hot
    probs = _shares(scores, spread.sum(axis=0) @ one_hot, one_hot.mean(axis=0))[n:]
    lost = scores[n:].sum(axis=1) < LEAST
    probs[lost] = _nearest_labels(points[n:][lost], points[:n], rows.y)
    return probs


def _shares(scores: Floats, mass: Floats, proportions: Floats) -> Floats:
    """Probabilities (N, C) from scores, each class's total ``mass`` (C,) or (N, C) scaled to its proportion."""
    reached = scores.sum(axis=1, keepdims=True) >= LEAST
    scaled = np.where(reached, proportions * scores / np.maximum(mass, LEAST), proportions)
    return scaled / scaled.sum(axis=1, keepdims=True)


def _nearest_labels(points: Floats, labeled: Floats, y: NDArray[np.int64]) -> Floats:
    """Probabilities (u, C) by the distance of each class's nearest labeled row."""
    distance = np.sqrt(squared_distances(points, labeled))
    return softmax(-np.stack([distance[:, y == c].min(axis=1) for c in range(y.max() + 1)], axis=1))


def _left_out_classes(spread: Floats, one_hot: Floats) -> Floats:
    """Probabilities (L, C) of each labeled row, as if its own label were unknown."""
    n = len(one_hot)
    own = np.diag(spread[:n])
    scores = spread[:n] @ one_hot - own[:, None] * one_hot
    mass = spread.sum(axis=0)
    return _shares(scores, mass @ one_hot - mass[:, None] * one_hot, one_hot.mean(axis=0))
