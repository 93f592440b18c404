"""The structure of a table, computed once before the network reads any part of it.

x (n, M), labeled rows, y --landmarks--> graph --> coordinates, answers --nearest landmarks--> any row
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vsacli.structure.answers import SHARES, class_answers, number_answers
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
        Answers along the graph (:mod:`vsacli.structure.answers`); NaN where there are none.
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
    """

    metric: Metric
    graph: Graph
    of_landmarks: RowStructure

    @classmethod
    def fit(cls, x: np.ndarray, labeled: NDArray[np.int64], y: np.ndarray, n_classes: int) -> TableStructure | None:
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
        if n_classes:
            answers = class_answers(graph, labeled, np.asarray(y, np.int64), n_classes)
        else:
            answers = number_answers(graph, labeled, np.asarray(y, np.float64))
        weights = np.clip(values, 0, 1) ** MEMORY_OF_WALKS
        found = (np.ascontiguousarray(v, np.float32) for v in (coordinates, weights, answers))
        return cls(metric, graph, RowStructure(*found))

    @property
    def class_shares(self) -> NDArray[np.float64]:
        """Shares of the classes (n, C) of each landmark, as labels spread along the graph; equal ones where none do."""
        logs = np.nan_to_num(self.of_landmarks.answers[:, :, SHARES].astype(np.float64))
        shares = np.exp(logs - logs.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)

    def at(self, x: np.ndarray) -> RowStructure:
        """The structure of any rows (u, M): that of their nearest landmarks, averaged by closeness."""
        near, share = self.graph.neighbours(self.metric.apply(x))
        landmarks = self.of_landmarks
        answers = np.nan_to_num(landmarks.answers)[near]  # (u, k, C, A)
        there = landmarks.answered[near] * share  # (u, k)
        total = there.sum(1)
        mean: Floats = np.einsum("uk,ukca->uca", there, answers) / np.where(total > 0, total, 1.0)[:, None, None]
        mean[total == 0] = np.nan
        coordinates = np.einsum("uk,ukc->uc", share, landmarks.coordinates[near])
        return RowStructure(coordinates.astype(np.float32), landmarks.weights, mean.astype(np.float32))
