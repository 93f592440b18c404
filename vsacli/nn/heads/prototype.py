"""Prototypes: the mean embedding of each class (section 3.4 of the paper, after Snell et al.)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vsacli.nn.heads.distance import squared_distances


class PrototypeHead(nn.Module):
    r"""Class logits from distances to class means.

    .. math:: \mu_c = \frac{1}{N_c} \sum_{n: y_n = c} z_n, \qquad
              \log p(y = c \mid z) \propto -\tau \lVert z - \mu_c \rVert^2

    Parameters
    ----------
    learned_scale : bool
        True learns :math:`\tau` and takes distances as means over attributes, so that a table of
        a thousand columns is not more confident than one of ten. False is the paper: :math:`\tau = 1`, sums.
    """

    def __init__(self, learned_scale: bool) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(())) if learned_scale else None

    def forward(self, labeled: Tensor, unlabeled: Tensor, one_hot: Tensor, n_attributes: Tensor) -> Tensor:
        """Logits, not yet masked by class.

        Parameters
        ----------
        labeled : Tensor, shape (B, L, E)
        unlabeled : Tensor, shape (B, U, E)
        one_hot : Tensor, shape (B, L, C)
            Rows of zeros where a labeled row is padding.
        n_attributes : Tensor, shape (B,)
            M of each task.

        Returns
        -------
        Tensor, shape (B, U, C)
        """
        per_class = one_hot.sum(1).clamp(min=1).unsqueeze(-1)  # (B, C, 1)
        prototypes = one_hot.transpose(1, 2) @ labeled / per_class  # (B, C, E)
        logits = -squared_distances(unlabeled, prototypes)
        if self.log_scale is None:
            return logits
        return logits * (self.log_scale.exp() / n_attributes.clamp(min=1)[:, None, None])
