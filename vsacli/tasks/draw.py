"""Drawing the rows of an episode: which are labeled, which are unlabeled (Algorithm 1, line 4)."""

from __future__ import annotations

import numpy as np


def draw_balanced(
    rng: np.random.Generator, y: np.ndarray, shots: int, unlabeled: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The paper's episodes: so many labeled and unlabeled rows of each class.

    A class with fewer rows gives its labeled rows first and then what is left.

    Parameters
    ----------
    rng : Generator
    y : ndarray of int, shape (n,)
        Classes; -1 where unknown (never drawn here).
    shots, unlabeled : int
        Rows per class.

    Returns
    -------
    labeled, unlabeled : ndarray of int, or None
        Row numbers, drawn at random, the labeled ones class by class; None if a class has no row
        to spare for the unlabeled part or fewer than two classes are there.
    """
    labeled, rest = [], []
    classes = np.unique(y[y >= 0])
    if len(classes) < 2:
        return None
    for c in classes:
        rows = rng.permutation(np.flatnonzero(y == c))
        if len(rows) < 2:
            return None
        k = min(shots, len(rows) - 1)
        labeled.append(rows[:k])
        rest.append(rows[k : k + unlabeled])
    return np.concatenate(labeled), rng.permutation(np.concatenate(rest))


def draw_natural(
    rng: np.random.Generator, y: np.ndarray, labeled: int, unlabeled: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Episodes in the table's own class proportions; every class is labeled once before any is twice.

    Parameters
    ----------
    rng : Generator
    y : ndarray of int, shape (n,)
        Classes; -1 where unknown: such rows can be drawn as unlabeled context.
    labeled, unlabeled : int
        Rows in all.

    Returns
    -------
    labeled, unlabeled : ndarray of int, or None
        None if there are fewer than two classes or too few rows.
    """
    known = rng.permutation(np.flatnonzero(y >= 0))
    if len(known) < 4:
        return None
    # First row of each class in this random order, then the others as they come.
    _, first = np.unique(y[known], return_index=True)
    if len(first) < 2:
        return None
    order = np.concatenate([known[np.sort(first)], np.delete(known, first)])
    k = min(max(labeled, len(first)), len(order) - 2)
    rest = np.concatenate([order[k:], np.flatnonzero(y < 0)])
    return order[:k], rng.permutation(rest)[:unlabeled]


def draw_rows(
    rng: np.random.Generator, known: np.ndarray, labeled: int, unlabeled: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Regression episodes: labeled rows among those ``known`` (bool, (n,)), unlabeled among the others."""
    rows = rng.permutation(np.flatnonzero(known))
    if len(rows) < 4:
        return None
    k = min(labeled, len(rows) - 2)
    rest = np.concatenate([rows[k:], np.flatnonzero(~known)])
    return rows[:k], rng.permutation(rest)[:unlabeled]


def draw_mixed(
    rng: np.random.Generator, y: np.ndarray, shots: int, unlabeled: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Episodes as users have them: so many labels per class, or as they come, beside rows in other proportions.

    Labels are balanced three times out of four. The others are the table's remaining rows as they come, or half of the
    time in proportions drawn from a Dirichlet distribution, so that labels do not tell how frequent a class is.

    Parameters
    ----------
    rng : Generator
    y : ndarray of int, shape (n,)
        Classes; -1 where unknown: such rows can be drawn as unlabeled context.
    shots : int
        Labeled rows per class.
    unlabeled : int
        Unlabeled rows in all, at most.

    Returns
    -------
    labeled, unlabeled : ndarray of int, or None
        None if there are fewer than two classes or too few rows.
    """
    if rng.random() < 0.75:
        drawn = draw_balanced(rng, y, shots, 0)
    else:
        drawn = draw_natural(rng, y, shots * len(np.unique(y[y >= 0])), 1)
    if drawn is None:
        return None
    labeled = drawn[0]
    left = np.ones(len(y), bool)
    left[labeled] = False
    rest = rng.permutation(np.flatnonzero(left))
    if rng.random() < 0.5:
        classes, code = np.unique(y[rest], return_inverse=True)
        wanted = rng.dirichlet(np.full(len(classes), rng.choice([0.5, 1.0, 3.0])))
        # As many rows as have these proportions, but a handful in any case.
        counts = np.bincount(code)
        total = max(float((counts / np.maximum(wanted, 1e-9)).min()), min(unlabeled, 30.0))
        most = np.maximum(np.round(wanted * min(total, unlabeled)), 1)
        place = np.empty(len(rest), np.int64)
        for c in range(len(classes)):
            own = code == c
            place[own] = np.arange(own.sum())
        rest = rest[place < most[code]]
    return labeled, rest[:unlabeled]
