"""Classes answered in closed form beside the network's answers, and how far each form is followed.

A network of a few layers, trained with a handful of labels, draws straight boundaries between classes only roughly, and
learns little from the hundredth label. Logistic regression finds the one, kernel ridge regression uses the other.
Each is followed as far as labels say: by how much better it answers them, left out, than the network expects to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.inputs import observed_values
from vsacli.nn.logistic import LEAST, Logistic
from vsacli.nn.scales import ZScores, softly_limited

CAUTION = (2.0, 20.0)
"""Nats by which logistic and kernel ridge regression must be better: the second is the more of few labels' fools, since
kernels that look at few attributes have chosen them by all labels."""

TEMPER = 4.0  # nats by which a form must be better still to be followed 2.7 times as far
MOST = 0.8  # of an answer is that of closed forms
SHARPNESS = tuple(0.5 * 32.0 ** (i / 15) for i in range(16))  # of the softmax of kernel ridge answers
FEW_ROWS = 16  # whose entropies count as much as what is expected without them
EXPECTED = 0.9  # loss of the network, in losses of logistic regression: so much it is on real tables
FLOOR = 1e-5  # probability of a class when answers are multiplied


@dataclass(frozen=True)
class ClosedForms:
    r"""Logistic regression and kernel ridge regression (ALL) of one task's labeled rows, and the weight of each.

    With the mean loss :math:`e_k` of form k on n labels that are left out, and the mean entropy H of the network's
    answers, which is the loss that it expects,

    .. math:: p(c \mid x) \propto \prod_k p_k(c \mid x)^{w_k}, \qquad
              w_k = 0.8 \, \mathrm{softmax}_k \left( (n (H - e_k) - a_k) / 4 \right),

    where the network's own exponent is 0, and its weight what the others leave of 1.

    Attributes
    ----------
    scores : ZScores
        Of the attributes.
    logistic : Logistic
    sharpness : float
        Of the softmax of kernel ridge answers.
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
        """Learn from a task; None if fewer than two classes have two labels.

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
        n_classes = batch.class_mask.shape[1]
        counts = torch.bincount(y, minlength=n_classes)
        if (counts > 1).sum() < 2:
            return None
        x, seen = _values(batch)
        scores = ZScores.of(x, seen)
        logistic = Logistic.of(softly_limited(scores(x, seen))[0, : len(y)], y, n_classes)
        shares = (counts / len(y)).double().unsqueeze(0)
        told = counts[y] > 1  # the label of the only row of a class is not known from others
        answered = torch.stack([(s * (ridge[0].cpu().double() + shares)).softmax(-1) for s in SHARPNESS])  # (S, L, C)
        losses = _loss(answered, y, told)
        best = int(losses.argmin())
        left_out = torch.stack([_loss(logistic.left_out, y, told), losses[best]])  # (2,)
        expected = _entropy(probabilities.double()).sum() + FEW_ROWS * EXPECTED * left_out[0]
        better = told.sum() * (expected / (len(probabilities) + FEW_ROWS) - left_out) - torch.tensor(CAUTION)
        weights = MOST * torch.softmax(torch.cat([better.new_zeros(1), better / TEMPER]), 0)[1:]
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
    """As :func:`observed_values`, in float64 on the CPU: many small solves are no work for an accelerator."""
    x, seen = observed_values(batch)
    return x.cpu().double(), seen.cpu()


def _loss(answers: Tensor, y: Tensor, told: Tensor) -> Tensor:
    """Mean of minus the log of the probabilities (..., L, C) of classes (L,), over the rows that are `told`."""
    right = answers[..., torch.arange(len(y)), y]  # (..., L)
    return -right[..., told].clamp(min=LEAST).log().mean(-1)


def _entropy(probabilities: Tensor) -> Tensor:
    """Of each row (u, C), in nats: (u,)."""
    return torch.special.entr(probabilities).sum(-1)
