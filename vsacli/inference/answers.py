"""The answers for some rows: what networks and compared methods give, and what is spelled into cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Answers:
    """Answers for U unlabeled rows, in order: `proba`, or only `best`, for classes; `mean` and `std` for numbers.

    Attributes
    ----------
    proba : ndarray, shape (U, C), or None
        Class probabilities.
    mean, std : ndarray, shape (U,), or None
        Predicted target and its standard deviation.
    best : (ndarray of int, ndarray of float), shape (U,) each, or None
        The most probable class and its probability, where `proba` was not to be kept.
    device : str, optional
        Where a network ran.
    graph_rows : int
        Rows of the graph that a network read beside the attributes; 0 if it read none.
    student_rows : int
        Rows answered by a student of the network (:mod:`vsacli.inference.student`).
    logarithms : bool
        Whether logarithms of the numbers were answered (:mod:`vsacli.inference.target_scale`).
    """

    proba: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    best: tuple[np.ndarray, np.ndarray] | None = None
    device: str | None = None
    graph_rows: int = 0
    student_rows: int = 0
    logarithms: bool = False

    def only(self, kept: np.ndarray | slice) -> Answers:
        """The answers for some of the rows: a slice of them, or marked by bool (U,)."""
        if isinstance(kept, np.ndarray) and kept.all():
            return self
        proba, mean, std = (None if part is None else part[kept] for part in (self.proba, self.mean, self.std))
        best = None if self.best is None else (self.best[0][kept], self.best[1][kept])
        return replace(self, proba=proba, mean=mean, std=std, best=best)

    @property
    def probabilities(self) -> np.ndarray:
        """`proba`, of answers that are classes."""
        assert self.proba is not None
        return self.proba

    @property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """`mean` and `std`, of answers that are numbers."""
        assert self.mean is not None
        assert self.std is not None
        return self.mean, self.std

    def check(self) -> None:
        """Refuse what cannot be an answer.

        Raises
        ------
        ValueError
            A probability or number that is not finite, a negative probability or deviation, or probabilities of a row
            that do not sum to one.
        """
        if self.proba is not None:
            if not np.isfinite(self.proba).all() or (self.proba < 0).any():
                raise ValueError("class probabilities must be finite and not negative")
            if not np.allclose(self.proba.sum(axis=1), 1.0, atol=1e-3):
                raise ValueError("class probabilities must sum to one in each row")
        for part in (self.mean, self.std):
            if part is not None and not np.isfinite(part).all():
                raise ValueError("means and deviations must be finite")
        if self.std is not None and (self.std < 0).any():
            raise ValueError("deviations must not be negative")
