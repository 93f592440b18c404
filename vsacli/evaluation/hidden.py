"""Hiding known labels: which rows of one table are hidden together, and which labels stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vsacli.errors import DataError
from vsacli.tasks.store import EncodedTable


@dataclass(frozen=True)
class Fold:
    """One round: the labels that stay and those that are hidden.

    Attributes
    ----------
    repeat, number : which round
    labeled : int64, rows whose labels stay, in random order
    hidden : int64, rows whose labels are hidden and asked for
    context : int64, rows that have no label, seen as unlabeled rows
    """

    repeat: int
    number: int
    labeled: np.ndarray
    hidden: np.ndarray
    context: np.ndarray

    def with_labels(self, y: np.ndarray, size: int, classification: bool) -> Fold:
        """The same round with fewer labels: `size` per class, or `size` in all. Smaller sets lie within larger ones."""
        if classification:
            kept = [self.labeled[y[self.labeled] == c][:size] for c in np.unique(y[self.labeled])]
            labeled = np.concatenate(kept)
        else:
            labeled = self.labeled[:size]
        return Fold(self.repeat, self.number, labeled, self.hidden, self.context)


def hideable(table: EncodedTable) -> np.ndarray:
    """Rows whose label can be hidden: those of classes that keep one; with numbers, all that have one.

    Raises
    ------
    DataError
        There is nothing to hide.
    """
    rows = np.flatnonzero(table.labeled)
    if table.kind == "classification":
        counts = np.bincount(table.y[rows], minlength=table.n_classes)
        if (counts > 0).sum() < 2:
            raise DataError(f"{table.name}: all given labels are of one class, so there is nothing to compare")
        rows = rows[counts[table.y[rows]] > 1]
        if not len(rows):
            raise DataError(
                f"{table.name}: every class has a single label, so none can be hidden to check the answer; "
                "label at least one more row"
            )
    elif len(rows) < 3:
        raise DataError(f"{table.name}: {len(rows)} labels are too few to hide one; label at least three rows")
    return rows


def make_folds(
    table: EncodedTable,
    *,
    folds: int,
    repeats: int,
    seed: int,
    max_labels: int,
    max_unlabeled: int,
) -> Iterator[Fold]:
    """Repeated, stratified folds: in each repeat every label that can be hidden is hidden once.

    Parameters
    ----------
    table : EncodedTable
    folds, repeats : int
        Fewer folds if there are fewer labels.
    seed : int
    max_labels : int
        Of more known labels, so many are drawn (stratified) and the others left out.
    max_unlabeled : int
        Rows without a label join the hidden ones up to so many.
    """
    rng = np.random.default_rng([seed, 7])
    chosen = hideable(table)
    fixed = np.setdiff1d(np.flatnonzero(table.labeled), chosen)
    if len(chosen) > max_labels:
        chosen = _stratified_sample(table, chosen, max_labels, rng)
    free = np.flatnonzero(~table.labeled)
    for repeat in range(repeats):
        place = _places(table, chosen, folds, rng)
        for number in range(int(place.max()) + 1):
            hidden = chosen[place == number]
            if len(hidden):
                labeled = rng.permutation(np.concatenate([chosen[place != number], fixed]))
                yield Fold(
                    repeat,
                    number,
                    labeled,
                    rng.permutation(hidden),
                    rng.permutation(free)[: max(0, max_unlabeled - len(hidden))],
                )


def _places(table: EncodedTable, rows: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row. Members of a class are dealt in turn, so that no fold takes all of them."""
    place = np.empty(len(rows), np.int64)
    classes = table.y[rows] if table.kind == "classification" else np.zeros(len(rows), np.int64)
    found, counts = np.unique(classes, return_counts=True)
    folds = min(folds, int(counts.max()))
    # Each class continues where the last one ended, which keeps folds of equal size.
    start = 0
    for c in rng.permutation(found):
        members = rng.permutation(np.flatnonzero(classes == c))
        place[members] = (start + np.arange(len(members))) % folds
        start += len(members)
    return rng.permutation(folds)[place]


def _stratified_sample(table: EncodedTable, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """About `size` of the rows, at least two of each class."""
    if table.kind == "regression":
        return rng.permutation(rows)[:size]
    kept = []
    for c in np.unique(table.y[rows]):
        members = rng.permutation(rows[table.y[rows] == c])
        kept.append(members[: max(2, round(size * len(members) / len(rows)))])
    return np.concatenate(kept)
