"""Class proportions that are known beforehand: one factor per class, by which probabilities are multiplied.

    proba (U, C), wanted proportions (C,) --> factors (C,) --> proba * factors, rows that sum to 1, mean = wanted

The factors are those of maximum likelihood for rows that are drawn in the wanted proportions: the minimum of a convex
function of their logarithms, found by Newton's method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

FLOOR = 1e-9
"""Smallest probability of a class for a row: the network is never certain, and so any proportions can be met."""

SAMPLE_CELLS = 1 << 23
"""Probabilities from which factors are found at most: of a longer table the first rows in random order are enough."""

_BLOCK_CELLS = 1 << 20  # read together, so that the memory does not grow with the rows
_STEPS, _LONGEST, _NEAR = 200, 4.0, 1e-9


def match_proportions(proba: np.ndarray, proportions: np.ndarray) -> np.ndarray:
    """Class probabilities whose mean over the rows is as wanted.

    Parameters
    ----------
    proba : ndarray of float, shape (U, C)
        Each row sums to 1.
    proportions : ndarray of float, shape (C,)
        At least 0, not all 0; scaled to sum 1. A class of 0 gets no probability in any row.

    Returns
    -------
    ndarray of the same type and shape

    Notes
    -----
    The mean is the *expected* share of a class. The share of rows in which the class is the most probable one is
    another number, the more so the less certain the rows are.
    """
    return multiplied(proba, class_factors(proba, proportions))


def class_factors(proba: np.ndarray, proportions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The factor of each class with which `multiplied` meets the proportions.

    Parameters
    ----------
    proba, proportions
        As for `match_proportions`.
    weights : ndarray, shape (U,), optional
        How often each row counts.

    Returns
    -------
    ndarray of float64, shape (C,)
        The largest is 1; 0 for a class whose proportion is 0.
    """
    wanted = np.asarray(proportions, np.float64)
    wanted = wanted / wanted.sum()
    asked = np.flatnonzero(wanted > 0)
    factors = np.zeros(len(wanted))
    if len(asked) == 1 or not len(proba):
        factors[asked] = 1
        return factors
    rows = _Rows(proba, asked, np.ones(len(proba)) if weights is None else np.asarray(weights, np.float64))
    logs = _newton(rows, wanted[asked])
    factors[asked] = np.exp(logs - logs.max())
    return factors


def multiplied(proba: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Probabilities (U, C) with each class multiplied by its factor; rows sum to 1 again."""
    out = np.empty_like(proba)
    for block in _blocks(*proba.shape):
        part = np.maximum(proba[block].astype(np.float64), FLOOR) * factors
        out[block] = part / part.sum(axis=1, keepdims=True)
    return out


def left_over(shares: np.ndarray, given: np.ndarray, rows: int) -> np.ndarray:
    """The proportions of the rows without a label, if those of all rows are known.

    Parameters
    ----------
    shares : ndarray, shape (C,)
        Of all rows, at least 0, of sum 1.
    given : ndarray of int, shape (C,)
        Rows of each class that have a label.
    rows : int
        All rows.

    Returns
    -------
    ndarray of float64, shape (C,)
        Of sum 1; 0 for a class of which as many rows or more are labeled as there should be.
    """
    left = np.maximum(np.asarray(shares, np.float64) * rows - given, 0)
    total = left.sum()
    return left / total if total > 0 else np.asarray(shares, np.float64)


@dataclass
class Proportions:
    """What is known of the unlabeled rows: the proportions of their classes, or the factors that other rows gave.

    Attributes
    ----------
    wanted : ndarray, shape (C,)
        At least 0, not all 0.
    factors : ndarray, shape (C,), optional
        Of `class_factors`; found by `matched` if they are not given.
    """

    wanted: np.ndarray
    factors: np.ndarray | None = None
    _held: list[tuple[slice, np.ndarray]] = field(default_factory=list)

    def matched(self, rows: slice, proba: np.ndarray, counts: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The probabilities of consecutive rows, multiplied, as soon as the factors are known.

        Parameters
        ----------
        rows : slice
            Which rows these are; each call has those after the last one's.
        proba : ndarray, shape (rows, C)
        counts : ndarray, shape (all rows,)
            How often each row counts.
        """
        self._held.append((rows, proba))
        if self.factors is None:
            if rows.stop < min(len(counts), SAMPLE_CELLS // len(self.wanted)):
                return
            sample = np.concatenate([part for _, part in self._held])
            self.factors = class_factors(sample, self.wanted, counts[: rows.stop])
        for at, part in self._held:
            yield at, multiplied(part, self.factors)
        self._held.clear()


class _Rows:
    """The rows to match, of the classes that are asked for: value, slope and curvature of what is minimised."""

    def __init__(self, proba: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> None:
        self._proba, self._classes, self._weights = proba, classes, weights / weights.sum()

    def value(self, logs: np.ndarray, wanted: np.ndarray) -> float:
        """Mean over the rows of log sum_c p_c exp(logs_c), less the wanted mean of `logs`."""
        return sum(weights @ np.log(p.sum(axis=1)) for p, weights in self._parts(logs)) - float(wanted @ logs)

    def slopes(self, logs: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (c,), the mean less what is wanted, and Hessian (c, c)."""
        mean, products = np.zeros(len(logs)), np.zeros((len(logs), len(logs)))
        for p, weights in self._parts(logs):
            p /= p.sum(axis=1, keepdims=True)
            mean += weights @ p
            p *= np.sqrt(weights)[:, None]
            products += p.T @ p
        return mean - wanted, np.diag(mean) - products

    def _parts(self, logs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for block in _blocks(len(self._proba), len(self._classes)):
            part = self._proba[block][:, self._classes].astype(np.float64)
            yield np.maximum(part, FLOOR) * np.exp(logs), self._weights[block]


def _newton(rows: _Rows, wanted: np.ndarray) -> np.ndarray:
    """The logarithms of the factors, up to a common summand.

    Where almost all rows are certain the function is nearly piecewise linear, so steps are bounded and searched along.
    """
    logs = np.zeros(len(wanted))
    value = rows.value(logs, wanted)
    for _ in range(_STEPS):
        slope, curvature = rows.slopes(logs, wanted)
        if np.abs(slope).max() < _NEAR:
            break
        # Equal summands change nothing (the ones); where rows say nothing either, a little of the slope leads on.
        held = 1e-3 * np.abs(slope).max() * np.eye(len(logs)) + 1 / len(logs)
        step = -np.linalg.solve(curvature + held, slope)
        step *= min(1.0, _LONGEST / np.abs(step).max())
        for _ in range(30):
            there = rows.value(logs + step, wanted)
            if there <= value + 1e-4 * float(slope @ step):
                break
            step /= 2
        else:
            break  # as near as rounding allows
        logs, value = logs + step - (logs + step).mean(), there
    return logs


def _blocks(n: int, width: int) -> Iterator[slice]:
    size = max(1, _BLOCK_CELLS // max(width, 1))
    for start in range(0, n, size):
        yield slice(start, start + size)
