"""What every compared method takes and gives: one episode in, a prediction for its unlabeled rows out.

A method sees the labeled rows, their labels and the unlabeled rows' attributes. It never sees the
answer (`episode.y[n_labeled:]`): `SimpleMethod` hands over arrays in which the answer is not contained.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vsacli.inference.answers import Answers
from vsacli.support.threads import one_thread

if TYPE_CHECKING:
    from vsacli.tasks.episode import Episode

Floats = NDArray[np.float64]


class Method(Protocol):
    """A compared method. Implementations keep no state between episodes, or state that no answer enters."""

    def fit_predict(self, episode: Episode, rng: np.random.Generator) -> Answers:
        """Predict the unlabeled rows of one episode; all randomness comes from `rng`."""
        ...


@dataclass(frozen=True)
class Rows:
    """An episode as a simple method sees it: imputed, scaled, without the answer.

    Attributes
    ----------
    labeled : float64 (L, M)
    unlabeled : float64 (U, M)
    y : int64 (L,) classes 0..K-1, K the number of classes that have a label; or float64 (L,) targets
    n_seen : int
        K; 0 for regression.
    """

    labeled: Floats
    unlabeled: Floats
    y: NDArray[Any]
    n_seen: int = 0

    @property
    def all(self) -> Floats:
        """Labeled rows first, then unlabeled (L+U, M)."""
        return np.concatenate([self.labeled, self.unlabeled])


def standardize(x: NDArray[np.floating]) -> Floats:
    """Impute by the column mean and scale to zero mean and unit deviation, over all rows of the episode.

    Constant and never observed columns become zeros. A table without columns gets one of zeros, so
    that every method has something to look at.

    Parameters
    ----------
    x : (N, M), NaN where not observed

    Returns
    -------
    float64 (N, max(M, 1))
    """
    x = np.asarray(x, dtype=np.float64)
    if x.shape[1] == 0:
        return np.zeros((len(x), 1))
    observed = np.isfinite(x)
    count = np.maximum(observed.sum(axis=0), 1)
    # Scaling by the largest magnitude first keeps the squares of huge values finite.
    filled = np.where(observed, x, 0.0)
    size = np.abs(filled).max(axis=0, initial=0.0)
    filled = filled / np.where(size > 0, size, 1.0)
    mean = filled.sum(axis=0) / count
    centered = np.where(observed, filled - mean, 0.0)
    std = np.sqrt(np.mean(centered**2, axis=0))
    varies = std > 1e-12
    return np.where(varies, centered / np.where(varies, std, 1.0), 0.0)


class SimpleMethod:
    """Base of the methods that need arrays only: the handling of odd episodes lives here, once.

    A subclass gives `classify` or `regress` or both; it can rely on at least two seen classes
    (two labeled rows), one unlabeled row and one column.
    """

    def fit_predict(self, episode: Episode, rng: np.random.Generator) -> Answers:
        """Standardize, predict, and give classes without a label probability zero."""
        n, x = episode.n_labeled, self.attributes(episode.x)
        y, n_unlabeled = np.asarray(episode.y)[:n], len(episode.x) - n
        with quiet(), one_thread():
            if episode.kind == "regression":
                return self._regression(Rows(x[:n], x[n:], y.astype(np.float64)), rng)
            seen, codes = np.unique(y.astype(np.int64), return_inverse=True)
            probs = np.zeros((n_unlabeled, int(episode.n_classes)))
            if n_unlabeled and len(seen) == 1:
                probs[:, seen[0]] = 1.0
            elif n_unlabeled:
                probs[:, seen] = self.classify(Rows(x[:n], x[n:], codes.astype(np.int64), len(seen)), rng)
            return Answers(proba=probs)

    def _regression(self, rows: Rows, rng: np.random.Generator) -> Answers:
        n_unlabeled = len(rows.unlabeled)
        if len(rows.y) < 2 or n_unlabeled == 0:
            center = float(rows.y.mean()) if len(rows.y) else 0.0
            return Answers(mean=np.full(n_unlabeled, center), std=np.ones(n_unlabeled))
        mean, std = self.regress(rows, rng)
        return Answers(mean=np.asarray(mean, np.float64), std=np.asarray(std, np.float64))

    def attributes(self, x: NDArray[np.floating]) -> Floats:
        """The rows' attributes as the method sees them: float64 (N, at least 1), all finite."""
        return standardize(x)

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        """Class probabilities (U, K) over the K seen classes."""
        raise TypeError(f"{type(self).__name__} does not classify")

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Mean and standard deviation, each (U,)."""
        raise TypeError(f"{type(self).__name__} does not predict numbers")


def seed_from(rng: np.random.Generator) -> int:
    """A seed for libraries that take an integer."""
    return int(rng.integers(2**31 - 1))


def log_loss(answer: NDArray[np.int64], probs: Floats, floor: float = 1e-6) -> float:
    """Mean negative log probability of the answer; probabilities below `floor` count as `floor`."""
    return float(-np.mean(np.log(np.maximum(probs[np.arange(len(answer)), answer], floor))))


@contextmanager
def quiet() -> Iterator[None]:
    """Hide third-party warnings that a handful of labels provokes (no convergence, a single member per class)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
