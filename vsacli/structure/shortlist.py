"""Likely classes of the rows of a table with many classes, without a network.

labeled and other rows --> a space in which classes are round --> labels spread along graphs, class means --> (u, C)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from vsacli.structure.distances import squared_distances
from vsacli.structure.graph import BLOCK, Graph, spread
from vsacli.structure.metric import Floats, Metric

DIRECTIONS = 40
"""Principal directions of the attributes at most."""

FEW_ATTRIBUTES = 256
"""Attributes whose covariances are decomposed as a whole."""

VARIANCE = 0.99
"""Share of the variance that they hold, if so few can."""

ROUNDS = 8
"""Rounds in which class means and their common spread are estimated from all rows."""

SHRINKAGE = 0.1
"""Share of the common spread that is taken to be the same in all directions."""

FAR, NEAR = 0.9, 0.6
"""How far labels spread along the graph of attributes as they are, and along that of the space of classes."""

SHARPER = 2.0, 1.3
"""Powers of the two: probabilities along a graph are too even."""

SOFTER = 0.25
"""Weight of a distance to a class mean in logarithms, of 1 for normal classes: real ones are not normal ..."""

COUNTED = 4.0
"""... and their directions are not independent: so many of them count in full at most."""

LEAST = 1e-12


@dataclass(frozen=True)
class Shortlist:
    """Shares of each class for any row: the mean of three simple answers.

    Labels spread along a graph of attributes as they are; labels spread along a graph in the space of the classes; and
    the distances to class means in that space. Rows of a class, labeled or probably of it, differ alike in all of its
    directions: means and their common covariance are fitted by EM, from the first answers on.

    Attributes
    ----------
    metric : Metric
    plain, round : Graph
        Of the same n landmarks: attributes as they are, and in the space of the classes.
    along_plain, along_round : ndarray of float32, shape (n, C)
        Shares of each class along them.
    centre : ndarray, shape (M,)
    directions : ndarray, shape (M, K)
        From attributes, less their centre, to the space of the classes.
    means : ndarray, shape (C, K)
    """

    metric: Metric
    plain: Graph
    round: Graph
    along_plain: NDArray[np.float32]
    along_round: NDArray[np.float32]
    centre: Floats
    directions: Floats
    means: Floats

    def __len__(self) -> int:
        return len(self.along_plain)

    @classmethod
    def fit(cls, x: np.ndarray, y: NDArray[np.int64], n_classes: int, landmarks: int) -> Shortlist:
        """The shortlist of a table.

        Parameters
        ----------
        x : ndarray of float32, shape (n, M)
            Attributes of two rows or more, NaN where not observed; their order decides between equal distances.
        y : ndarray of int, shape (n,)
            Their classes, -1 where unknown. Each class is at least once among the landmarks.
        n_classes : int
            C.
        landmarks : int
            The first rows, which the graphs are of.
        """
        x = _some(x)
        metric = Metric.fit(x)
        points = metric.apply(x)
        centre = points.mean(0)
        axes = _principal(points - centre)
        plain = Graph.of(points[:landmarks])
        known = np.eye(n_classes)[y[:landmarks]] * (y[:landmarks] >= 0)[:, None]
        scores = np.maximum(spread(plain.walk, known, FAR), LEAST)
        along_plain = scores / scores.sum(0)  # no class wins rows by having better connected labels
        along_plain /= along_plain.sum(1, keepdims=True)
        whitening, means = _round_classes((points - centre) @ axes, y, n_classes, along_plain)
        directions = axes @ whitening
        graph = Graph.of((points[:landmarks] - centre) @ directions)
        scores = np.maximum(spread(graph.walk, known, NEAR), LEAST)
        along_round = scores / scores.sum(1, keepdims=True)
        return cls(
            metric,
            plain,
            graph,
            along_plain.astype(np.float32),
            along_round.astype(np.float32),
            centre,
            directions,
            means,
        )

    def at(self, x: np.ndarray) -> NDArray[np.float32]:
        """Shares of each class (u, C) for rows (u, M); each row sums to 1."""
        out = np.empty((len(x), len(self.means)), np.float32)
        step = max(1, BLOCK // (8 * len(self.means)))
        for start in range(0, len(x), step):
            out[start : start + step] = self._block(x[start : start + step])
        return out

    def _block(self, x: np.ndarray) -> Floats:
        points = self.metric.apply(_some(x))
        placed = (points - self.centre) @ self.directions
        along_plain = _between(self.plain, points, self.along_plain) ** SHARPER[0]
        along_round = _between(self.round, placed, self.along_round) ** SHARPER[1]
        weight = min(SOFTER, COUNTED / self.directions.shape[1])
        from_means = _softmax(-0.5 * weight * squared_distances(placed, self.means))
        found = along_plain / along_plain.sum(1, keepdims=True) + along_round / along_round.sum(1, keepdims=True)
        found += from_means
        return found / found.sum(1, keepdims=True)


def _some(x: np.ndarray) -> np.ndarray:
    """Attributes (n, M), or one that is always the same if there is none."""
    return x if x.shape[1] else np.zeros((len(x), 1), np.float32)


def _between(graph: Graph, points: Floats, values: NDArray[np.float32]) -> Floats:
    """Values of landmarks (n, C) averaged over the nearest ones of points (u, K), (u, C)."""
    near, share = graph.neighbours(points)
    out = np.zeros((len(points), values.shape[1]))
    for k in range(near.shape[1]):
        out += share[:, k, None] * values[near[:, k]]
    return out


def _principal(points: Floats) -> Floats:
    """Principal directions (M, K) of points (n, M) of mean 0."""
    m = points.shape[1]
    k = min(DIRECTIONS, m)
    values, vectors = np.zeros(0), np.zeros((m, 0))
    if m > FEW_ATTRIBUTES:
        operator = LinearOperator((m, m), matvec=lambda v: points.T @ (points @ v), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=m)  # fixed, and of no special direction
        with suppress(ArpackNoConvergence, ArpackError):
            values, vectors = eigsh(operator, k, which="LA", v0=start, tol=1e-6)
    if not len(values):
        values, vectors = eigh(points.T @ points, subset_by_index=(m - k, m - 1))
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], np.asarray(vectors, np.float64)[:, order]
    held = np.cumsum(np.maximum(values, 0)) / max(float((points**2).sum()), LEAST)
    return vectors[:, : int((held < VARIANCE).sum()) + 1]


def _round_classes(z: Floats, y: NDArray[np.int64], n_classes: int, first: Floats) -> tuple[Floats, Floats]:
    """A map (K, K) to a space in which classes spread alike in all directions, and class means (C, K) in it.

    Parameters
    ----------
    z : ndarray, shape (n, K)
    y : ndarray of int, shape (n,)
        -1 where unknown.
    n_classes : int
    first : ndarray, shape (landmarks, C)
        First shares of each class, for the first rows.
    """
    k = z.shape[1]
    given, free = y >= 0, np.flatnonzero(y < 0)
    count = np.bincount(y[given], minlength=n_classes).astype(np.float64)
    total = np.zeros((n_classes, k))
    np.add.at(total, y[given], z[given])
    labels = total / count[:, None]  # each mean is held by the labels as by one further row
    whitening, means = np.eye(k), labels
    step = max(1, BLOCK // n_classes)
    for number in range(ROUNDS + 1):
        used = free if number else free[free < len(first)]
        n, sums = count.copy(), total.copy()
        for start in range(0, len(used), step):
            rows = used[start : start + step]
            share = _softmax(-0.5 * squared_distances(z[rows] @ whitening, means)) if number else first[rows]
            n += share.sum(0)
            sums += share.T @ z[rows]
        centres = (sums + labels) / (n + 1)[:, None]
        every = z[given].T @ z[given] + z[used].T @ z[used]
        crossed = sums.T @ centres
        spread_within = (every - crossed - crossed.T + (centres.T * n) @ centres) / n.sum()
        even = max(float(np.trace(spread_within)) / k, LEAST)
        spread_within = (1 - SHRINKAGE) * spread_within + SHRINKAGE * even * np.eye(k)
        whitening = np.linalg.inv(np.linalg.cholesky(spread_within)).T
        means = centres @ whitening
    return whitening, means


def _softmax(scores: Floats) -> Floats:
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)
