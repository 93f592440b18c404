"""Gaussian process regression on the embeddings (section 3.6 of the paper)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vsacli.nn.heads.distance import squared_distances


class GPHead(nn.Module):
    r"""Mean and variance of targets from a GP with an RBF kernel and Gaussian noise.

    .. math:: k(z, z') = v \exp(-\lVert z - z' \rVert^2 / 2\ell^2), \quad
              \bar y = k^\top (K + \sigma^2 I)^{-1} y, \quad
              \mathrm{var} = v + \sigma^2 - k^\top (K + \sigma^2 I)^{-1} k

    with :math:`v, \ell, \sigma` learned. Several targets share the kernel matrix.

    Parameters
    ----------
    learned_scale : bool
        True takes distances as means over attributes (as in the prototype head).
    """

    def __init__(self, learned_scale: bool) -> None:
        super().__init__()
        self.mean_over_attributes = learned_scale
        self.log_variance = nn.Parameter(torch.zeros(()))
        self.log_length = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(math.log(0.1)))

    def forward(
        self, labeled: Tensor, unlabeled: Tensor, y: Tensor, n_attributes: Tensor, labeled_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Predict targets.

        Parameters
        ----------
        labeled : Tensor, shape (B, L, E)
        unlabeled : Tensor, shape (B, U, E)
        y : Tensor, shape (B, L, T)
            Targets, 0 where the row is padding.
        n_attributes : Tensor, shape (B,)
        labeled_mask : Tensor of bool, shape (B, L)

        Returns
        -------
        mean, var : Tensor, shape (B, U, T)
            ``var`` is that of a new observation, noise included.
        """
        variance = self.log_variance.exp()
        # The floor keeps the Cholesky factor of twin rows well defined in float32.
        noise = self.log_noise.exp() + 1e-4 * variance
        pair = labeled_mask.unsqueeze(1) & labeled_mask.unsqueeze(2)
        k = self._kernel(labeled, labeled, n_attributes) * pair
        # A padded row becomes a row of the identity: it is solved for and touches nothing.
        k = k + torch.diag_embed(torch.where(labeled_mask, noise, torch.ones_like(noise)))
        cross = self._kernel(unlabeled, labeled, n_attributes) * labeled_mask.unsqueeze(1)  # (B, U, L)
        chol = torch.linalg.cholesky(k)
        mean = cross @ torch.cholesky_solve(y, chol)
        half = torch.linalg.solve_triangular(chol, cross.transpose(1, 2), upper=False)  # (B, L, U)
        var = (variance + noise - half.square().sum(1)).clamp(min=1e-6)
        return mean, var.unsqueeze(-1).expand_as(mean)

    def _kernel(self, a: Tensor, b: Tensor, n_attributes: Tensor) -> Tensor:
        d = squared_distances(a, b)
        if self.mean_over_attributes:
            d = d / n_attributes.clamp(min=1)[:, None, None]
        return self.log_variance.exp() * torch.exp(-0.5 * d * torch.exp(-2 * self.log_length))
