"""Robust scaling of one numeric attribute, with a smooth clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LIMIT = 4.0
"""Largest absolute value that a scaled number can take."""

_NORMAL_IQR = 1.3489795003921634  # interquartile range of the standard normal distribution
_BLOCK = 1 << 18  # numbers scaled together
_HUGE = 2.0**1000  # beyond it a difference of two numbers may overflow float64


@dataclass(frozen=True)
class RobustScale:
    r"""Centre by the median, scale by the interquartile range, clip smoothly.

    .. math:: z = (x - q_{1/2}) / s, \qquad x_{out} = z / \sqrt{1 + (z / B)^2}

    with :math:`s = (q_{3/4} - q_{1/4}) / 1.349`, so that normal data have unit variance, and :math:`B` = `LIMIT`.
    The soft clip is that of skrub's SquashingScaler (Holzmüller et al., 2024, arXiv 2407.04491). Quantiles are taken
    over the finite numbers of all rows; -inf and inf become -B and B; NaN stays NaN.

    More than half of the numbers may be one and the same (:math:`q_{3/4} = q_{1/4}`: counts that are mostly zero).
    Then :math:`s` is the median of :math:`|x - q_{1/2}|` over the numbers that differ from the median: one outlier
    of 1e15 cannot flatten the others, and an indicator of a rare event becomes 0 and 1 before the clip.

    A number that takes two values only is mapped linearly, the smaller to 0 and the larger to 1, as other two-valued
    columns are; there the clip is a plain one at ±B.
    """

    center: float
    scale: float
    shrink: float = 1.0
    two_valued: bool = False

    @classmethod
    def fit(cls, x: np.ndarray) -> RobustScale:
        """Fit on the numbers of all rows, float64 (n,); NaN and infinities are not counted."""
        finite = x[np.isfinite(x)]
        if not len(finite):
            return cls(0.0, 1.0)
        low, high = float(finite.min()), float(finite.max())
        # Differences of numbers near the end of float64 would overflow: those columns are computed at 2^-10.
        shrink = 2.0**-10 if max(-low, high) > _HUGE else 1.0
        if shrink != 1.0:
            finite, low, high = finite * shrink, low * shrink, high * shrink
        if low == high:
            return cls(low, 1.0, shrink)
        if len(finite) == len(x[~np.isnan(x)]) and bool(np.all((finite == low) | (finite == high))):
            return cls(low, high - low, shrink, two_valued=True)
        lower, center, upper = (float(q) for q in np.quantile(finite, [0.25, 0.5, 0.75]))
        scale = (upper - lower) / _NORMAL_IQR
        if not scale > 0:
            away = np.abs(finite - center)
            scale = float(np.median(away[away > 0]))
        return cls(center, scale if scale > 0 else 1.0, shrink)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Scale numbers, float64 of any shape, to float32 within [-LIMIT, LIMIT]."""
        if x.ndim == 1 and len(x) > _BLOCK:  # what is computed on the way takes no more room in a larger table
            out = np.empty(len(x), np.float32)
            for start in range(0, len(x), _BLOCK):
                out[start : start + _BLOCK] = self.apply(x[start : start + _BLOCK])
            return out
        with np.errstate(over="ignore", invalid="ignore"):
            z = x * self.shrink if self.shrink != 1.0 else x
            z = (z - self.center) / self.scale
        if self.two_valued:
            return np.clip(z, -LIMIT, LIMIT).astype(np.float32)
        z = np.clip(z, -1e9, 1e9)  # keeps the square below finite; the soft clip is flat long before
        return (z / np.sqrt(1.0 + np.square(z / LIMIT))).astype(np.float32)
