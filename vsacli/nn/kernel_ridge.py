"""The answers of kernel ridge regression, which are exact where a few layers of attention are only approximate.

A network of a few layers finds a linear relation to some digits; a solve finds all of them. So the network is
given the answers of closed-form models for each row, reads them as it reads everything else, and decides how
far to follow them: those of three kernels, and, if it reads `more_kernels`, those of kernels that look at the
attributes which go with the labels, and the average of all, which is the best of them by itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.heads.distance import squared_distances
from vsacli.nn.inputs import observed_values, softly_limited, z_scores
from vsacli.nn.ridge import Solved, averaged

LINEAR, RBF, LAPLACE, WEIGHTED, FEW, ALL = range(6)  # in the last mode of the answers
MODELS = 3
MORE_MODELS = 3
MORE_CHANNELS = MORE_MODELS + MODELS + MORE_MODELS  # the further answers, and how wrong each model is
LENGTHS = (0.5, 2.0)  # of the RBF kernel (squared) and of the Laplace kernel
LONG = (8.0,)  # ALL has these as well
WEIGHTED_LENGTHS = (2.0, 8.0)
FLOOR = 0.03  # added to the squared correlation of every attribute
FEWEST = (1, 2, 4)  # attributes that a kernel of FEW looks at
FEW_LENGTHS = (2.0,)
TIE = 1e-5  # squared correlations that differ by less are equal: two labels correlate fully with every attribute
CAUTION = 0.5  # in averaging all models: many have a low error by chance
FAR = 10.0  # largest z-score that the linear model sees
BEYOND = 0.5  # no answer is further out than the labeled targets by this share of their range: there a line is a guess
WITHOUT_SOLVER = ("mps",)  # devices for which torch.linalg.eigh is not written


@torch.no_grad()
def kernel_ridge_answers(batch: TaskBatch, more: bool = False) -> Tensor:
    r"""Answers of kernel ridge regressions, of labeled rows as if their own label were unknown.

    Regressions have an intercept (:class:`vsacli.nn.ridge.Solved`). Of z-scores of M attributes, the kernels are
    :math:`\langle z, z' \rangle / M`, :math:`\exp(-\lVert z - z' \rVert_2^2 / 2 \ell M)` and
    :math:`\exp(-\lVert z - z' \rVert_1 / \ell M)`. Several ridges (and :math:`\ell`) are averaged by the
    likelihood of their own leave-one-out errors.

    With `more`, there are three further models. WEIGHTED averages all three kernels of attributes that count as
    much as :math:`r^2 + 0.03`, r their correlation with the labels; FEW Laplace kernels of the one, two and four
    attributes of the largest :math:`r^2`, and of those that equal them; ALL whatever was solved. The weights are of
    all labels, so in these three a labeled row's own label is not quite unknown.

    Parameters
    ----------
    batch : TaskBatch
        Classes enter as one-hot targets.
    more : bool
        Whether to give the further models.

    Returns
    -------
    Tensor, shape (B, N, C, 3), with `more` (B, N, C, 12)
        Answers of three models (with `more`, six) less the mean of the labeled targets; with `more`, then half of the
        logarithm of each model's mean squared leave-one-out error, the same in all rows. Of at least float32.
        Computed on the CPU for a device that has no solver of eigenvalues (`WITHOUT_SOLVER`).
    """
    device = batch.x.device
    if device.type in WITHOUT_SOLVER:
        return kernel_ridge_answers(batch.to("cpu"), more).to(device)
    with torch.autocast(device.type, enabled=False):
        x, seen = observed_values(batch)
        scores = z_scores(x.to(torch.promote_types(x.dtype, torch.float32)), seen, batch.n_read)
        mask = batch.labeled_mask.unsqueeze(-1).to(scores.dtype)  # (B, L, 1)
        y = batch.one_hot().to(scores.dtype)
        y = mask * (y - y.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))
        attributes = batch.attr_mask.to(scores.dtype)  # (B, M)

        near = softly_limited(scores)
        plain = _Kernels(scores, near, attributes, batch.n_labeled)
        lengths, n = (LENGTHS + LONG if more else LENGTHS), len(LENGTHS)
        rbf, laplace = plain.rbf(lengths), plain.laplace(lengths)
        groups = [[plain.linear()], rbf[:n], laplace[:n]]
        if more:
            targets = batch.class_mask.to(y.dtype)
            told = attributes * _squared_correlations(near[:, : batch.n_labeled], y, mask, targets)  # (B, M)
            weighted = _Kernels(scores, near, (told + FLOOR) * attributes, batch.n_labeled)
            groups.append([weighted.linear(), *weighted.rbf(WEIGHTED_LENGTHS), *weighted.laplace(WEIGHTED_LENGTHS)])
            best = [_Kernels(scores, near, _largest(told, attributes, few), batch.n_labeled) for few in FEWEST]
            groups.append([kernel for kernels in best for kernel in kernels.laplace(FEW_LENGTHS)])
            groups.append(rbf[n:] + laplace[n:])
        solved = [[Solved.of(kernel, y, mask) for kernel in group] for group in groups]
        answers = [averaged(models, y, mask) for models in solved[: MODELS + MORE_MODELS - 1]]
        if more:
            answers.append(averaged([model for models in solved for model in models], y, mask, CAUTION))

        low = torch.where(mask > 0, y, torch.inf).amin(1, keepdim=True).unsqueeze(-1)  # (B, 1, C, 1)
        high = torch.where(mask > 0, y, -torch.inf).amax(1, keepdim=True).unsqueeze(-1)
        margin = BEYOND * (high - low)
        found = torch.stack([answer for answer, _ in answers], -1).clamp(low - margin, high + margin)
        if not more:
            return found
        errors = torch.stack([0.5 * error.log() for _, error in answers], -1)  # (B, 6)
        return torch.cat([found, errors[:, None, None].expand_as(found)], -1)


class _Kernels:
    """Kernels (B, N, L) of z-scores (B, N, M) and of `near`, the same softly limited.

    Attributes count as much as `weights` (B, M) says.
    """

    def __init__(self, scores: Tensor, near: Tensor, weights: Tensor, n_labeled: int) -> None:
        total = weights.sum(1, keepdim=True)
        self.weights = (weights / torch.where(total > 0, total, 1)).unsqueeze(1)  # (B, 1, M), of sum 1
        self.scores, self.near, self.n_labeled = scores, near, n_labeled

    def linear(self) -> Tensor:
        """Inner products."""
        z = self.scores.clamp(-FAR, FAR) * self.weights.sqrt()
        return z @ z[:, : self.n_labeled].transpose(1, 2)

    def rbf(self, lengths: tuple[float, ...]) -> list[Tensor]:
        """Of Euclidean distances."""
        z = self.near * self.weights.sqrt()
        squared = squared_distances(z, z[:, : self.n_labeled])
        return [torch.exp(-0.5 * squared / length) for length in lengths]

    def laplace(self, lengths: tuple[float, ...]) -> list[Tensor]:
        """Of sums of absolute differences."""
        z = self.near * self.weights
        absolute = torch.cdist(z, z[:, : self.n_labeled], p=1)
        return [torch.exp(-absolute / length) for length in lengths]


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
