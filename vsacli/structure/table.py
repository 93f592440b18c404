"""The structure of a table, computed once before the network reads any part of it.

x (n, M), labeled rows, y --landmarks--> graph --> coordinates, answers --nearest landmarks--> any row
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vsacli.structure.answers import CLASS_CHANNELS, SHARES, class_answers, number_answers, space_answers
from vsacli.structure.class_space import ClassSpace, softmax
from vsacli.structure.graph import Graph
from vsacli.structure.metric import Floats, Metric

COORDINATES = 8
"""Diffusion coordinates of a row."""

MEMORY_OF_WALKS = 8
"""The power of its eigenvalue with which a coordinate counts: after so many steps of a walk it is still visible."""

LEAST_ROWS = 12
"""Fewest different rows for a graph that carries information."""


@dataclass(frozen=True)
class RowStructure:
    """What the network reads of some rows.

    Attributes
    ----------
    coordinates : ndarray of float32, shape (N, K)
        Diffusion coordinates.
    weights : ndarray of float32, shape (K,)
        How much each coordinate counts, from 0 to 1.
    answers : ndarray of float32, shape (N, C, A)
        Answers along the graph (:mod:`vsacli.structure.answers`), for classes followed by those in their space, if it
        was asked for; NaN where there are none.
    """

    coordinates: np.ndarray
    weights: np.ndarray
    answers: np.ndarray

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Rows that have answers, (N,)."""
        return np.isfinite(self.answers[:, 0, 0])

    def take(self, rows: np.ndarray | slice) -> RowStructure:
        """The same of some of the rows."""
        return RowStructure(self.coordinates[rows], self.weights, self.answers[rows])

    def joined(self, other: RowStructure) -> RowStructure:
        """These rows, then others of the same table."""
        both = ((self.coordinates, other.coordinates), (self.answers, other.answers))
        coordinates, answers = map(np.concatenate, both)
        return RowStructure(coordinates, self.weights, answers)

    def flipped(self, signs: np.ndarray) -> RowStructure:
        """Coordinates times signs (K,): training must not learn anything from the sign of an eigenvector."""
        return RowStructure(self.coordinates * signs.astype(np.float32), self.weights, self.answers)


@dataclass(frozen=True)
class TableStructure:
    """The graph of a table's landmarks, with what it says of them.

    Attributes
    ----------
    metric : Metric
    graph : Graph
        Of n landmarks.
    of_landmarks : RowStructure
    space : ClassSpace, optional
        The space of the classes; None for numbers, and where nothing reads it.
    space_graph : Graph, optional
        Of the same landmarks, in it.
    """

    metric: Metric
    graph: Graph
    of_landmarks: RowStructure
    space: ClassSpace | None = None
    space_graph: Graph | None = None

    @classmethod
    def fit(
        cls, x: np.ndarray, labeled: NDArray[np.int64], y: np.ndarray, n_classes: int, *, class_space: bool = True
    ) -> TableStructure | None:
        """The structure of landmarks.

        Parameters
        ----------
        x : ndarray of float32, shape (n, M)
            Attributes of the landmarks, NaN where not observed. Their order decides between equal distances.
        labeled : ndarray of int, shape (L,)
            Positions of labeled landmarks; at least one.
        y : ndarray, shape (L,)
            Their classes (int), or targets if ``n_classes`` is 0.
        n_classes : int
            C, or 0 for numbers.
        class_space : bool
            Whether answers in the space of the classes are wanted: they take about half of the time.

        Returns
        -------
        TableStructure, or None
            None if there are too few rows, or if all of them have the same attributes.
        """
        if len(x) < LEAST_ROWS or x.shape[1] == 0:
            return None
        metric = Metric.fit(x)
        points = metric.apply(x)
        if not np.ptp(points, axis=0).any():
            return None
        graph = Graph.of(points)
        coordinates, values = graph.diffusion(COORDINATES)
        space, space_graph = None, None
        if n_classes:
            classes = np.asarray(y, np.int64)
            answers = class_answers(graph, labeled, classes, n_classes)
            if class_space:
                known = np.full(len(points), -1)
                known[labeled] = classes
                space = ClassSpace.fit(points, known, n_classes, _class_shares(answers))
                placed = space.place(points)
                space_graph = Graph.of(placed)
                answers = np.concatenate([answers, space_answers(space_graph, space, placed, labeled, classes)], -1)
        else:
            answers = number_answers(graph, labeled, np.asarray(y, np.float64))
        weights = np.clip(values, 0, 1) ** MEMORY_OF_WALKS
        found = (np.ascontiguousarray(v, np.float32) for v in (coordinates, weights, answers))
        return cls(metric, graph, RowStructure(*found), space, space_graph)

    @property
    def class_shares(self) -> NDArray[np.float64]:
        """Shares of the classes (n, C) of each landmark, as labels spread along the graph; equal ones where none do."""
        return _class_shares(self.of_landmarks.answers.astype(np.float64))

    def at(self, x: np.ndarray) -> RowStructure:
        """The structure of any rows (u, M): that of their nearest landmarks, averaged by closeness."""
        points = self.metric.apply(x)
        near, share = self.graph.neighbours(points)
        landmarks = self.of_landmarks
        parts = [_averaged(landmarks.answers[..., : self._of_graph], near, share)]
        if self.space is not None and self.space_graph is not None:
            placed = self.space_graph.neighbours(self.space.place(points))
            parts.append(_averaged(landmarks.answers[..., self._of_graph :], *placed))
        answers = np.concatenate(parts, -1)
        answers[~np.isfinite(answers).all((1, 2))] = np.nan
        coordinates = np.einsum("uk,ukc->uc", share, landmarks.coordinates[near])
        return RowStructure(coordinates.astype(np.float32), landmarks.weights, answers.astype(np.float32))

    @property
    def _of_graph(self) -> int:
        """Channels of the answers that come from the graph of the attributes."""
        return CLASS_CHANNELS if self.space is not None else self.of_landmarks.answers.shape[2]


def _class_shares(answers: Floats) -> Floats:
    """Shares of the classes (n, C) by answers (n, C, A); equal ones where there are none."""
    return softmax(np.nan_to_num(answers[:, :, SHARES]))


def _averaged(answers: np.ndarray, near: NDArray[np.int64], share: Floats) -> Floats:
    """Answers of landmarks (n, C, A) averaged over those near some rows (u, k): (u, C, A), NaN where none has any."""
    there = np.isfinite(answers[:, 0, 0])[near] * share  # (u, k)
    total = there.sum(1)
    shares = there / np.where(total > 0, total, 1.0)[:, None]
    mean: Floats = np.einsum("uk,ukca->uca", shares, np.nan_to_num(answers)[near])
    mean[total == 0] = np.nan
    return mean
