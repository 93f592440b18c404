"""A student of the network for tables of very many rows: boosted trees fitted to the network's own soft answers.

    rows that the network has read, its answers --fit--> trees --any row--> answers, and whether they are to be trusted

The student never sees a label. It answers a row only where, on rows held out from it, it agrees with the network; all
other rows are read by the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

TAUGHT, CHECKED = 24_576, 8_192
"""Rows that the student learns from, and those held out from it."""

AGREEMENT = 0.99
"""Share of the held-out rows on which a student's class must be the network's, among those that it may answer ..."""

DEVIATION = 0.1
"""... and for numbers how far it may be from the network: the root mean square, in the network's own deviations."""

LEAST_SHARE = 0.2
"""A student that may answer fewer rows is not asked: it would save less than it costs."""

MOST_ATTRIBUTES, MOST_CLASSES = 256, 12
"""Sizes beyond which trees take as long as the network."""

_ONE_SIDED = 1.645  # standard errors of the agreement that are allowed for: 95%
_FLOOR = 1e-4  # least probability, in logarithms
_TREES = {"max_iter": 150, "learning_rate": 0.12, "max_leaf_nodes": 31, "early_stopping": False, "random_state": 0}


@dataclass(frozen=True)
class Student:
    """Trees that imitate the network.

    Attributes
    ----------
    trees : list of HistGradientBoostingRegressor
        One for each class (of two, one for the second), or for the mean and the logarithm of the variance.
    classes : bool
    margin : float
        How much more probable than the second class the first must be for a row to be answered; 0 for numbers.
    """

    trees: list[HistGradientBoostingRegressor]
    classes: bool
    margin: float

    @classmethod
    def taught(cls, x: np.ndarray, answers: np.ndarray, classes: bool) -> Student | None:
        """A student of the network's answers, or None if it would not be trusted with a fifth of the rows.

        Parameters
        ----------
        x : ndarray of float32, shape (T, M)
            Attributes of rows, NaN where not observed; the last quarter is held out.
        answers : ndarray, shape (T, C), or (T, 2)
            Class probabilities; or mean and variance of (scaled) numbers.
        classes : bool
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        taught = len(x) * TAUGHT // (TAUGHT + CHECKED)
        targets = _targets(answers, classes)
        trees = [HistGradientBoostingRegressor(**_TREES).fit(x[:taught], t[:taught]) for t in targets.T]
        student = cls(trees, classes, 0.0)
        own, network = student._imitated(x[taught:]), answers[taught:]
        if not classes:
            apart = np.mean((own[:, 0] - network[:, 0]) ** 2) / np.mean(network[:, 1])
            return student if apart <= DEVIATION**2 else None
        margin, share = _trusted_from(_margins(own), own.argmax(1) == network.argmax(1))
        return cls(trees, classes, margin) if share >= LEAST_SHARE else None

    def answer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The answers for rows (u, M), as the network gives them, and those that may be kept (u,)."""
        own = self._imitated(x)
        return own, _margins(own) >= self.margin if self.classes else np.ones(len(x), bool)

    def _imitated(self, x: np.ndarray) -> np.ndarray:
        values = np.stack([tree.predict(x) for tree in self.trees], 1)
        if not self.classes:
            return np.stack([values[:, 0], np.exp(values[:, 1])], 1).astype(np.float32)
        if len(self.trees) == 1:
            values = np.concatenate([-values / 2, values / 2], 1)
        shares = np.exp(values - values.max(1, keepdims=True))
        return (shares / shares.sum(1, keepdims=True)).astype(np.float32)


def can_be_taught(n_attributes: int, n_classes: int) -> bool:
    """Whether trees are faster than the network: few attributes, and few classes (0: numbers)."""
    return n_attributes <= MOST_ATTRIBUTES and n_classes <= MOST_CLASSES


def _targets(answers: np.ndarray, classes: bool) -> np.ndarray:
    """What trees learn, a column each: log odds of two classes, logarithms of more, or mean and log variance."""
    if not classes:
        return np.stack([answers[:, 0], np.log(answers[:, 1])], 1)
    logs = np.log(np.maximum(answers, _FLOOR))
    return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs


def _margins(proba: np.ndarray) -> np.ndarray:
    """By how much the most probable class of each row is ahead of the second, (u,)."""
    ordered = np.sort(proba, 1)
    return ordered[:, -1] - ordered[:, -2]


def _trusted_from(margins: np.ndarray, agree: np.ndarray) -> tuple[float, float]:
    """The least margin above which rows agree often enough, with 95% confidence, and the share of rows above it."""
    order = np.argsort(-margins, kind="stable")
    count = np.arange(1, len(order) + 1)
    share = np.cumsum(agree[order]) / count
    # Of k rows of which all agree the error is unknown rather than 0: one more that does not is counted.
    error = np.sqrt(np.maximum(share * (1 - share), AGREEMENT * (1 - AGREEMENT)) / count)
    enough = np.flatnonzero(share - _ONE_SIDED * error >= AGREEMENT)
    if not len(enough):
        return np.inf, 0.0
    return float(margins[order[enough[-1]]]), (enough[-1] + 1) / len(order)
