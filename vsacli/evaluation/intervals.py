"""How far a figure from few rows can be trusted, and how a learning curve may continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Z95 = 1.959963984540054  # 97.5% quantile of the standard normal


@dataclass(frozen=True)
class Interval:
    """A value with its 95% confidence interval; NaN where it is not defined."""

    value: float
    low: float = float("nan")
    high: float = float("nan")

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def wilson(share: float, n: float) -> Interval:
    """Wilson's interval of a share observed on `n` rows; unlike a bootstrap it is not empty at 0 and 1.

    `n` may be an effective number. The interval is a function of both, so equal shares have equal intervals.
    """
    if n <= 0 or not np.isfinite(share):
        return Interval(float("nan"))
    z2 = Z95**2 / n
    center = (share + z2 / 2) / (1 + z2)
    half = Z95 / (1 + z2) * np.sqrt(share * (1 - share) / n + z2 / (4 * n))
    # At 0 and 1 the end of the interval is the share itself, up to rounding.
    return Interval(share, float(max(0.0, min(center - half, share))), float(min(1.0, max(center + half, share))))


def bootstrap(
    figures: Callable[[np.ndarray], dict[str, float]], n: int, rng: np.random.Generator, resamples: int = 200
) -> dict[str, Interval]:
    """Percentile intervals of several figures at once.

    Parameters
    ----------
    figures : row numbers (n,) -> name -> value
    n : number of rows
    rng : Generator
    resamples : int
    """
    value = figures(np.arange(n))
    drawn = [figures(rng.integers(n, size=n)) for _ in range(resamples)]
    out = {}
    for name, v in value.items():
        found = np.array([d[name] for d in drawn])
        found = found[np.isfinite(found)]
        low, high = np.quantile(found, [0.025, 0.975]) if len(found) else (np.nan, np.nan)
        # Figures that sampling biases (calibration error only grows) may lie outside of what resamples show.
        out[name] = Interval(v, float(min(low, v)), float(max(high, v)))
    return out


def extrapolate(sizes: Sequence[float], errors: Sequence[float], at: float) -> float | None:
    """Error at more labels, by a power law through the curve: log error is a line in log size.

    None if nothing can be said: fewer than three points, or errors that do not fall along such a line.
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.maximum(np.asarray(errors, float), 1e-3))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    slope = np.polyfit(x, y, 1)[0]
    if slope >= 0 or np.corrcoef(x, y)[0, 1] > -0.7:
        return None
    # From the last point on, so that the estimate joins the curve that is shown.
    return float(np.exp(y[-1] + slope * (np.log(at) - x[-1])))
