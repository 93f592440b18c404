"""How the values of an attribute are seen beside each other: z-scores and ranks, of the rows that are read.

Other rows can be placed on the same scales afterwards, and change nothing about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

# A z-score far out says "far out" and no more: one wild cell must not drown the other rows.
SOFT_LIMIT = 5.0

# The `LIMIT` of vsacli.attributes.scaling, which has made the values.
VALUE_LIMIT = 4.0

LEAST_SPREAD = 1e-6  # an attribute with a smaller spread counts as constant


def softly_limited(z: Tensor) -> Tensor:
    r"""z where it is small, nearing `SOFT_LIMIT` where it is large: :math:`z / \sqrt{1 + (z/5)^2}`."""
    return z / (1 + (z / SOFT_LIMIT).square()).sqrt()


def unlimited(x: Tensor, most: float) -> Tensor:
    r"""Values before the smooth clip at ±`VALUE_LIMIT`, if they were at most ``most``: :math:`x / \sqrt{1 - (x/4)^2}`.

    The clip bends lines, which only then are lines again. What lies further out stays near: it goes on with slope 1.
    """
    end = most / (1 + (most / VALUE_LIMIT) ** 2) ** 0.5
    near = x.clamp(-end, end)
    return near / (1 - (near / VALUE_LIMIT).square()).sqrt() + (x - near)


@dataclass(frozen=True)
class ZScores:
    """(x - mean) / s over the observed rows of each attribute.

    Attributes
    ----------
    mean, spread : Tensor, shape (B, 1, M)
        The spread of a constant attribute is infinite, so that its scores are 0.
    """

    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, x: Tensor, seen: Tensor) -> Self:
        """From values (B, N, M), 0 where not seen, and where they count."""
        count = seen.sum(1, keepdim=True).clamp(min=1)
        mean = x.sum(1, keepdim=True) / count
        centred = torch.where(seen, x - mean, torch.zeros_like(x))
        spread = (centred.square().sum(1, keepdim=True) / count).sqrt()
        return cls(mean, torch.where(spread > LEAST_SPREAD, spread, torch.full_like(spread, torch.inf)))

    def __call__(self, x: Tensor, seen: Tensor) -> Tensor:
        """Scores of values (B, n, M) of any rows; 0 where not seen."""
        return torch.where(seen, x - self.mean, torch.zeros_like(x)) / self.spread


@dataclass(frozen=True)
class Ranks:
    """Mid-ranks of each attribute among its observed rows, scaled to (-1, 1).

    Ties get their mean rank, so that the order of rows does not matter.

    Attributes
    ----------
    ordered : Tensor, shape (B, M, N)
        Values in ascending order, the largest number there is for those that are not observed.
    count : Tensor of int, shape (B, M, 1)
        Observed values.
    """

    ordered: Tensor
    count: Tensor

    @classmethod
    def of(cls, x: Tensor, seen: Tensor) -> Self:
        """From values (B, N, M) and where they count."""
        ordered = _columns(x, seen).sort(dim=-1).values.contiguous()
        return cls(ordered, seen.sum(1).clamp(min=1).unsqueeze(-1))

    def __call__(self, x: Tensor, seen: Tensor) -> Tensor:
        """``(rank_below + rank_up_to) / count - 1`` for values (B, n, M) of any rows; 0 where not seen."""
        columns = _columns(x, seen)
        below = torch.searchsorted(self.ordered, columns, side="left")
        up_to = torch.searchsorted(self.ordered, columns, side="right")
        ranks = (below + up_to).to(x.dtype) / self.count.to(x.dtype) - 1
        return torch.where(seen, ranks.transpose(1, 2), torch.zeros_like(x))


@dataclass(frozen=True)
class Scales:
    """Both scales of some rows."""

    z_scores: ZScores
    ranks: Ranks

    @classmethod
    def of(cls, x: Tensor, seen: Tensor) -> Self:
        """From values (B, N, M), 0 where not seen, and where they count."""
        return cls(ZScores.of(x, seen), Ranks.of(x, seen))


def standardized(x: Tensor, seen: Tensor) -> Tensor:
    """Z-scores (B, N, M) of the rows among themselves, softly limited; 0 where not seen and where all are equal."""
    return softly_limited(ZScores.of(x, seen)(x, seen))


def _columns(x: Tensor, seen: Tensor) -> Tensor:
    """Values by attributes (B, M, n), those that are not seen beyond all others."""
    return torch.where(seen, x, torch.full_like(x, torch.finfo(x.dtype).max)).transpose(1, 2).contiguous()
