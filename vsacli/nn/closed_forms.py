"""Classes answered in closed form beside the network's answers, and how far each form is followed.

A network of a few layers, trained with a handful of labels, draws straight boundaries between classes only roughly,
which logistic regression finds exactly; and it learns little from the hundredth label, unlike kernel ridge regression.
Each is followed as far as labels say: by how much better it answers them, left out, than the network expects to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.inputs import observed_values
from vsacli.nn.logistic import Logistic, log_losses
from vsacli.nn.scales import ZScores, softly_limited

MORE_THAN = (300.0, 600.0)
"""Nats, divided by the number of labels, by which logistic and kernel ridge regression must be better. The second is
more easily fooled by few labels, since its kernels of few attributes choose these by all labels."""

TEMPER = 2.0  # nats by which a form must be better still to be followed 2.7 times as far
MOST = 0.8  # of an answer is that of closed forms
SHARPNESS = tuple(0.5 * 32.0 ** (i / 15) for i in range(16))  # of the softmax of kernel ridge answers
FEW_ROWS = 16  # whose entropies count as much as what is expected without them
EXPECTED = 0.9  # loss of the network, in losses of logistic regression: so much it is on real tables
FLOOR = 1e-6  # probability of a class when answers are multiplied


@dataclass(frozen=True)
class ClosedForms:
    r"""Logistic regression and kernel ridge regression of one task's labeled rows, and the weight of each.

    With the mean loss :math:`e_k` of form k on n labels that are left out, and the loss H that the network expects,

    .. math:: p(c \mid x) \propto \prod_k p_k(c \mid x)^{w_k}, \qquad
              w_k = 0.8 \, q^2 \, \mathrm{softmax}_k \left( (n (H - e_k) - a_k / n) / 2 \right),

    where the network's own exponent is 0, and its weight what the others leave of 1. H is the mean entropy of its
    answers, to which 16 rows of 0.9 times the loss of logistic regression are added for tables of few rows. Only labels
    of classes that have another one can be left out; q is the share of such classes. Rows that are equal count as one.

    Attributes
    ----------
    scores : ZScores
        Of the attributes.
    logistic : Logistic
    sharpness : float
        Of the softmax of kernel ridge answers, those of all kernels averaged.
    shares : Tensor, shape (1, C)
        Of the labels.
    weights : Tensor, shape (2,)
    """

    scores: ZScores
    logistic: Logistic
    sharpness: float
    shares: Tensor
    weights: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, batch: TaskBatch, ridge: Tensor, probabilities: Tensor) -> Self | None:
        """Learn from a task; None if labels are too few to speak for any form.

        Parameters
        ----------
        batch : TaskBatch
            One task without padding.
        ridge : Tensor, shape (1, L, C)
            Kernel ridge answers for its labeled rows, each as if its label were unknown, less the mean of the labels.
        probabilities : Tensor, shape (U, C)
            The network's, for its unlabeled rows.
        """
        y = batch.y[0].cpu()
        counts = torch.bincount(y, minlength=batch.class_mask.shape[1])
        x, seen = _values(batch)
        told, times = counts[y] > 1, _times(x[0, : len(y)], seen[0, : len(y)])
        each = torch.stack(
            [told / times, (told & (times == 1)).double()]
        )  # (2, L); a twin tells kernel ridge the label
        entropies = _entropy(probabilities.double())
        n = each.sum(1)  # (2,)
        if (counts > 1).sum() < 2 or n[0] * entropies.mean() < MORE_THAN[0] / n[0]:
            return None
        scores = ZScores.of(x, seen)
        logistic = Logistic.of(softly_limited(scores(x, seen))[0, : len(y)], y, len(counts), each[0])
        shares = (counts / len(y)).double().unsqueeze(0)
        by_ridge = torch.stack([(s * (ridge[0].cpu().double() + shares)).softmax(-1) for s in SHARPNESS])  # (S, L, C)
        losses = log_losses(by_ridge, y)
        best = int((losses @ each[1]).argmin())
        left_out = torch.stack([log_losses(logistic.left_out, y), losses[best]])  # (2, L)
        mean = (each * left_out).sum(1) / n.clamp(min=1)
        expected = (entropies.sum() + FEW_ROWS * EXPECTED * mean[0]) / (len(entropies) + FEW_ROWS)
        better = n * (expected - mean) - torch.tensor(MORE_THAN) / n.clamp(min=1)
        known = (counts > 1).sum() / (counts > 0).sum()
        weights = MOST * known**2 * torch.softmax(torch.cat([better.new_zeros(1), better / TEMPER]), 0)[1:]
        return cls(scores, logistic, SHARPNESS[best], shares, weights)

    @torch.no_grad()
    def pooled(self, probabilities: Tensor, batch: TaskBatch, ridge: Tensor) -> Tensor:
        """The network's probabilities (u, C) of the last rows of a batch, pooled with those of both forms.

        Parameters
        ----------
        probabilities : Tensor, shape (u, C)
        batch : TaskBatch
            One task, with the attributes and classes of that which was learned from.
        ridge : Tensor, shape (1, u, C)
            Kernel ridge answers for these rows.
        """
        x, seen = (part[:, -len(probabilities) :] for part in _values(batch))
        by_forms = (
            self.logistic.answers(softly_limited(self.scores(x, seen))[0]),
            (self.sharpness * (ridge[0].cpu().double() + self.shares)).softmax(-1),
        )
        logits = (1 - self.weights.sum()) * probabilities.double().clamp(min=FLOOR).log()
        for weight, answers in zip(self.weights, by_forms, strict=True):
            logits = logits + weight * answers.clamp(min=FLOOR).log()
        return logits.softmax(-1).to(probabilities.dtype)


def _values(batch: TaskBatch) -> tuple[Tensor, Tensor]:
    """As :func:`observed_values`, in float64 on the CPU, where many small solves are faster than on an accelerator."""
    x, seen = observed_values(batch)
    return x.cpu().double(), seen.cpu()


def _times(x: Tensor, seen: Tensor) -> Tensor:
    """How often each row (L, M) is among them, (L,)."""
    _, which, times = torch.unique(torch.cat([x, seen], 1), dim=0, return_inverse=True, return_counts=True)
    return times[which]


def _entropy(probabilities: Tensor) -> Tensor:
    """Of each row (u, C), in nats: (u,)."""
    return torch.special.entr(probabilities).sum(-1)
