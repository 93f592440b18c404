"""Which numbers the labels of a regression can be: their sign, the whole that they are shares of, and their step."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

_FEWEST = 6
"""Fewest labels from which this is read."""

_CHANCE = 1e-3
"""A step is accepted if all labels would be multiples of it by chance with a lower probability."""

_WHOLES = (100.0, 1.0)
_AT_THE_WHOLE = 3
"""Labels that equal a whole, if none is larger, for it to be the end of the scale."""

_LARGE_PERCENTAGE = 50.0
"""Labels in percent of which none is larger may well be growth, which has no end."""

_STEPS = tuple(Decimal(mantissa).scaleb(power) for power in range(9, -7, -1) for mantissa in (5, "2.5", 2, 1))
_MOST_STEPS = 2.0**52  # beyond, a double does not count


@dataclass(frozen=True)
class Domain:
    """Numbers from `low` to `high` that are multiples of `step`, if there is one."""

    low: float = -np.inf
    high: float = np.inf
    step: Decimal | None = None

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray, decimals: int, unit: str = "") -> Domain:
        """Read it off the distinct labels (k,).

        Parameters
        ----------
        values, counts : ndarray, shape (k,)
            The labels, finite, and how often each is given.
        decimals : int
            Digits of the longest of them.
        unit : str
            What is written beside them.
        """
        n = int(counts.sum())
        if n < _FEWEST:
            return cls()
        step = _step(values, n, decimals)
        low, high = (float(end) for end in (values.min(), values.max()))
        least = float(step) if step is not None else 10.0**-decimals
        if low >= 0:
            end = _whole(high, int(counts[values == high].sum()), decimals, unit)
            return cls(low=0.0 if low == 0 else min(low, max(least, low / 10)), high=end, step=step)
        if high <= 0:
            return cls(high=0.0 if high == 0 else max(high, min(-least, high / 10)), step=step)
        return cls(step=step)

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The numbers of the domain that are nearest to given ones, (m,)."""
        values = np.clip(values, self.low, self.high)
        if self.step is None:
            return values
        step = float(self.step)
        with np.errstate(over="ignore"):
            counts = np.rint(values / step)
        # the decimal number that a multiple is, not its neighbour: 3 * 0.1 is 0.30000000000000004
        digits = max(0, -int(self.step.as_tuple().exponent))
        few = np.abs(counts) < _MOST_STEPS  # larger numbers have no such digits, and may be too large to be rounded
        found = np.array(values)
        on_step = np.round(counts[few] * step, digits)
        inside = np.where(on_step < self.low, on_step + step, np.where(on_step > self.high, on_step - step, on_step))
        found[few] = np.round(inside, digits)
        return found


def _whole(largest: float, times: int, decimals: int, unit: str) -> float:
    """The end of a scale of shares, given the largest label and how often it is there; infinite if there is none."""
    if unit == "%":
        return 100.0 if _LARGE_PERCENTAGE < largest <= 100 else np.inf
    at_the_end = not unit and times >= _AT_THE_WHOLE and largest in _WHOLES
    return largest if at_the_end and (decimals or largest > 1) else np.inf


def _step(values: np.ndarray, n: int, decimals: int) -> Decimal | None:
    """The largest of the usual steps (1, 2, 2.5, 5, 10, ...) that divides all values, if that is unlikely by chance."""
    if len(values) < 3 or decimals > 6:
        return None
    unit = Decimal(1).scaleb(-decimals)
    units = values * 10.0**decimals
    if np.abs(units).max() >= _MOST_STEPS:
        return None
    whole = np.rint(units).astype(np.int64)
    for step in _STEPS:
        if step <= unit:
            return None
        size = step / unit
        if size == int(size) and float(size) ** -n < _CHANCE and not np.any(whole % int(size)):
            return step
    return None
