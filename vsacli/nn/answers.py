"""From embeddings to answers: the heads applied to a batch of tasks, and what they give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead

FAR_SURER = 4.0  # in standard deviations
CAUTIOUS = 8.0  # how much larger than on labeled rows the squared error may be elsewhere
LEAST_LEFT = 0.01  # of the network's variance

Head = PrototypeHead | LabelPropagationHead | GPHead


@dataclass
class ClassOutput:
    """Log class probabilities, very negative for classes that are padding.

    Attributes
    ----------
    log_probs : Tensor, shape (B, U, C)
        Of the unlabeled rows.
    ridge : Tensor, shape (B, n, C), optional
        What the average of all kernel ridge regressions says (:class:`vsacli.nn.kernel_ridge.KernelAnswers`), of all
        rows that were read, or of those that are asked about; None if the network does not read it.
    """

    log_probs: Tensor
    ridge: Tensor | None = None


@dataclass
class RegressionOutput:
    """``mean`` and ``var`` (B, U, T) of a new observation, in the units of the targets given."""

    mean: Tensor
    var: Tensor


def class_logits(head: Head, batch: TaskBatch, labeled: Tensor, unlabeled: Tensor) -> Tensor:
    r"""Class logits of the unlabeled rows, not yet masked.

    A Gaussian process takes one-hot labels as targets. Its density at the one-hot vector of class c, normalized
    over classes, is a softmax of mean over variance:

    .. math:: \mathcal{N}(e_c; \bar y, s^2 I) / \sum_{c'} \mathcal{N}(e_{c'}; \bar y, s^2 I)
              = \mathrm{softmax}_c(\bar y / s^2)

    Parameters
    ----------
    head : Head
    batch : TaskBatch
        Of which only the labeled rows matter, but for label propagation.
    labeled, unlabeled : Tensor, shapes (B, L, E) and (B, U, E), float32 or float64
        Embeddings.

    Returns
    -------
    Tensor, shape (B, U, C)
    """
    one_hot = batch.one_hot().to(labeled.dtype)
    m = batch.attr_mask.sum(1)
    with torch.autocast(labeled.device.type, enabled=False):  # it would take distances to bfloat16 after all
        if isinstance(head, LabelPropagationHead):
            return head(labeled, unlabeled, one_hot, m, batch.row_mask)
        if isinstance(head, PrototypeHead):
            return head(labeled, unlabeled, one_hot, m)
        mean, var = head(labeled, unlabeled, one_hot, m, batch.labeled_mask)
        return mean / var


def class_output(logits: Tensor, batch: TaskBatch) -> ClassOutput:
    """Log probabilities of the classes that exist."""
    logits = logits.masked_fill(~batch.class_mask.unsqueeze(1), -1e9)
    return ClassOutput(logits.log_softmax(-1))


def gp_moments(head: Head, batch: TaskBatch, labeled: Tensor, unlabeled: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (B, U, T) of the unlabeled rows' targets, in the units of ``batch.y``; as `class_logits`.

    Raises
    ------
    TypeError
        For a head that has no variance.
    """
    if not isinstance(head, GPHead):
        raise TypeError("a classification head does not regress")
    y = batch.one_hot().to(labeled.dtype)
    with torch.autocast(labeled.device.type, enabled=False):
        return head(labeled, unlabeled, y, batch.attr_mask.sum(1), batch.labeled_mask)


@dataclass
class TargetScale:
    """Centre and spread (B, 1, T) that targets were scaled by."""

    centre: Tensor
    spread: Tensor

    def undo(self, mean: Tensor, var: Tensor) -> RegressionOutput:
        """Moments in the units of the targets given."""
        return RegressionOutput(mean * self.spread + self.centre, var * self.spread.square())


def scale_targets(batch: TaskBatch, standardize: bool) -> tuple[TaskBatch, TargetScale]:
    """Targets to zero mean and unit spread over the labeled rows, unless they are to stay as they are."""
    seen = batch.labeled_mask.unsqueeze(-1)  # (B, L, 1)
    if not standardize:
        one = batch.y.new_ones(len(batch.y), 1, batch.y.shape[-1])
        return batch, TargetScale(torch.zeros_like(one), one)
    count = seen.sum(1, keepdim=True).clamp(min=1)
    y = torch.where(seen, batch.y, torch.zeros_like(batch.y))
    centre = y.sum(1, keepdim=True) / count
    residual = torch.where(seen, y - centre, torch.zeros_like(y))
    spread = (residual.square().sum(1, keepdim=True) / count).sqrt()
    spread = torch.where(spread > 1e-12, spread, torch.ones_like(spread))
    return replace(batch, y=residual / spread), TargetScale(centre, spread)


def scale_answers(batch: TaskBatch, scale: TargetScale) -> TaskBatch:
    """Answers along the graph to the scale of the targets; the last channel is not an answer and stays."""
    structure = batch.structure
    if structure is None:
        return batch
    answers = (structure.answers[..., :-1] - scale.centre.unsqueeze(-1)) / scale.spread.unsqueeze(-1)
    answers = torch.cat([answers, structure.answers[..., -1:]], -1)
    return replace(batch, structure=replace(structure, answers=answers))


def with_exact(mean: Tensor, var: Tensor, exact: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    r"""The network's answers, but those of a closed form where it is far surer of itself.

    A network is never sure of more than a digit or two; where targets are a sum, a ratio or a smooth function of
    attributes, a solve knows them all. Its share of the answer is :math:`1 / (1 + (16 e^2 / s^2)^2)`, with its own
    error :math:`e^2` and the network's variance :math:`s^2`: next to nothing unless it is four times as exact.

    Parameters
    ----------
    mean, var : Tensor, shape (B, U, T)
        The network's.
    exact : Tensor, shape (B, U, T)
        The closed form's.
    error : Tensor, shape (B, U, T)
        Its mean squared error on labeled rows, as if their labels were unknown.
    """
    share = 1 / (1 + (FAR_SURER**2 * error / var).square())
    left = torch.minimum(CAUTIOUS * error, var).clamp(min=LEAST_LEFT * var)
    return mean + share * (exact - mean), var + share * (left - var)
