"""Distances between rows of NumPy arrays; networks have their own, on tensors (`vsacli.nn.heads.distance`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def squared_distances(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    """Squared Euclidean distances (len(a), len(b)), never negative; between equal rows 0 but for rounding."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    products = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1)[None, :] - 2.0 * a @ b.T
    return np.maximum(products, 0.0)
