"""Label propagation along a graph in the space in which classes are round (:mod:`vsacli.structure.class_space`)."""

from __future__ import annotations

import numpy as np

from vsacli.baselines.base import Floats, Rows
from vsacli.baselines.propagation import NearestGraph, class_answers
from vsacli.structure.class_space import ClassSpace
from vsacli.structure.graph import influence


class ClassGraph(NearestGraph):
    """Label propagation twice: the answers along the graph of attributes are the start of EM for normal classes with a
    common covariance; then labels spread along the graph of nearest neighbours in Mahalanobis distance.

    The strength was chosen on meta-training tables (`benchmarks/graphs.py`).
    """

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        points, n = rows.all, len(rows.y)
        first = np.concatenate([np.eye(rows.n_seen)[rows.y], super().classify(rows, rng)])
        known = np.concatenate([rows.y, np.full(len(points) - n, -1)])
        placed = ClassSpace.fit(points, known, rows.n_seen, first).place(points)
        return class_answers(influence(self.walk(placed, rng), np.arange(n), self.usual), rows, placed)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        raise TypeError(f"{type(self).__name__} does not predict numbers")
