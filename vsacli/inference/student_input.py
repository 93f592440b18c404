"""Attributes of rows as a student reads them: z-scores, ranks, and what is observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vsacli.structure.ranks import mid_ranks

SOFT_LIMIT = 5.0  # a z-score far out says "far out" and no more
RANK_SCALE = 3**0.5  # ranks are uniform on (-1, 1); times this they have spread 1


@dataclass(frozen=True)
class StudentInput:
    """The scales of attributes, as some rows have them.

    Attributes
    ----------
    used : ndarray of int, shape (M',)
        Attributes that vary.
    centre, spread : ndarray, shape (M',)
    ordered : list of ndarray
        Observed values of each used attribute, ascending.
    partly : ndarray of bool, shape (M',)
        Attributes that are not observed in some of these rows.
    """

    used: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    ordered: list[np.ndarray]
    partly: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> StudentInput:
        """From rows (T, M), NaN where not observed."""
        seen = [column[np.isfinite(column)] for column in x.T.astype(np.float64)]
        partly = np.array([0 < len(values) < len(x) for values in seen])
        varied = np.array([len(values) > 0 and values.min() < values.max() for values in seen])
        used = np.flatnonzero(varied | partly)
        chosen = [seen[j] for j in used]
        spread = np.array([values.std() for values in chosen])
        return cls(
            used=used,
            centre=np.array([values.mean() for values in chosen]),
            spread=np.where(spread > 0, spread, 1.0),
            ordered=[np.sort(values) for values in chosen],
            partly=partly[used],
        )

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Inputs (n, D) of rows (n, M), float32; 0 where nothing is observed."""
        x = x[:, self.used].astype(np.float64)
        seen = np.isfinite(x)
        z = (x - self.centre) / self.spread
        z = np.where(seen, z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2), 0)
        ranks = np.empty_like(z)
        for j, values in enumerate(self.ordered):
            ranks[:, j] = mid_ranks(x[:, j], values)
        ranks = np.where(seen, ranks * RANK_SCALE, 0)
        return np.concatenate([z, ranks, seen[:, self.partly]], 1).astype(np.float32)
