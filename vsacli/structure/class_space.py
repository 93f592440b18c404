"""The space in which classes are round: rows of a class differ alike in all of its directions.

points (n, M), some labels, first shares of the classes --EM--> a map (M, K), class means (C, K)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from vsacli.structure.distances import squared_distances
from vsacli.structure.graph import BLOCK
from vsacli.structure.metric import Floats

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

SOFTER = 0.25
"""Weight of a distance to a class mean in logarithms, of 1 for normal classes: real ones are not normal ..."""

COUNTED = 4.0
"""... and their directions are not independent: so many of them count in full at most."""

LEAST = 1e-12


@dataclass(frozen=True)
class ClassSpace:
    """A map to the space, and what is known of the classes there.

    Class means and their common covariance are fitted to all rows, labeled or probably of a class, by EM (a mixture of
    normal classes of one covariance), from given shares of the classes on. The labels of a class hold its mean as one
    further row would.

    Attributes
    ----------
    centre : ndarray, shape (M,)
    directions : ndarray, shape (M, K)
        From points, less their centre.
    means : ndarray, shape (C, K)
        Of the classes, in the space.
    weights : ndarray, shape (C,)
        Rows of each class in the last round, the one further row included.
    """

    centre: Floats
    directions: Floats
    means: Floats
    weights: Floats

    @classmethod
    def fit(cls, points: Floats, y: NDArray[np.int64], n_classes: int, first: Floats) -> ClassSpace:
        """The space of the classes of some rows.

        Parameters
        ----------
        points : ndarray, shape (n, M)
            Rows (:class:`vsacli.structure.metric.Metric`), at least two.
        y : ndarray of int, shape (n,)
            Their classes, -1 where unknown; each class is known of one row at least.
        n_classes : int
            C.
        first : ndarray, shape (up to n, C)
            Shares of each class to start from, for the first rows.
        """
        centre = points.mean(0)
        axes = _principal(points - centre)
        whitening, means, weights = _round_classes((points - centre) @ axes, y, n_classes, first)
        return cls(centre, axes @ whitening, means, weights)

    def place(self, points: Floats) -> Floats:
        """Points (u, M) in the space, (u, K)."""
        return (points - self.centre) @ self.directions

    def logits(self, placed: Floats) -> Floats:
        """What distances (u, K) to class means say: log shares (u, C) but for a constant of each row."""
        return -0.5 * self._weight * squared_distances(placed, self.means)

    def own_logits_without(self, placed: Floats, y: NDArray[np.int64]) -> Floats:
        """The logit (L,) of its own class for each of all labeled rows (L, K), as if its label were unknown.

        Of the only label of a class it is NaN.
        """
        count = np.bincount(y, minlength=len(self.means)).astype(np.float64)
        total = np.zeros_like(self.means)
        np.add.at(total, y, placed)
        alone = count[y] < 2
        others = np.maximum(count[y] - 1, 1)[:, None]
        with_label = self.means[y] * self.weights[y][:, None]  # sum of the class's rows and of the mean of its labels
        held = (total[y] - placed) / others - total[y] / count[y][:, None]
        mean = (with_label - placed + held) / np.maximum(self.weights[y] - 1, 1)[:, None]
        found = -0.5 * self._weight * ((placed - mean) ** 2).sum(1)
        return np.where(alone, np.nan, found)

    @property
    def _weight(self) -> float:
        return min(SOFTER, COUNTED / self.directions.shape[1])


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


def _round_classes(z: Floats, y: NDArray[np.int64], n_classes: int, first: Floats) -> tuple[Floats, Floats, Floats]:
    """A map (K, K) to a space in which classes spread alike in all directions, class means (C, K) in it, their weights.

    Parameters
    ----------
    z : ndarray, shape (n, K)
    y : ndarray of int, shape (n,)
        -1 where unknown.
    n_classes : int
    first : ndarray, shape (up to n, C)
        First shares of each class, for the first rows.
    """
    k = z.shape[1]
    given, free = y >= 0, np.flatnonzero(y < 0)
    count = np.bincount(y[given], minlength=n_classes).astype(np.float64)
    total = np.zeros((n_classes, k))
    np.add.at(total, y[given], z[given])
    labels = total / np.maximum(count, 1)[:, None]
    whitening, means, n = np.eye(k), labels, count
    step = max(1, BLOCK // n_classes)
    for number in range(ROUNDS + 1):
        used = free if number else free[free < len(first)]
        n, sums = count + 1, total + labels
        for start in range(0, len(used), step):
            rows = used[start : start + step]
            share = softmax(-0.5 * squared_distances(z[rows] @ whitening, means)) if number else first[rows]
            n += share.sum(0)
            sums += share.T @ z[rows]
        centres = sums / n[:, None]
        every = z[given].T @ z[given] + z[used].T @ z[used]
        crossed = (sums - labels).T @ centres
        spread_within = (every - crossed - crossed.T + (centres.T * (n - 1)) @ centres) / (n - 1).sum()
        even = max(float(np.trace(spread_within)) / k, LEAST)
        spread_within = (1 - SHRINKAGE) * spread_within + SHRINKAGE * even * np.eye(k)
        whitening = np.linalg.inv(np.linalg.cholesky(spread_within)).T
        means = centres @ whitening
    return whitening, means, n


def softmax(scores: Floats) -> Floats:
    """Softmax over the last axis, safe for large scores."""
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)
