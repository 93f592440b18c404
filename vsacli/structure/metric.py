"""Attributes as coordinates between which distances mean something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SOFT_LIMIT = 5.0
"""Largest distance from the mean, about, in standard deviations: one wild cell must not choose the neighbours."""


@dataclass(frozen=True)
class Metric:
    """The scaling of attributes, fitted on some rows and applied to any.

    Attributes
    ----------
    centre, scale : ndarray of float64, shape (M,)
        Numbers become z-scores, softly limited. Attributes of two values (a yes or no, a category of a one-hot
        column) keep a range of 1, so that a column of categories weighs about as much as a column of numbers.
    limited : ndarray of bool, shape (M,)
        Attributes that are softly limited.
    """

    centre: Floats
    scale: Floats
    limited: NDArray[np.bool_]

    @classmethod
    def fit(cls, x: np.ndarray) -> Metric:
        """The scaling of attributes (n, M), NaN where not observed."""
        seen = np.isfinite(x)
        count = np.maximum(seen.sum(0), 1)
        values = np.where(seen, x, 0.0).astype(np.float64)
        centre = values.sum(0) / count
        spread = np.sqrt(np.where(seen, (values - centre) ** 2, 0.0).sum(0) / count)
        low = np.where(seen, values, np.inf).min(0, initial=np.inf)
        high = np.where(seen, values, -np.inf).max(0, initial=-np.inf)
        two_valued = (~seen | (values == low) | (values == high)).all(0)
        width = np.where(two_valued & (high > low), high - low, spread)
        varies = width > 1e-9 * np.maximum(1.0, np.abs(centre))
        return cls(centre, np.where(varies, 1 / np.where(varies, width, 1.0), 0.0), ~two_valued)

    def apply(self, x: np.ndarray) -> Floats:
        """Attributes (n, M) as coordinates (n, M); what is not observed is at the centre."""
        z = np.where(np.isfinite(x), x - self.centre, 0.0) * self.scale
        return np.where(self.limited, z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2), z)
