"""Label spreading (Zhou et al., "Learning with local and global consistency", 2003) in closed form.

F = (I - alpha S)^-1 Y with S = D^-1/2 W D^-1/2, W an RBF graph over labeled and unlabeled rows without
self-loops. S does not depend on the labels, so leaving one label out only drops its column: the
leave-one-out answers that choose `gamma` and `alpha` cost nothing beyond the solution itself.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod
from vsacli.structure.distances import squared_distances


class LabelSpreading(SimpleMethod):
    """Label spreading, bandwidth and amount of spreading chosen by leave-one-out on the labeled rows.

    Bandwidths are multiples of the median heuristic. Below `least` labels per class the choice is noise (measured on
    meta-training tables: worse than none), so the first of each list is used, the best fixed pair on those tables.
    """

    def __init__(
        self,
        bandwidths: tuple[float, ...] = (2.0, 0.5, 8.0, 32.0),
        alphas: tuple[float, ...] = (0.2,),
        least: int = 5,
    ):
        self.bandwidths = bandwidths
        self.alphas = alphas
        self.least = least

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        distances = squared_distances(rows.all, rows.all)
        off_diagonal = distances[~np.eye(len(distances), dtype=bool)]
        median = float(np.median(off_diagonal)) or 1.0
        labels = np.eye(rows.n_seen)[rows.y]
        candidates = list(product(self.bandwidths, self.alphas))
        if labels.sum(axis=0).min() < max(2, self.least):
            candidates = candidates[:1]
        best, best_loss = None, np.inf
        for bandwidth, alpha in candidates:
            influence = spread(distances, bandwidth / median, alpha, len(labels))
            loss = _leave_one_out_loss(influence[: len(labels)], labels) if len(candidates) > 1 else 0.0
            if loss < best_loss - 1e-9:
                best, best_loss = influence, loss
        assert best is not None  # the loss is clipped, so the first candidate is always below infinity
        return _rows_to_one(best[len(labels) :] @ labels, labels)


def spread(distances: Floats, gamma: float, alpha: float, n_labeled: int) -> Floats:
    """Influence of each labeled row on every row: the first columns of (I - alpha S)^-1.

    Parameters
    ----------
    distances : (N, N) squared distances, labeled rows first
    gamma : RBF kernel exp(-gamma d^2)
    alpha : amount of spreading, in (0, 1)
    n_labeled : L

    Returns
    -------
    (N, L)
    """
    n = len(distances)
    graph = np.exp(-gamma * distances)
    np.fill_diagonal(graph, 0.0)
    # A row far from all others has no edge left in floating point: it keeps its own label and no other.
    scale = 1.0 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-300))
    system = np.eye(n) - alpha * (scale[:, None] * graph * scale[None, :])
    return np.linalg.solve(system, np.eye(n, n_labeled))


def _rows_to_one(scores: Floats, labels: Floats) -> Floats:
    """Normalise each row; one that no label reached gets the class frequencies."""
    scores = np.maximum(scores, 0.0)
    total = scores.sum(axis=1, keepdims=True)
    reached = total > 1e-300
    return np.where(reached, scores / np.where(reached, total, 1.0), labels.mean(axis=0))


def _leave_one_out_loss(influence: Floats, labels: Floats) -> float:
    """Mean log loss of each labeled row answered by the other labels."""
    others = influence - np.diag(np.diag(influence))
    probs = _rows_to_one(others @ labels, labels)
    return float(-np.mean(np.log(np.maximum((probs * labels).sum(axis=1), 1e-6))))
