"""Ridge regression in closed form: one kernel, several ridges, and what each labeled row would be without its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

RIDGES = tuple(1e-3 * 4.0**i for i in range(9))  # in units of a kernel whose diagonal is about 1
MIN_ONE_MINUS_LEVERAGE = 1e-4  # float32 has no more digits
MIN_ERROR = 1e-8


@dataclass(frozen=True)
class Solved:
    """The ridge regressions of one kernel, one for each of the G ridges.

    Attributes
    ----------
    kernel : Tensor, shape (B, N, L)
        Of features less their mean over the labeled rows.
    weights : Tensor, shape (B, G, L, C)
        Unlabeled rows are answered by ``kernel @ weights``.
    apart : Tensor, shape (B, G, L, C)
        Targets of labeled rows less the answers of fits without them; 0 at padding.
    error : Tensor, shape (B, G)
        Mean of the squares of `apart` over labeled rows, summed over targets.
    centre : Tensor, shape (B, L, 1)
        Mean of each labeled row's kernel, before it was centred, over the labeled rows.
    """

    kernel: Tensor
    weights: Tensor
    apart: Tensor
    error: Tensor
    centre: Tensor

    @classmethod
    def of(cls, kernel: Tensor, y: Tensor, mask: Tensor) -> Self:
        r"""Solve, by one eigendecomposition.

        .. math:: \hat y = k^\top A^{-1} y, \quad A = K + \lambda I, \qquad
                  \hat y_{-i} = y_i - \frac{[A^{-1} y]_i}{[A^{-1}]_{ii} - 1 / (\lambda L)}

        Parameters
        ----------
        kernel : Tensor, shape (B, N, L)
            Between all rows and the labeled ones, which come first among all.
        y : Tensor, shape (B, L, C)
            Targets of mean 0; 0 at padding.
        mask : Tensor, shape (B, L, 1)
            1 where a row is labeled, 0 at padding.
        """
        kernel, centre = _centred(kernel, mask)
        ridges = torch.tensor(RIDGES, dtype=y.dtype, device=y.device).unsqueeze(-1)  # (G, 1)
        count = mask.sum((1, 2)).clamp(min=1)[:, None, None]  # (B, 1, 1)
        values, vectors = torch.linalg.eigh(kernel[:, : y.shape[1]] * mask)  # (B, L), (B, L, L)
        inverse = 1 / (values.clamp(min=0).unsqueeze(1) + ridges)  # (B, G, L)
        weights = torch.einsum("bij,bgj,bjc->bgic", vectors, inverse, vectors.transpose(1, 2) @ y)  # A^-1 y
        diagonal = torch.einsum("bij,bgj->bgi", vectors.square(), inverse) * ridges  # lambda [A^-1]_ii, (B, G, L)
        free = (diagonal - 1 / count).clamp(min=MIN_ONE_MINUS_LEVERAGE)
        apart = weights * (ridges / free).unsqueeze(-1) * mask.unsqueeze(1)
        error = (apart.square().sum((2, 3)) / count[:, 0]).clamp(min=MIN_ERROR)
        return cls(kernel, weights, apart, error, centre)

    def of_others(self, weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Weights (B, L, C) of the centred kernel as weights of the kernel itself, (B, L, C), and a constant (B, 1, C).

        So that other rows are answered by ``kernel @ weights + constant``, with their own kernel (B, u, L).
        """
        share, total = _shares(mask), weights.sum(1, keepdim=True)
        mean = share.transpose(1, 2) @ self.centre  # (B, 1, 1)
        return weights - share * total, mean * total - self.centre.transpose(1, 2) @ weights


@dataclass(frozen=True)
class Average:
    """An average over kernels and ridges.

    Attributes
    ----------
    answers : Tensor, shape (B, N, C)
        Of labeled rows as if their own label were unknown.
    error : Tensor, shape (B,)
        Mean squared left-out error of the averages, summed over targets.
    weights : list of Tensor, shape (B, L, C)
        Of each kernel.
    """

    answers: Tensor
    error: Tensor
    weights: list[Tensor]


def averaged(models: Sequence[Solved], y: Tensor, mask: Tensor, caution: float = 1.0) -> Average:
    """Answers averaged over kernels and ridges, by the likelihood of their left-out errors.

    The likelihood of a mean squared error e over L rows is e^(-L / 2).

    Parameters
    ----------
    models : sequence of Solved
    y, mask : Tensor
        As they were solved.
    caution : float
        The power to which likelihoods are raised: the lower, the more evenly the models are averaged.
    """
    count = mask.sum((1, 2)).clamp(min=1)  # (B,)
    errors = torch.cat([m.error for m in models], 1)  # (B, all G)
    shares = torch.softmax(-0.5 * caution * count.unsqueeze(-1) * errors.log(), 1).split(len(RIDGES), 1)
    apart = torch.zeros_like(y)  # (B, L, C)
    rest = y.new_zeros(len(y), models[0].kernel.shape[1] - y.shape[1], y.shape[2])  # (B, U, C)
    weights: list[Tensor] = []
    for share, model in zip(shares, models, strict=True):
        apart += torch.einsum("bg,bglc->blc", share, model.apart)
        weights.append(torch.einsum("bg,bglc->blc", share, model.weights))
        rest += model.kernel[:, y.shape[1] :] @ weights[-1]
    error = apart.square().sum((1, 2)) / count
    return Average(torch.cat([y - apart, rest], 1), error.clamp(min=MIN_ERROR), weights)


def _shares(mask: Tensor) -> Tensor:
    """The share (B, L, 1) of each labeled row in a mean over them."""
    return mask / mask.sum(1, keepdim=True).clamp(min=1)


def _centred(kernel: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The kernel (B, N, L) of features less their mean over the labeled rows, 0 at padded ones; and its `centre`."""
    share = _shares(mask)
    with_mean = kernel @ share  # (B, N, 1)
    of_labeled = with_mean[:, : mask.shape[1]]  # (B, L, 1)
    mean = share.transpose(1, 2) @ of_labeled  # (B, 1, 1)
    return (kernel - with_mean - of_labeled.transpose(1, 2) + mean) * mask.transpose(1, 2), of_labeled
