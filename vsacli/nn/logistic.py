"""Logistic regression of several strengths at once, and what each labeled row would be answered without its label.

The boundaries between classes that it finds are straight lines, found to all their digits by a convex problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

STRENGTHS = (0.03, 0.3, 3.0, 30.0)  # of the labels as against weights of 0 (the C of scikit-learn)
FOLDS = 5  # at most
STEPS, CHECKED_EVERY, SETTLED = 60, 10, 1e-5  # at most; fewer if no weight moves by more than the last
EVENLY = 0.5  # strengths are averaged: the power to which the likelihoods of left-out labels are raised
LEAST = 1e-4  # probability of a class
TINY = 1e-9  # keeps the factors of the free constant positive


@dataclass(frozen=True)
class Logistic:
    r"""Multinomial logistic regression with a penalty of :math:`\lVert W \rVert^2 / 2C`, averaged over several C.

    Strengths are averaged by the likelihood of labels left out, a fifth of each class at a time and equal rows
    together. All problems are solved together, by accelerated steps on a quadratic bound (Böhning, 1992: the Hessian
    is at most half that of least squares). Where classes are far apart the strongest are stopped short of the solution.

    Attributes
    ----------
    weights : Tensor, shape (S, M + 1, C)
        Of each strength; the last one of the constant.
    shares : Tensor, shape (S,)
        Of each strength in an answer.
    left_out : Tensor, shape (L, C)
        Probabilities of labeled rows as if their labels were unknown.
    """

    weights: Tensor
    shares: Tensor
    left_out: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, z: Tensor, y: Tensor, n_classes: int, weights: Tensor) -> Self:
        """Learn from labeled rows.

        Parameters
        ----------
        z : Tensor, shape (L, M)
            Scaled attributes.
        y : Tensor of long, shape (L,)
            Classes.
        n_classes : int
            C.
        weights : Tensor, shape (L,)
            How much each left-out label counts when strengths are averaged.
        """
        folds = _folds(z, y)  # (L,)
        k = int(folds.max()) + 1
        u, s, v = torch.linalg.svd(z, full_matrices=False)  # as many attributes as rows at most
        features = _with_constant(u * s)  # (L, r + 1)
        keep = folds != torch.arange(k + 1, device=y.device).unsqueeze(1)  # (k + 1, L); in the last nothing is left out
        penalties = 1 / torch.tensor(STRENGTHS, dtype=z.dtype, device=z.device)
        one_hot = (y.unsqueeze(-1) == torch.arange(n_classes, device=y.device)).to(z.dtype)
        found = _solved(
            features, one_hot, keep.to(z.dtype).repeat(len(STRENGTHS), 1), penalties.repeat_interleave(k + 1)
        )
        found = found.unflatten(0, (len(STRENGTHS), k + 1))  # (S, k + 1, r + 1, C)
        scores = torch.einsum("lr,slrc->slc", features, found[:, folds])
        left_out = scores.softmax(-1)  # (S, L, C)
        shares = torch.softmax(-EVENLY * (log_losses(left_out, y) @ weights), 0)
        of_attributes = torch.cat([v.T @ found[:, -1, :-1], found[:, -1, -1:]], 1)
        return cls(of_attributes, shares, torch.einsum("s,slc->lc", shares, left_out))

    @torch.no_grad()
    def answers(self, z: Tensor) -> Tensor:
        """Probabilities (n, C) of rows with attributes (n, M)."""
        return torch.einsum("s,snc->nc", self.shares, (_with_constant(z) @ self.weights).softmax(-1))


def log_losses(answers: Tensor, y: Tensor) -> Tensor:
    """Minus the log of the probabilities (..., L, C) of classes (L,): (..., L)."""
    return -answers[..., torch.arange(len(y), device=y.device), y].clamp(min=LEAST).log()


def _folds(z: Tensor, y: Tensor) -> Tensor:
    """In which fold each row is left out, (L,): the rows of each class are dealt out in turn, equal ones together."""
    place = torch.arange(len(y), device=y.device)
    _, which = torch.unique(z, dim=0, return_inverse=True)
    first = torch.full_like(place, len(y)).scatter_reduce(0, which, place, "amin")[which]
    before = ((y.unsqueeze(0) == y.unsqueeze(1)) & (first == place)).tril(-1).sum(1)
    return before[first] % FOLDS


def _with_constant(z: Tensor) -> Tensor:
    return torch.cat([z, torch.ones_like(z[:, :1])], 1)


def _solved(x: Tensor, y: Tensor, keep: Tensor, penalties: Tensor) -> Tensor:
    """Weights (P, R, C) of P problems.

    Parameters
    ----------
    x : Tensor, shape (L, R)
        The last column is constant and its weights are free.
    y : Tensor, shape (L, C)
    keep : Tensor, shape (P, L)
        1 where a row belongs to a problem, 0 elsewhere.
    penalties : Tensor, shape (P,)
    """
    free = torch.ones_like(x[0])
    free[-1] = 0
    penalty = penalties[:, None, None] * free[:, None]  # (P, R, 1)
    bound = 0.5 * torch.einsum("pl,lr,lq->prq", keep, x, x)
    factor = torch.linalg.cholesky(bound + torch.diag_embed(penalty[..., 0] + TINY))
    weights = x.new_zeros(len(keep), x.shape[1], y.shape[1])
    ahead, momentum = weights, x.new_ones(len(keep), 1, 1)
    for step in range(STEPS):
        wrong = keep.unsqueeze(-1) * ((x @ ahead).softmax(-1) - y)  # (P, L, C)
        gradient = x.T @ wrong + penalty * ahead
        new = ahead - torch.cholesky_solve(gradient, factor)
        uphill = ((ahead - new) * (new - weights)).sum((1, 2), keepdim=True) > 0
        momentum = torch.where(uphill, torch.ones_like(momentum), momentum)
        after = (1 + (1 + 4 * momentum.square()).sqrt()) / 2
        ahead = new + torch.where(uphill, 0.0, (momentum - 1) / after) * (new - weights)
        moved = new - weights
        weights, momentum = new, after
        if (step + 1) % CHECKED_EVERY == 0 and moved.abs().max() < SETTLED:
            break
    return weights
