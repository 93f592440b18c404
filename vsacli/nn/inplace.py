"""Steps of a block without gradients, in place where that saves memory."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.nn.attention import MVSA
from vsacli.nn.block import Block

NEGLIGIBLE = 1e-20  # an attention weight


def heads_of(attention: MVSA, projected: Tensor) -> Tensor:
    """(n, s, R H_K) -> (n, s, R, H_K)."""
    return projected.unflatten(2, (attention.heads, attention.head_width))


def by_rows(attention: MVSA, projected: Tensor) -> Tensor:
    """(n, s, R H_K) -> (R, n, s H_K)."""
    return heads_of(attention, projected).permute(2, 0, 1, 3).flatten(2)


def softmax_(scores: Tensor) -> None:
    """Over the last axis. Weights far below a rounding error become 0: products of denormals are slow."""
    torch.softmax(scores, -1, out=scores)
    torch.threshold_(scores, NEGLIGIBLE, 0.0)


def finish_(block: Block, part: Tensor, attended: Tensor) -> None:
    """The rest of a block for the cells ``part`` (n, s, H), with the heads (n, s, R, H_V) of what they attended to."""
    y = block.attention.out(attended.flatten(2)).add_(part)
    torch.add(y, block.ff(block.norm(y)), out=part)
