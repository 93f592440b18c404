"""The test loss of a batch of episodes (equation 9 of the paper, and its regression form)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.tasks.episode import EpisodeBatch


def damped(loss: Tensor) -> Tensor:
    """5 asinh(l / 5): the loss of a regression task, with logarithmic growth far from 0."""
    return 5 * torch.asinh(loss / 5)


def negative_log_density(error: Tensor, var: Tensor, degrees: float | None) -> Tensor:
    r"""Of a target at a squared distance from the mean, under a Student t or (``degrees=None``) Gaussian law.

    .. math:: -\log p = \tfrac{\nu + 1}{2} \log\left(1 + \frac{e}{(\nu - 2) v}\right)
              + \tfrac12 \log((\nu - 2) \pi v) - \log\Gamma(\tfrac{\nu + 1}{2}) + \log\Gamma(\tfrac{\nu}{2})

    Both have the variance v. A row far from the rest moves the weights less under heavy tails.

    Parameters
    ----------
    error, var : Tensor
        Squared errors e, and v.
    degrees : float or None
        The degrees of freedom :math:`\nu`, above 2.
    """
    if degrees is None:
        return 0.5 * (error / var + var.log() + math.log(2 * math.pi))
    spread = (degrees - 2) * var
    constant = math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)
    return (degrees + 1) / 2 * torch.log1p(error / spread) + 0.5 * (spread * math.pi).log() + constant


def episode_loss(
    output: ClassOutput | RegressionOutput, batch: EpisodeBatch, mse_weight: float, degrees: float | None = None
) -> Tensor:
    r"""Mean over tasks of the mean loss over their scored unlabeled rows.

    Classification: the negative log probability of the held-out class. Regression: the negative log density
    of the target (:func:`negative_log_density`) plus ``mse_weight`` times the squared error of the mean, with the
    loss l of a task entering as 5 asinh(l / 5): a table whose labeled targets are all but equal, and whose
    others are not, has a loss of thousands, and would move the weights alone (:func:`damped`).

    Parameters
    ----------
    output : ClassOutput or RegressionOutput
    batch : EpisodeBatch
    mse_weight, degrees
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
        losses = negative_log_density(error, var, degrees) + mse_weight * error
    # where(), not a product: a padded row may hold anything
    losses = torch.where(batch.scored, losses, torch.zeros_like(losses))
    per_task = losses.sum(1) / batch.scored.sum(1).clamp(min=1)
    if isinstance(output, RegressionOutput):
        per_task = damped(per_task)
    return per_task.mean()
