r"""Which rows to ask a person about: rows that stand for many others, at first; then those about which little is known.

As long as the network has nothing to tell apart (no label, or those of one class) every row weighs the same, and looks
far: the rows chosen cover the table (:mod:`vsacli.insight.choose_rows`), so each stands for a group. Afterwards a row
covers its nearest neighbours alone, and weighs the more the closer its two best answers are: groups whose class is
clear need no further question. `benchmarks/ask.py` compares this with random rows.
"""

from __future__ import annotations

import numpy as np

from vsacli.inference.answers import Answers
from vsacli.insight.choose_rows import choose_rows
from vsacli.structure.distances import squared_distances
from vsacli.structure.metric import Metric

NEIGHBOUR = 10
"""The neighbour that is as far as a row looks."""
LEAST_WEIGHT = 0.25
"""Weight of a row without doubt, in units of the most doubtful one's: the network may err about it as well."""


def rows_to_ask(
    x: np.ndarray, labeled: np.ndarray, answers: Answers | None, n: int, *, among: np.ndarray | None = None
) -> np.ndarray:
    """Choose the rows to ask about next.

    Parameters
    ----------
    x : ndarray, shape (n, M)
        Attributes, NaN where not observed.
    labeled : ndarray of bool, shape (n,)
        Rows that have a label.
    answers : Answers, optional
        Of the network for the other rows, in order.
    n : int
        How many.
    among : ndarray of bool, shape (n,), optional
        Rows that may be asked about; by default all without a label.

    Returns
    -------
    ndarray of int64
        Places of rows, the most telling one first; fewer than n if there are fewer.
    """
    points = Metric.fit(x).apply(x)
    free = np.flatnonzero(~labeled)
    weight, scale = np.ones(len(free)), None
    if answers is not None and (doubts := doubt(answers)).any():
        weight, scale = doubts / doubts.max() + LEAST_WEIGHT, _near(points)
    allowed = None if among is None else among[free]
    return free[choose_rows(points[free], points[labeled], weight, n, among=allowed, scale=scale)]


def _near(points: np.ndarray) -> float | None:
    """The squared distance to a near neighbour, the median over the rows; None if that is 0."""
    between = np.sort(np.maximum(squared_distances(points, points), 0), axis=1)
    return float(np.median(between[:, min(NEIGHBOUR, len(points) - 1)])) or None


def doubt(answers: Answers) -> np.ndarray:
    """How doubtful each answer is, (U,), at least 0: how close the two best classes are; the standard deviation."""
    if answers.proba is None:
        return answers.numbers[1].astype(np.float64)
    if answers.proba.shape[1] < 2:
        return np.zeros(len(answers.proba))
    two = np.sort(answers.proba, axis=1)[:, -2:].astype(np.float64)
    return 1 - (two[:, 1] - two[:, 0])
