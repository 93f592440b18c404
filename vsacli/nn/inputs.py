"""The input tensor Z^(1) of a task (equation 5 of the paper), and the views of a value that enter it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.scales import Scales, softly_limited


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


def input_tensor(batch: TaskBatch, config: InputConfig, scales: Scales | None = None) -> Tensor:
    """Build Z^(1): value, observed?, is an attribute, is a label (and, standardized, the rank).

    Where the paper imputes, a missing value is *not observed*: its value and its indicator are 0,
    so that the contents of ``batch.x`` there cannot reach the answer.

    Parameters
    ----------
    batch : TaskBatch
        Tasks.
    config : InputConfig
    scales : Scales, optional
        Of the rows that are read, for rows that are not; by default of all rows of the batch.

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
        scales = scales or Scales.of(x, seen)
        z[:, :, :m, 0] = softly_limited(scales.z_scores(x, seen))
        z[:, :, :m, 4] = scales.ranks(x, seen)
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
