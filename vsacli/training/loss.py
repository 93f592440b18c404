"""The test loss of a batch of episodes (equation 9 of the paper, and its regression form)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.tasks.collate import EpisodeBatch


def damped(loss: Tensor) -> Tensor:
    """5 asinh(l / 5): the loss of a regression task, with logarithmic growth far from 0."""
    return 5 * torch.asinh(loss / 5)


def episode_loss(output: ClassOutput | RegressionOutput, batch: EpisodeBatch, mse_weight: float) -> Tensor:
    r"""Mean over tasks of the mean loss over their scored unlabeled rows.

    Classification: the negative log probability of the held-out class. Regression: the negative
    Gaussian log density plus ``mse_weight`` times the squared error of the mean, with the loss l of a
    task entering as 5 asinh(l / 5): a table whose labeled targets are all but equal, and whose
    others are not, has a loss of thousands, and would move the weights alone (:func:`damped`).

    Parameters
    ----------
    output : ClassOutput or RegressionOutput
    batch : EpisodeBatch
    mse_weight : float
        Used for regression only.

    Returns
    -------
    Tensor, scalar
    """
    if isinstance(output, ClassOutput):
        losses = -output.log_probs.gather(2, batch.answer.unsqueeze(-1)).squeeze(-1)  # (B, U)
    else:
        mean, var = output.mean[..., 0], output.var[..., 0].clamp(min=1e-6)
        error = (batch.answer - mean).square()
        losses = 0.5 * (error / var + var.log() + math.log(2 * math.pi)) + mse_weight * error
    # where(), not a product: a padded row may hold anything
    losses = torch.where(batch.scored, losses, torch.zeros_like(losses))
    per_task = losses.sum(1) / batch.scored.sum(1).clamp(min=1)
    if isinstance(output, RegressionOutput):
        per_task = damped(per_task)
    return per_task.mean()
