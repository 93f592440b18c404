"""The structure of a whole table for the passes of the network: computed once, looked up for the rows of each pass.

    labeled rows, unlabeled rows --at most LANDMARKS--> TableStructure --by contents--> rows of a pass

A landmark has its own values; any other row the average of its nearest landmarks. Landmarks,
and the order in which the graph reads them, depend on contents and the seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vsacli.attributes.packed import CompactAttributes, take_rows
from vsacli.inference.config import LABELS_THAT_TELL, MOST_ATTRIBUTES
from vsacli.inference.order import exact_hashes, reading_order, row_order
from vsacli.inference.passes import deal_contexts
from vsacli.structure import RowStructure, TableStructure
from vsacli.structure.telling import telling

LANDMARKS = 2048
"""Rows that a graph has at most: it takes about a second, and memory for a matrix between them."""

LABELED_LANDMARKS = 1024
"""Labeled rows among them at most."""


@dataclass(frozen=True)
class GivenRows:
    """The rows of a table, in orders of their contents.

    Attributes
    ----------
    x : ndarray of float32, or CompactAttributes, shape (n, M)
    signatures : ndarray of uint64, shape (M,)
    support : ndarray of int, shape (L,)
        Labeled rows.
    target : ndarray, shape (L,)
        Their classes or targets.
    n_classes : int
        C, or 0 for numbers.
    support_order : ndarray of int, shape (L,)
        Labeled rows in an order of their contents: positions in `support`.
    unlabeled : ndarray of int, shape (u,)
        No two alike, in an order of their contents.
    """

    x: np.ndarray | CompactAttributes
    signatures: np.ndarray
    support: np.ndarray
    target: np.ndarray
    n_classes: int
    support_order: np.ndarray
    unlabeled: np.ndarray

    @classmethod
    def of_part(
        cls, x: np.ndarray, n_labeled: int, target: np.ndarray, n_classes: int, signatures: np.ndarray, seed: int
    ) -> GivenRows:
        """A part of a table, labeled rows first, given the signatures of the whole."""
        support, others = np.arange(n_labeled), np.arange(n_labeled, len(x))
        order, first = reading_order(x, signatures, seed, others)
        by_contents = row_order(x, signatures, seed, target, rows=support)
        return cls(x, signatures, support, target, n_classes, by_contents, others[order[first]])


@dataclass(frozen=True)
class KnownStructure:
    """The structure of a table, for any row with the same attributes.

    Attributes
    ----------
    table : TableStructure
    order : ndarray of int, shape (M,)
        Attributes in the order in which the graph reads them.
    labeled : ndarray of int, shape (L,)
        The landmark of each labeled row; -1 for those that are not landmarks.
    hashes, places : ndarray, shape (number of unlabeled landmarks,)
        Their contents, sorted, and their landmarks.
    telling : ndarray, shape (M,), optional
        How well each attribute tells the classes apart (:func:`vsacli.structure.telling.telling`), if there are so many
        that not all of them are read, and labels enough to judge them.
    """

    table: TableStructure
    order: NDArray[np.int64]
    labeled: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]
    telling: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.table.of_landmarks)

    def of_rows(self, x: np.ndarray, labeled: np.ndarray) -> RowStructure:
        """The structure of rows ``x`` (k, M), given their positions (k,) among the labeled rows; -1: unlabeled."""
        landmarks = np.where(labeled >= 0, self.labeled[labeled], -1)
        free = np.flatnonzero(labeled < 0)
        if len(self.hashes) and len(free):
            hashes = exact_hashes(x[free])
            at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
            landmarks[free] = np.where(self.hashes[at] == hashes, self.places[at], -1)
        others = landmarks < 0
        found = self.table.of_landmarks.take(landmarks)
        if others.any():
            between = self.table.at(x[others][:, self.order])
            found.coordinates[others], found.answers[others] = between.coordinates, between.answers
        return found


def structure_of(given: GivenRows, *, class_space: bool) -> KnownStructure | None:
    """The structure of a table, with or without the space of its classes.

    Returns
    -------
    KnownStructure, or None
        None if the table has too few rows, or all are alike.
    """
    x, support, target, n_classes = given.x, given.support, given.target, given.n_classes
    order = np.argsort(given.signatures, kind="stable")
    codes = target[given.support_order] if n_classes else None
    dealt = deal_contexts(codes, len(support), LABELED_LANDMARKS)[0]
    chosen = given.support_order[np.sort(dealt)]
    others = given.unlabeled[: max(0, LANDMARKS - len(chosen))]
    rows = np.concatenate([support[chosen], others])
    values = take_rows(x, rows)
    first = np.arange(len(chosen))
    table = TableStructure.fit(values[:, order], first, target[chosen], n_classes, class_space=class_space)
    if table is None:
        return None
    labeled = np.full(len(support), -1, np.int64)
    labeled[chosen] = np.arange(len(chosen))
    hashes = exact_hashes(values[len(chosen) :])
    by_hash = np.argsort(hashes, kind="stable")
    told = None
    if n_classes and x.shape[1] > MOST_ATTRIBUTES and len(support) >= LABELS_THAT_TELL * n_classes:
        told = telling(values, table.class_shares, first, target[chosen])
    return KnownStructure(table, order, labeled, hashes[by_hash], by_hash + len(chosen), told)
