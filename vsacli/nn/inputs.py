"""The input tensor Z^(1) of a task (equation 5 of the paper), and the views of a value that enter it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch

# A z-score far out says "far out" and no more: one wild cell must not drown the other rows.
SOFT_LIMIT = 5.0


class InputConfig(Protocol):
    """The part of a network's config that decides its input."""

    @property
    def standardize(self) -> bool:
        """Z-scores and ranks of each attribute over the rows of the task."""
        ...

    @property
    def observed_indicator(self) -> bool:
        """Whether the second slice says what is observed."""
        ...

    @property
    def kind_indicator(self) -> bool:
        """Whether the third and fourth slices tell attributes from labels."""
        ...


def input_width(config: InputConfig) -> int:
    """D_3 of the input tensor: the paper's four slices, and the rank if values are standardized."""
    return 5 if config.standardize else 4


def input_tensor(batch: TaskBatch, config: InputConfig) -> Tensor:
    """Build Z^(1): value, observed?, is an attribute, is a label (and, standardized, the rank).

    Where the paper imputes, a missing value is *not observed*: its value and its indicator are 0,
    so that the contents of ``batch.x`` there cannot reach the answer.

    Parameters
    ----------
    batch : TaskBatch
        Tasks.
    config : InputConfig

    Returns
    -------
    Tensor, shape (B, N, M + C, 4 or 5)
    """
    x, seen = observed_values(batch)
    labels = batch.one_hot()  # (B, L, C)
    b, n, m = x.shape
    c = labels.shape[-1]
    unlabeled = labels.new_zeros(b, n - batch.n_labeled, c)
    labels = torch.cat([labels, unlabeled], 1)  # (B, N, C)
    labels = labels * batch.class_mask.unsqueeze(1)

    z = x.new_zeros(b, n, m + c, input_width(config))
    z[:, :, m:, 0] = labels
    if config.standardize:
        z[:, :, :m, 0] = standardized(x, seen, batch.n_read)
        z[:, :, :m, 4] = centred_ranks(x, seen, batch.n_read)
    else:
        z[:, :, :m, 0] = x
    if config.observed_indicator:
        z[:, :, :m, 1] = seen.to(x.dtype)
        z[:, : batch.n_labeled, m:, 1] = batch.labeled_mask.unsqueeze(-1).to(x.dtype)
    if config.kind_indicator:
        z[:, :, :m, 2] = 1
        z[:, :, m:, 3] = 1
    return z


def observed_values(batch: TaskBatch) -> tuple[Tensor, Tensor]:
    """Attribute values, 0 where missing or padding, and where they are neither; both (B, N, M)."""
    seen = batch.observed & batch.row_mask.unsqueeze(-1) & batch.attr_mask.unsqueeze(1)
    return torch.where(seen, batch.x, torch.zeros_like(batch.x)), seen


def standardized(x: Tensor, seen: Tensor, n_read: int | None = None) -> Tensor:
    r"""Z-scores over the observed rows of each attribute, softly limited.

    .. math:: z \mapsto z / \sqrt{1 + (z/5)^2}

    Parameters
    ----------
    x, seen : Tensor, shape (B, N, M)
        Values (0 where not seen) and where they count.
    n_read : int, optional
        Rows that mean and spread are of; None: all.

    Returns
    -------
    Tensor, shape (B, N, M)
        0 where not seen and for an attribute without spread.
    """
    return softly_limited(z_scores(x, seen, n_read))


def softly_limited(z: Tensor) -> Tensor:
    """z where it is small, nearing `SOFT_LIMIT` where it is large."""
    return z / (1 + (z / SOFT_LIMIT).square()).sqrt()


def z_scores(x: Tensor, seen: Tensor, n_read: int | None = None) -> Tensor:
    """(x - mean) / s over the observed rows of each attribute; arguments as for :func:`standardized`."""
    count = seen[:, :n_read].sum(1, keepdim=True).clamp(min=1)
    mean = x[:, :n_read].sum(1, keepdim=True) / count
    centred = torch.where(seen, x - mean, torch.zeros_like(x))
    spread = (centred[:, :n_read].square().sum(1, keepdim=True) / count).sqrt()
    z = centred / spread.clamp(min=1e-6)
    # An attribute that is constant in the rows that are read says nothing of the others: there is no unit.
    return z if n_read is None else torch.where(spread > 1e-6, z, torch.zeros_like(z))


def centred_ranks(x: Tensor, seen: Tensor, n_read: int | None = None) -> Tensor:
    """Mid-ranks of each attribute over its observed rows, scaled to (-1, 1).

    Ties get their mean rank, so that the order of rows does not matter.

    Parameters
    ----------
    x, seen : Tensor, shape (B, N, M)
        Values and where they count.
    n_read : int, optional
        Rows among which values are ranked; None: all.

    Returns
    -------
    Tensor, shape (B, N, M)
        ``(rank_below + rank_up_to) / count - 1``; 0 where not seen.
    """
    far = torch.finfo(x.dtype).max
    columns = torch.where(seen, x, torch.full_like(x, far)).transpose(1, 2).contiguous()  # (B, M, N)
    ordered = columns[..., :n_read].sort(dim=-1).values.contiguous()
    below = torch.searchsorted(ordered, columns, side="left")
    up_to = torch.searchsorted(ordered, columns, side="right")
    count = seen[:, :n_read].sum(1).clamp(min=1).unsqueeze(-1)  # (B, M, 1)
    ranks = (below + up_to).to(x.dtype) / count.to(x.dtype) - 1
    return torch.where(seen, ranks.transpose(1, 2), torch.zeros_like(x))
