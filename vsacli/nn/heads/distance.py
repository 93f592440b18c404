"""Squared Euclidean distances in the embedding space, which all heads start from."""

from __future__ import annotations

import torch
from torch import Tensor


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """||a_i - b_j||^2 by one matrix product, never below 0.

    Parameters
    ----------
    a : Tensor, shape (B, I, E)
    b : Tensor, shape (B, J, E)

    Returns
    -------
    Tensor, shape (B, I, J)
    """
    # Centring first keeps the cancellation of large norms harmless in float32.
    centre = b.mean(1, keepdim=True)
    a, b = a - centre, b - centre
    cross = torch.baddbmm(b.square().sum(-1).unsqueeze(1), a, b.transpose(1, 2), alpha=-2)
    return (cross + a.square().sum(-1).unsqueeze(-1)).clamp(min=0)
