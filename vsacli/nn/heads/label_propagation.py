"""Label propagation on the embeddings (named by the paper; Zhou et al. 2003, Liu et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vsacli.nn.heads.distance import squared_distances


class LabelPropagationHead(nn.Module):
    r"""Labels spread over a graph of all rows, labeled and unlabeled.

    .. math:: W_{ij} = \exp(-\tau \lVert z_i - z_j \rVert^2)\,[i \ne j], \quad
              S = D^{-1/2} W D^{-1/2}, \quad F = (I - \alpha S)^{-1} Y

    Parameters
    ----------
    learned_scale : bool
        True takes distances as means over attributes (as in the prototype head).

    Notes
    -----
    :math:`\tau` and :math:`\alpha \in (0, 1)` are learned. The solve is O(N^3), which suits
    episodes and chunks of a few hundred rows.
    """

    def __init__(self, learned_scale: bool) -> None:
        super().__init__()
        self.mean_over_attributes = learned_scale
        self.log_scale = nn.Parameter(torch.zeros(()))
        self.alpha_logit = nn.Parameter(torch.tensor(2.0))

    def forward(
        self, labeled: Tensor, unlabeled: Tensor, one_hot: Tensor, n_attributes: Tensor, row_mask: Tensor
    ) -> Tensor:
        """Log scores, not yet masked by class; shapes as in the prototype head, ``row_mask`` (B, N)."""
        z = torch.cat([labeled, unlabeled], 1)  # (B, N, E)
        d = squared_distances(z, z)
        if self.mean_over_attributes:
            d = d / n_attributes.clamp(min=1)[:, None, None]
        pair = row_mask.unsqueeze(1) & row_mask.unsqueeze(2)
        pair = pair & ~torch.eye(z.shape[1], dtype=torch.bool, device=z.device)
        w = torch.exp(-self.log_scale.exp() * d) * pair
        root = w.sum(-1).clamp(min=1e-12).rsqrt()
        s = root.unsqueeze(-1) * w * root.unsqueeze(-2)
        y = torch.cat([one_hot, one_hot.new_zeros(*unlabeled.shape[:2], one_hot.shape[-1])], 1)
        eye = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)
        f = torch.linalg.solve(eye - self.alpha_logit.sigmoid() * s, y)
        return f[:, labeled.shape[1] :].clamp(min=1e-9).log()
