"""A student of the network for tables of very many rows: a small feed-forward network fitted to its soft answers.

    rows that the network has read, its answers --fit--> student --any row--> answers, and which of them to trust

The student never sees a label. The network's own answer to a row depends a little on the rows that it is read with, so
it is asked twice about some rows, which are held out from the student: where the student agrees with it about as often
as it agrees with itself, the student may answer. All other rows are read by the network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.inference.student_input import StudentInput
from vsacli.support.torch_threads import torch_on_one_thread

if TYPE_CHECKING:
    import torch

TAUGHT, CHECKED = 8_192, 2_048
"""Rows that the student learns from, and those held out from it."""

ALLOWED = 0.02
"""Share of rows by which the student may agree with the network less often than the network with itself."""

DEVIATION = 0.1
"""For numbers, how much farther from the network it may be: the root mean square, in the network's own deviations."""

LEAST_SHARE = 0.2
"""A student that may answer fewer rows is not asked: it would save less than it costs."""

MOST_ATTRIBUTES, MOST_CLASSES = 512, 64
"""Sizes beyond which so few rows do not suffice to imitate the network."""

_WIDTH, _EPOCHS, _BATCH, _RATE, _WARM_UP = 128, 30, 128, 4e-3, 0.02
_BETAS, _DECAY = (0.9, 0.999), 0.01  # of AdamW
_AT_ONCE = 4_096  # rows that are answered together
_ONE_SIDED = 1.645  # standard errors of the agreement that are allowed for: 95%


