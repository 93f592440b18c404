"""Likely classes of the rows of a table with many classes, without a network.

labeled and other rows --> a space in which classes are round --> labels spread along graphs, class means --> (u, C)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vsacli.structure.class_space import LEAST, ClassSpace, softmax
from vsacli.structure.graph import BLOCK, Graph, spread
from vsacli.structure.metric import Floats, Metric

FAR, NEAR = 0.9, 0.6
"""How far labels spread along the graph of attributes as they are, and along that of the space of classes."""

SHARPER = 2.0, 1.3
"""Powers of the two: probabilities along a graph are too even."""


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
    space : ClassSpace
    """

    metric: Metric
    plain: Graph
    round: Graph
    along_plain: NDArray[np.float32]
    along_round: NDArray[np.float32]
    space: ClassSpace

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
        plain = Graph.of(points[:landmarks])
        known = np.eye(n_classes)[y[:landmarks]] * (y[:landmarks] >= 0)[:, None]
        scores = np.maximum(spread(plain.walk, known, FAR), LEAST)
        along_plain = scores / scores.sum(0)  # no class wins rows by having better connected labels
        along_plain /= along_plain.sum(1, keepdims=True)
        space = ClassSpace.fit(points, y, n_classes, along_plain)
        graph = Graph.of(space.place(points[:landmarks]))
        scores = np.maximum(spread(graph.walk, known, NEAR), LEAST)
        along_round = scores / scores.sum(1, keepdims=True)
        return cls(
            metric,
            plain,
            graph,
            along_plain.astype(np.float32),
            along_round.astype(np.float32),
            space,
        )

    def at(self, x: np.ndarray) -> NDArray[np.float32]:
        """Shares of each class (u, C) for rows (u, M); each row sums to 1."""
        out = np.empty((len(x), len(self.space.means)), np.float32)
        step = max(1, BLOCK // (8 * len(self.space.means)))
        for start in range(0, len(x), step):
            out[start : start + step] = self._block(x[start : start + step])
        return out

    def _block(self, x: np.ndarray) -> Floats:
        points = self.metric.apply(_some(x))
        placed = self.space.place(points)
        along_plain = _between(self.plain, points, self.along_plain) ** SHARPER[0]
        along_round = _between(self.round, placed, self.along_round) ** SHARPER[1]
        from_means = softmax(self.space.logits(placed))
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
