"""Kernels between rows and the labeled ones, in which some attributes may count more than others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from vsacli.nn.heads.distance import squared_distances

FAR = 10.0  # largest z-score that the linear kernel of limited values sees


@dataclass(frozen=True)
class ScoredRows:
    """Z-scores of rows (B, n, M): of values as they were before they were limited, all or most, and of limited ones."""

    far: Tensor
    straight: Tensor
    near: Tensor

    def first(self, n: int) -> Self:
        """The first ``n`` rows."""
        return type(self)(self.far[:, :n], self.straight[:, :n], self.near[:, :n])


@dataclass(frozen=True)
class Kernels:
    """Kernels of one weighting of the attributes.

    Attributes
    ----------
    labeled : ScoredRows
        L of them.
    weights : Tensor, shape (B, 1, M)
        How much each attribute counts, of sum 1.
    linear : bool
        Whether inner products are among them.
    far : bool
        Whether these are of values however large.
    rbf, laplace : tuple of float
        Lengths of kernels of Euclidean distances, and of sums of absolute differences.
    """

    labeled: ScoredRows
    weights: Tensor
    linear: bool
    rbf: tuple[float, ...]
    laplace: tuple[float, ...]
    far: bool = False

    @classmethod
    def of(
        cls,
        labeled: ScoredRows,
        weights: Tensor,
        rbf: tuple[float, ...],
        laplace: tuple[float, ...],
        *,
        linear: bool = True,
        far: bool = False,
    ) -> Self:
        """From weights (B, M) of any sum."""
        total = weights.sum(1, keepdim=True)
        return cls(labeled, (weights / torch.where(total > 0, total, 1)).unsqueeze(1), linear, rbf, laplace, far)

    def between(self, rows: ScoredRows) -> list[Tensor]:
        """All kernels between rows and the labeled ones, (B, n, L): linear, RBF, Laplace."""
        found: list[Tensor] = []
        if self.linear:
            root = self.weights.sqrt()
            z, labeled = (
                (these.far if self.far else these.straight.clamp(-FAR, FAR)) * root for these in (rows, self.labeled)
            )
            found.append(z @ labeled.transpose(1, 2))
        if self.rbf:
            root = self.weights.sqrt()
            squared = squared_distances(rows.near * root, self.labeled.near * root)
            found += [torch.exp(-0.5 * squared / length) for length in self.rbf]
        if self.laplace:
            absolute = torch.cdist(rows.near * self.weights, self.labeled.near * self.weights, p=1)
            found += [torch.exp(-absolute / length) for length in self.laplace]
        return found
