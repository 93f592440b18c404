"""Ranks of values among others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mid_ranks(values: np.ndarray, ordered: np.ndarray) -> NDArray[np.float64]:
    """Mid-ranks of values (n,) among `ordered` ones, ascending and at least one, scaled to (-1, 1)."""
    below, up_to = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (below + up_to) / len(ordered) - 1
