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


def structure_of(
    x: np.ndarray | CompactAttributes,
    support: np.ndarray,
    target: np.ndarray,
    n_classes: int,
    unlabeled: np.ndarray,
    signatures: np.ndarray,
    support_order: np.ndarray,
) -> KnownStructure | None:
    """The structure of a table.

    Parameters
    ----------
    x : ndarray of float32, or CompactAttributes, shape (n, M)
    support : ndarray of int, shape (L,)
        Labeled rows.
    target : ndarray, shape (L,)
        Their classes or targets.
    n_classes : int
        C, or 0 for numbers.
    unlabeled : ndarray of int, shape (u,)
        Unlabeled rows, no two alike, in an order of their contents.
    signatures : ndarray of uint64, shape (M,)
    support_order : ndarray of int, shape (L,)
        Labeled rows in an order of their contents: positions in ``support``.

    Returns
    -------
    KnownStructure, or None
        None if the table has too few rows, or all are alike.
    """
    order = np.argsort(signatures, kind="stable")
    dealt = deal_contexts(target[support_order] if n_classes else None, len(support_order), LABELED_LANDMARKS)[0]
    chosen = support_order[np.sort(dealt)]
    others = unlabeled[: max(0, LANDMARKS - len(chosen))]
    rows = np.concatenate([support[chosen], others])
    values = take_rows(x, rows)
    table = TableStructure.fit(values[:, order], np.arange(len(chosen)), target[chosen], n_classes)
    if table is None:
        return None
    labeled = np.full(len(support), -1, np.int64)
    labeled[chosen] = np.arange(len(chosen))
    hashes = exact_hashes(values[len(chosen) :])
    by_hash = np.argsort(hashes, kind="stable")
    told = None
    if n_classes and x.shape[1] > MOST_ATTRIBUTES and len(support) >= LABELS_THAT_TELL * n_classes:
        told = telling(values, table.class_shares, np.arange(len(chosen)), target[chosen])
    return KnownStructure(table, order, labeled, hashes[by_hash], by_hash + len(chosen), told)


def structure_of_table(
    x: np.ndarray,
    support: np.ndarray,
    target: np.ndarray,
    n_classes: int,
    unlabeled: np.ndarray,
    signatures: np.ndarray,
    seed: int,
) -> KnownStructure | None:
    """:func:`structure_of` of rows as they come: labeled rows ``support`` and unlabeled ones, in any order."""
    order, first = reading_order(x, signatures, seed, unlabeled)
    given = row_order(x, signatures, seed, target, rows=support)
    return structure_of(x, support, target, n_classes, unlabeled[order[first]], signatures, given)
