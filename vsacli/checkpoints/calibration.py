"""What a checkpoint records to make its confidence honest, and how answers are corrected by it.

Classification: p = softmax(log p / T) (Guo et al. 2017), with a temperature that changes with the number of labels,
since a network can be too confident with few labels and not confident enough with many:

    T(n) = temperature * tenfold ** log10(n),   n labeled rows per class, held within 1 to 30

Regression: one factor on the standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

TEMPERATURE = "temperature"
TENFOLD = "temperature_tenfold"  # the factor on T for ten times as many labels
STD_FACTOR = "std_factor"
CALIBRATION = (TEMPERATURE, TENFOLD, STD_FACTOR)  # all of them positive numbers, 1 if not given
MOST_FACTOR = 1e6  # that any of them may be, or its inverse
MOST_PER_CLASS = 30.0  # beyond, T stays: validation has no more


def decades(n_labeled: float, n_classes: float) -> float:
    """log10 of the labeled rows per class, from 0 (one or fewer) to log10 of 30."""
    return math.log10(min(max(n_labeled / n_classes, 1.0), MOST_PER_CLASS))


def temperature(calibration: Mapping[str, float], n_labeled: int, n_classes: int) -> float:
    """The temperature T of a pass that reads ``n_labeled`` rows of ``n_classes`` classes."""
    tenfold = float(calibration.get(TENFOLD, 1.0))
    return float(calibration.get(TEMPERATURE, 1.0)) * tenfold ** decades(n_labeled, n_classes)


def std_factor(calibration: Mapping[str, float]) -> float:
    """The factor on predicted standard deviations."""
    return float(calibration.get(STD_FACTOR, 1.0))
