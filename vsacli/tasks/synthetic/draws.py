"""Random draws that every family of the prior shares: one generator, one device, no loop over tasks.

Notation of the package: b tasks, N rows, K latent nodes, M attributes, C classes. A shape such as (b, 1, 1) is a
choice made once a task and broadcast over its rows and attributes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

EPS = 1e-6


@dataclass(frozen=True)
class Draws:
    """Draws on one device from one `torch.Generator`, whose state alone decides what comes out."""

    generator: torch.Generator
    device: torch.device

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform numbers in [low, high)."""
        return torch.rand(shape, generator=self.generator, device=self.device) * (high - low) + low

    def log_uniform(self, *shape: int, low: float, high: float) -> Tensor:
        """Numbers whose logarithm is uniform between those of two positive bounds."""
        return self.uniform(*shape, low=math.log(low), high=math.log(high)).exp()

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, generator=self.generator, device=self.device)

    def chance(self, *shape: int, p: float | Tensor) -> Tensor:
        """Booleans that are true with probability p (a tensor p broadcasts against the shape)."""
        return self.uniform(*shape) < p

    def integers(self, *shape: int, low: int | Tensor, high: int | Tensor) -> Tensor:
        """Integers from low to high, both included; bounds may be tensors that broadcast against the shape."""
        span = high - low + 1
        return low + (self.uniform(*shape) * span).long()

    def choice(self, weights: Sequence[float], *shape: int) -> Tensor:
        """Indices drawn with the given weights (they need not sum to one)."""
        edges = torch.tensor(weights, device=self.device).cumsum(0)
        return torch.bucketize(self.uniform(*shape) * edges[-1], edges[:-1], right=True)

    def permutations(self, *shape: int) -> Tensor:
        """Random permutations of the last dimension's indices, one for every leading index."""
        return self.uniform(*shape).argsort(-1)

    def sparse_level(self, *shape: int, none: float, high: float) -> Tensor:
        """Zero with probability `none`, otherwise uniform below `high`: a rate that many tasks do without."""
        return self.uniform(*shape, high=high) * self.chance(*shape, p=1 - none)

    def noise_level(self, *shape: int, none: float, low: float, high: float) -> Tensor:
        """Zero with probability `none`, otherwise log-uniform between the bounds."""
        return self.log_uniform(*shape, low=low, high=high) * self.chance(*shape, p=1 - none)

    def proportions(self, n_tasks: int, n_parts: int, *, balanced: float = 0.3, spread: float = 1.5) -> Tensor:
        """Shares (b, n_parts) that sum to one: equal with probability `balanced`, otherwise logistic-normal.

        The standard deviation of the logits is itself uniform below `spread`, so that imbalance goes from slight to
        strong (at 1.5, one part in ten of two has less than a twentieth of the rows).
        """
        level = self.sparse_level(n_tasks, 1, none=balanced, high=spread)
        return torch.softmax(level * self.normal(n_tasks, n_parts), dim=1)

    def columns(self, n_tasks: int, n_rows: int, n_columns: int) -> Tensor:
        """Independent columns (b, N, n_columns), each standardised, of assorted marginal distributions.

        Normal, uniform, two humps, heavy tails, skewed, or a few levels with random values; half of the tasks use one
        kind throughout, the others mix. Random choices: two per task, one per column, and up to ten level values.
        """
        shape = (n_tasks, n_rows, n_columns)
        weights = (4.0, 2.0, 1.0, 1.0, 1.0, 1.5)
        same = self.chance(n_tasks, 1, 1, p=0.5)
        kind = torch.where(same, self.choice(weights, n_tasks, 1, 1), self.choice(weights, n_tasks, 1, n_columns))
        normal, uniform = self.normal(*shape), self.uniform(*shape)
        levels = self.integers(n_tasks, 1, n_columns, low=2, high=10)
        power = self.uniform(n_tasks, 1, n_columns, low=0.6, high=2.0)
        code = (uniform.pow(power) * levels).long().clamp(max=9)
        humps = torch.where(uniform < 0.5, -1.0, 1.0)
        values = torch.where(kind == 0, normal, uniform)
        values = torch.where(kind == 2, humps + 0.4 * normal, values)
        values = torch.where(kind == 3, normal * (0.8 * (1 - 2 * uniform)).exp(), values)
        values = torch.where(kind == 4, (0.7 * normal).exp(), values)
        values = torch.where(kind == 5, self.normal(n_tasks, 10, n_columns).gather(1, code), values)
        return standardise(values)


def standardise(x: Tensor) -> Tensor:
    """Zero mean and unit variance over rows (dimension 1); a constant column becomes zero."""
    centred = x - x.mean(1, keepdim=True)
    return centred / centred.square().mean(1, keepdim=True).sqrt().clamp(min=EPS)


def pick_columns(nodes: Tensor, index: Tensor) -> Tensor:
    """Columns of nodes (b, N, K) at index (b, M): (b, N, M)."""
    return nodes.gather(2, index.unsqueeze(1).expand(-1, nodes.shape[1], -1))


def exact_labels(draws: Draws, proportions: Tensor, n_rows: int, min_per_class: int) -> Tensor:
    """Labels (b, N) in random row order whose class counts follow the proportions (b, C).

    Every class gets at least `min_per_class` rows (or an equal share if there are too few rows).
    """
    counts = class_counts(proportions, n_rows, min_per_class)
    edges = counts.cumsum(1)
    place = draws.permutations(proportions.shape[0], n_rows)
    return torch.searchsorted(edges, place, right=True)


def class_counts(proportions: Tensor, n_rows: int, min_per_class: int) -> Tensor:
    """Whole numbers (b, C) that sum to n_rows and follow the proportions above a floor of `min_per_class`."""
    n_classes = proportions.shape[1]
    floor = min(min_per_class, n_rows // n_classes)
    edges = (proportions.cumsum(1) * (n_rows - floor * n_classes)).round().long()
    edges[:, -1] = n_rows - floor * n_classes
    return floor + edges.diff(dim=1, prepend=torch.zeros_like(edges[:, :1]))
