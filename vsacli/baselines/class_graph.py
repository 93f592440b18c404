"""Label propagation along a graph in the space in which classes are round (:mod:`vsacli.structure.class_space`)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from vsacli.baselines.base import Floats, Rows
from vsacli.baselines.propagation import NearestGraph, class_answers
from vsacli.structure.class_space import ClassSpace
from vsacli.structure.graph import influence


class ClassGraph(NearestGraph):
    """Label propagation twice: its answers along the graph of attributes begin an EM of classes of one common
    covariance, and labels spread anew among the nearest rows by the distance that this covariance defines.

    The strength was chosen on meta-training tables (`benchmarks/graphs.py`).
    """

    def graph_of_classes(self, rows: Rows, rng: np.random.Generator) -> tuple[ClassSpace, sparse.csr_array]:
        """The space, and the matrix S (n, n) of the graph of all rows in it."""
        points, n = rows.all, len(rows.y)
        first = np.concatenate([np.eye(rows.n_seen)[rows.y], super().classify(rows, rng)])
        known = np.concatenate([rows.y, np.full(len(points) - n, -1)])
        space = ClassSpace.fit(points, known, rows.n_seen, first)
        return space, self.walk(space.place(points), rng)

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        space, walk = self.graph_of_classes(rows, rng)
        spread = influence(walk, np.arange(len(rows.y)), self.usual)
        return class_answers(spread, rows, space.place(rows.all))

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        raise TypeError("there are no classes among numbers")