@dataclass(frozen=True)
class Student:
    """A feed-forward network that imitates the large one.

    Attributes
    ----------
    inputs : StudentInput
    layers : Module
        From inputs to logits of the classes; or to the mean, in ``scale``, and the logarithm of the variance.
    classes : bool
    scale : tuple of float
        Mean and spread of the means that it has learned; not used for classes.
    margin : float
        How much more probable than the second class the first must be for a row to be answered; 0 for numbers.
    """

    inputs: StudentInput
    layers: torch.nn.Module
    classes: bool
    scale: tuple[float, float] = (0.0, 1.0)
    margin: float = 0.0

    @classmethod
    def taught(cls, x: np.ndarray, answers: np.ndarray, again: np.ndarray, classes: bool) -> Student | None:
        """A student of the network's answers, or None if it would not be trusted with a fifth of the rows.

        Parameters
        ----------
        x : ndarray of float32, shape (T + V, M)
            Attributes of rows, NaN where not observed; the last V are held out.
        answers : ndarray, shape (T + V, C), or (T + V, 2)
            Class probabilities; or mean and variance of (scaled) numbers.
        again : ndarray, shape (V, C) or (V, 2)
            The network's answers for the rows that are held out, read in other company.
        classes : bool
        """
        n = len(x) - len(again)
        inputs = StudentInput.of(x[:n])
        scale = (0.0, 1.0) if classes else (float(answers[:n, 0].mean()), float(answers[:n, 0].std()) or 1.0)
        student = cls(inputs, _fitted(inputs(x[:n]), _targets(answers[:n], classes, scale), classes), classes, scale)
        own, network = student.imitated(x[n:]), answers[n:]
        if not classes:
            apart = (own[:, 0] - network[:, 0]) ** 2 - (again[:, 0] - network[:, 0]) ** 2
            return student if np.mean(apart) <= DEVIATION**2 * np.mean(network[:, 1]) else None
        best = network.argmax(1)
        less = (again.argmax(1) == best) * 1.0 - (own.argmax(1) == best)
        margin, share = _trusted_from(_margins(own), less)
        return cls(inputs, student.layers, True, scale, margin) if share >= LEAST_SHARE else None

    def answer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The answers for rows (u, M), as the network gives them, and those that may be kept (u,)."""
        own = self.imitated(x)
        return own, _margins(own) >= self.margin if self.classes else np.ones(len(x), bool)

    def imitated(self, x: np.ndarray) -> np.ndarray:
        """The answers for rows (u, M), float32."""
        import torch

        parts = []
        with torch_on_one_thread(), torch.inference_mode():
            for start in range(0, len(x), _AT_ONCE):
                out = self.layers(torch.from_numpy(self.inputs(x[start : start + _AT_ONCE])))
                parts.append((out.softmax(-1) if self.classes else out).numpy())
        found = np.concatenate(parts)
        if not self.classes:
            found[:, 0] = found[:, 0] * self.scale[1] + self.scale[0]
            found[:, 1] = np.exp(found[:, 1])
        return found


def student_pays(least: int | None, rows: int, n_attributes: int, n_classes: int) -> bool:
    """Whether a student of the network can be expected to answer most rows, and sooner.

    Parameters
    ----------
    least : int or None
        `InferenceConfig.student_from`.
    rows : int
        Different ones that are to be answered.
    n_attributes, n_classes : int
        M and C; 0 for numbers.
    """
    if least is None or rows < max(least, TAUGHT + CHECKED):
        return False
    return n_attributes <= MOST_ATTRIBUTES and n_classes <= MOST_CLASSES


def _targets(answers: np.ndarray, classes: bool, scale: tuple[float, float]) -> np.ndarray:
    """What a student learns (T, width), float32: probabilities, or scaled means and log variances."""
    if classes:
        return answers.astype(np.float32)
    return np.stack([(answers[:, 0] - scale[0]) / scale[1], np.log(answers[:, 1])], 1).astype(np.float32)


def _fitted(x: np.ndarray, targets: np.ndarray, classes: bool) -> torch.nn.Module:
    """Layers that give targets (T, width) for inputs (T, D): least cross-entropy, or squared error."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    rows, given = torch.from_numpy(x), torch.from_numpy(targets)
    with torch_on_one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = nn.Sequential(
            *(nn.Linear(rows.shape[1], _WIDTH), nn.GELU(), nn.Linear(_WIDTH, _WIDTH), nn.GELU()),
            nn.Linear(_WIDTH, given.shape[1]),
        )
        step = _AdamW(list(layers.parameters()))
        batches = max(1, len(rows) // _BATCH)
        for epoch in range(_EPOCHS):
            for i, batch in enumerate(torch.randperm(len(rows)).chunk(batches)):
                out = layers(rows[batch])
                loss = F.cross_entropy(out, given[batch]) if classes else F.mse_loss(out, given[batch])
                step(torch.autograd.grad(loss, step.weights), _rate((epoch * batches + i) / (_EPOCHS * batches)))
    return layers.eval().requires_grad_(False)


def _rate(done: float) -> float:
    """The rate when a share of the steps is done: it rises at first, then falls to 0 along half a cosine."""
    return _RATE * min(1.0, done / _WARM_UP) * 0.5 * (1 + math.cos(math.pi * done))


class _AdamW:
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019).

    That of PyTorch imports its compiler, which takes two seconds and 70 MB.
    """

    def __init__(self, weights: list[torch.Tensor]) -> None:
        self.weights = weights
        self._mean, self._square = ([w.new_zeros(w.shape) for w in weights] for _ in range(2))
        self._steps = 0

    def __call__(self, gradients: Sequence[torch.Tensor], rate: float) -> None:
        """Move the weights in place."""
        self._steps += 1
        unbiased = rate * math.sqrt(1 - _BETAS[1] ** self._steps) / (1 - _BETAS[0] ** self._steps)
        for weight, gradient, mean, square in zip(self.weights, gradients, self._mean, self._square, strict=True):
            mean.lerp_(gradient, 1 - _BETAS[0])
            square.mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1 - _BETAS[1])
            weight.data.mul_(1 - rate * _DECAY).addcdiv_(mean, square.sqrt().add_(1e-8), value=-unbiased)


def _margins(proba: np.ndarray) -> np.ndarray:
    """By how much the most probable class of each row is ahead of the second, (u,)."""
    if proba.shape[1] == 1:
        return proba[:, 0]
    two = np.partition(proba, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def _trusted_from(margins: np.ndarray, less: np.ndarray) -> tuple[float, float]:
    """The least margin above which a student may answer, and the share of held-out rows above it.

    Parameters
    ----------
    margins : ndarray, shape (V,)
    less : ndarray, shape (V,)
        1 where the network agrees with itself and the student does not, -1 where it is the other way round, else 0:
        its mean over the trusted rows is at most `ALLOWED`, with 95% confidence.
    """
    order = np.argsort(-margins, kind="stable")
    count = np.arange(1, len(order) + 1)
    mean = np.cumsum(less[order]) / count
    spread = np.cumsum(less[order] ** 2) / count - mean**2
    # If all of k rows agree the error is unknown rather than 0: as if one in fifty did not.
    error = np.sqrt(np.maximum(spread, ALLOWED * (1 - ALLOWED)) / count)
    enough = np.flatnonzero(mean + _ONE_SIDED * error <= ALLOWED)
    if not len(enough):
        return np.inf, 0.0
    last = enough[-1]
    # All held-out rows may be answered, so no margin is too small.
    return 0.0 if last + 1 == len(order) else float(margins[order[last]]), (last + 1) / len(order)
