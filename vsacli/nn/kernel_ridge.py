"""The answers of kernel ridge regression, which are exact where a few layers of attention are only approximate.

A network of a few layers finds a linear relation to some digits; a solve finds all of them. So the network is
given the answers of closed-form models for each row, reads them as it reads everything else, and decides how
far to follow them: those of three kernels, and, if it reads `more_kernels`, those of kernels that look at the
attributes which go with the labels, and the average of all, which is the best of them by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.inputs import observed_values
from vsacli.nn.kernels import Kernels, ScoredRows
from vsacli.nn.ridge import Average, Solved, averaged
from vsacli.nn.scales import ZScores, softly_limited, unlimited

LINEAR, RBF, LAPLACE, WEIGHTED, FEW, ALL = range(6)  # in the last mode of the answers
MODELS = 3
MORE_MODELS = 3
ERROR_OF_ALL = MODELS + MORE_MODELS + ALL
MORE_CHANNELS = MORE_MODELS + MODELS + MORE_MODELS  # the further answers, and how wrong each model is
LENGTHS = (0.5, 2.0)  # of the RBF kernel (squared) and of the Laplace kernel
LONG = (8.0,)  # ALL has these as well
WEIGHTED_LENGTHS = (2.0, 8.0)
NOT_FAR, VERY_FAR = 4.0, 100.0  # values that the linear kernel sees as they are, in normal deviations; ALL has both
FLOOR = 0.03  # added to the squared correlation of every attribute
FEWEST = (1, 2, 4)  # attributes that a kernel of FEW looks at
FEW_LENGTHS = (2.0,)
TIE = 1e-5  # squared correlations that differ by less are equal: two labels correlate fully with every attribute
CAUTION = 0.5  # in averaging all models: many have a low error by chance
BEYOND = 0.5  # no answer is further out than the labeled targets by this share of their range: there a line is a guess,
EXACT, FAR_BEYOND = 1e-3, 10.0  # but by the latter if squared errors are less than the former, of scaled targets
WITHOUT_SOLVER = ("mps",)  # devices for which torch.linalg.eigh is not written


def kernel_ridge_answers(batch: TaskBatch, more: bool = False) -> Tensor:
    """The answers of :class:`KernelAnswers` for the rows of a batch."""
    return KernelAnswers.of(batch, more).answers


@dataclass(frozen=True)
class KernelAnswers:
    r"""Answers of kernel ridge regressions, of labeled rows as if their own label were unknown.

    Regressions have an intercept (:class:`vsacli.nn.ridge.Solved`). Of z-scores of M attributes, the kernels are
    :math:`\langle z, z' \rangle / M` (of values before their smooth clip),
    :math:`\exp(-\lVert z - z' \rVert_2^2 / 2 \ell M)` and :math:`\exp(-\lVert z - z' \rVert_1 / \ell M)`. Several
    ridges (and :math:`\ell`) are averaged by the likelihood of their own leave-one-out errors.

    With `more`, there are three further models. WEIGHTED averages all three kernels of attributes that count as
    much as :math:`r^2 + 0.03`, r their correlation with the labels; FEW Laplace kernels of the one, two and four
    attributes of the largest :math:`r^2`, and of those that equal them; ALL whatever was solved, and the linear kernel
    of values however large. The weights are of all labels, so in these three a labeled row's own label is not quite
    unknown.

    Attributes
    ----------
    answers : Tensor, shape (B, N, C, 3), with `more` (B, N, C, 12)
        Answers of three models (with `more`, six) less the mean of the labeled targets; with `more`, then half of the
        logarithm of each model's mean squared leave-one-out error, the same in all rows. Of at least float32.
    """

    answers: Tensor
    _scale: _RowScales
    _kernels: Sequence[Kernels]
    _uses: Sequence[_Use]  # of each kernel that these have
    _limits: tuple[Tensor, Tensor]  # no answer is lower or higher, (B, 1, C, 1)
    _errors: Tensor | None  # (B, 6)

    @classmethod
    @torch.no_grad()
    def of(cls, batch: TaskBatch, more: bool = False, *, for_others: bool = False) -> Self:
        """Solve the regressions of a batch.

        Parameters
        ----------
        batch : TaskBatch
            Classes enter as one-hot targets. On a device that has no solver of eigenvalues (`WITHOUT_SOLVER`), they
            are solved on the CPU.
        more : bool
            Whether to have the further models.
        for_others : bool
            Whether other rows will be asked about.
        """
        device = batch.x.device
        if device.type in WITHOUT_SOLVER:
            found = cls.of(batch.to("cpu"), more, for_others=for_others)
            return replace(found, answers=found.answers.to(device))
        with torch.autocast(device.type, enabled=False):
            x, seen = _values(batch)
            scale = _RowScales.of(x, seen)
            rows = scale(x, seen)
            mask = batch.labeled_mask.unsqueeze(-1).to(x.dtype)  # (B, L, 1)
            y = batch.one_hot().to(x.dtype)
            y = mask * (y - y.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))
            kernels, models = _kernels(rows.first(batch.n_labeled), batch, y, mask, more)
            averages: list[tuple[list[int], Average]] = []  # of which kernels
            solved = [Solved.of(kernel, y, mask) for some in kernels for kernel in some.between(rows)]
            for model in range(FEW + 1 if more else MODELS):
                chosen = [i for i, of in enumerate(models) if of == model]
                averages.append((chosen, averaged([solved[i] for i in chosen], y, mask)))
            if more:
                together = averaged(solved, y, mask, CAUTION)
                if batch.y.is_floating_point():
                    far = max(i for i, of in enumerate(models) if of is None)  # the last that only ALL has
                    together = _exact_or(together, solved, solved[far], y, mask)
                averages.append((list(range(len(solved))), together))

            low = torch.where(mask > 0, y, torch.inf).amin(1, keepdim=True).unsqueeze(-1)  # (B, 1, C, 1)
            high = torch.where(mask > 0, y, -torch.inf).amax(1, keepdim=True).unsqueeze(-1)
            margin = BEYOND * (high - low)
            if batch.y.is_floating_point() and more:
                exact = (averages[ALL][1].error < EXACT)[:, None, None, None]
                margin = torch.where(exact, FAR_BEYOND / BEYOND * margin, margin)
            limits = low - margin, high + margin
            answers = torch.stack([average.answers for _, average in averages], -1).clamp(*limits)
            errors = torch.stack([0.5 * average.error.log() for _, average in averages], -1) if more else None
            uses = [_Use.of(i, model, averages, mask) for i, model in enumerate(solved)] if for_others else []
        return cls(_with_errors(answers, errors), scale, kernels, uses, limits, errors)

    @torch.no_grad()
    def ask(self, batch: TaskBatch) -> Tensor:
        """Answers (B, u, C, 3 or 12) for other rows: those of a batch whose attributes and classes are the same."""
        device, own = batch.x.device, self._scale.near.mean.device
        x, seen = _values(batch.to(own))
        rows = self._scale(x, seen)
        b, u, _ = x.shape
        models = MODELS if self._errors is None else MODELS + MORE_MODELS
        found = x.new_zeros(b, u, self._limits[0].shape[2], models)
        kernels = (kernel for some in self._kernels for kernel in some.between(rows))
        for kernel, use in zip(kernels, self._uses, strict=True):
            found[..., use.models] += (kernel @ use.weights + use.constant).unflatten(2, (-1, len(use.models)))
        found = found.clamp(*self._limits)
        return _with_errors(found, self._errors).to(device)


@dataclass(frozen=True)
class _RowScales:
    """The scales of `ScoredRows`."""

    far: ZScores
    straight: ZScores
    near: ZScores

    @classmethod
    def of(cls, x: Tensor, seen: Tensor) -> Self:
        """From values (B, N, M), 0 where not seen, and where they count."""
        limited = (unlimited(x, VERY_FAR), unlimited(x, NOT_FAR), x)
        return cls(*(ZScores.of(values, seen) for values in limited))

    def __call__(self, x: Tensor, seen: Tensor) -> ScoredRows:
        far, straight = self.far(unlimited(x, VERY_FAR), seen), self.straight(unlimited(x, NOT_FAR), seen)
        return ScoredRows(far, straight, softly_limited(self.near(x, seen)))


@dataclass(frozen=True)
class _Use:
    """How one kernel enters the models that use it: ``kernel @ weights + constant``, (B, u, C times models)."""

    models: list[int]
    weights: Tensor
    constant: Tensor

    @classmethod
    def of(cls, kernel: int, solved: Solved, averages: list[tuple[list[int], Average]], mask: Tensor) -> Self:
        """Of kernel number `kernel`, given the kernels that each model averages."""
        models = [model for model, (chosen, _) in enumerate(averages) if kernel in chosen]
        parts = [averages[model][1].weights[averages[model][0].index(kernel)] for model in models]
        weights, constants = zip(*(solved.of_others(part, mask) for part in parts), strict=True)
        return cls(models, torch.stack(weights, -1).flatten(2), torch.stack(constants, -1).flatten(2))


def _kernels(
    labeled: ScoredRows, batch: TaskBatch, y: Tensor, mask: Tensor, more: bool
) -> tuple[list[Kernels], list[int | None]]:
    """The kernels of a batch, and the model that averages each of those that they have; None: only ALL does."""
    attributes = batch.attr_mask.to(y.dtype)  # (B, M)
    lengths = LENGTHS + LONG if more else LENGTHS
    kernels = [Kernels.of(labeled, attributes, lengths, lengths)]
    longer = [None] * (len(lengths) - len(LENGTHS))
    models = [LINEAR, *[RBF] * len(LENGTHS), *longer, *[LAPLACE] * len(LENGTHS), *longer]
    if more:
        told = attributes * _squared_correlations(labeled.near, y, mask, batch.class_mask.to(y.dtype))  # (B, M)
        kernels.append(Kernels.of(labeled, (told + FLOOR) * attributes, WEIGHTED_LENGTHS, WEIGHTED_LENGTHS))
        models += [WEIGHTED] * (1 + 2 * len(WEIGHTED_LENGTHS))
        kernels.append(Kernels.of(labeled, attributes, (), (), far=True))
        models.append(None)
        for few in FEWEST:
            best = _largest(told, attributes, few)
            kernels.append(Kernels.of(labeled, best, (), FEW_LENGTHS, linear=False))
            models += [FEW] * len(FEW_LENGTHS)
    return kernels, models


def _exact_or(together: Average, solved: Sequence[Solved], far: Solved, y: Tensor, mask: Tensor) -> Average:
    """The average of all models, but the linear one of values however large where it is exact.

    Beyond the labeled rows those of limited values answer otherwise, though on labels they are as good.
    """
    alone = averaged([far], y, mask)
    exact = (alone.error < EXACT)[:, None, None]
    return Average(
        torch.where(exact, alone.answers, together.answers),
        torch.where(exact[:, 0, 0], alone.error, together.error),
        [
            torch.where(exact, alone.weights[0] if model is far else torch.zeros_like(weights), weights)
            for model, weights in zip(solved, together.weights, strict=True)
        ],
    )


def _values(batch: TaskBatch) -> tuple[Tensor, Tensor]:
    """As :func:`observed_values`, of at least float32."""
    x, seen = observed_values(batch)
    return x.to(torch.promote_types(x.dtype, torch.float32)), seen


def _with_errors(answers: Tensor, errors: Tensor | None) -> Tensor:
    """Answers (B, n, C, 6) followed by what is the same in all rows, (B, 6)."""
    return answers if errors is None else torch.cat([answers, errors[:, None, None].expand_as(answers)], -1)


def _squared_correlations(z: Tensor, y: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
    """Of z-scores (B, L, M) with labels (B, L, C) of mean 0, averaged over the C targets (B, C) there are: (B, M)."""
    z = mask * (z - (mask * z).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))
    both = z.square().sum(1).unsqueeze(-1) * y.square().sum(1).unsqueeze(1)  # (B, M, C)
    squares = (z.transpose(1, 2) @ y).square() / both.clamp(min=1e-12)
    return (squares * targets.unsqueeze(1)).sum(-1) / targets.sum(1, keepdim=True).clamp(min=1)


def _largest(told: Tensor, attributes: Tensor, n: int) -> Tensor:
    """1 for the n attributes (B, M) of which `told` is largest and for those that equal them, 0 for the others."""
    told = torch.where(attributes > 0, told, -1.0)
    least = told.sort(dim=1, descending=True).values[:, min(n, told.shape[1]) - 1, None]
    return attributes * (told > least - TIE)
