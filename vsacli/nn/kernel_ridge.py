"""The answers of kernel ridge regression, which are exact where a few layers of attention are only approximate.

A network of a few layers finds a linear relation to some digits; a solve finds all of them. So the network is
given the answers of three closed-form models for each row, reads them as it reads everything else, and decides how
far to follow them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.heads.distance import squared_distances
from vsacli.nn.inputs import observed_values, softly_limited, z_scores

LINEAR, RBF, LAPLACE = range(3)  # in the last mode of the answers
MODELS = 3
RIDGES = tuple(1e-3 * 4.0**i for i in range(9))  # in units of a kernel whose diagonal is about 1
LENGTHS = (0.5, 2.0)  # of the RBF kernel (squared) and of the Laplace kernel
FAR = 10.0  # largest z-score that the linear model sees
BEYOND = 0.5  # no answer is further out than the labeled targets by this share of their range: there a line is a guess
WITHOUT_SOLVER = ("mps",)  # devices for which torch.linalg.eigh is not written
MIN_ONE_MINUS_LEVERAGE = 1e-4  # float32 has no more digits


@torch.no_grad()
def kernel_ridge_answers(batch: TaskBatch) -> Tensor:
    r"""Answers of kernel ridge regressions with three kernels, of labeled rows as if their own label were unknown.

    .. math:: \hat y = k^\top A^{-1} y, \quad A = K + \lambda I, \qquad
              \hat y_{-i} = y_i - \frac{[A^{-1} y]_i}{[A^{-1}]_{ii} - 1 / (\lambda L)}

    with targets and kernels centred on the L labeled rows, which is regression with an intercept. Of z-scores of M
    attributes, the kernels are :math:`\langle z, z' \rangle / M`, :math:`\exp(-\lVert z - z' \rVert_2^2 / 2 \ell M)`
    and :math:`\exp(-\lVert z - z' \rVert_1 / \ell M)`. Several :math:`\lambda` (and :math:`\ell`) are averaged by the
    likelihood of their own leave-one-out errors, :math:`e^{-L/2}` for a mean squared error :math:`e`.

    Parameters
    ----------
    batch : TaskBatch
        Classes enter as one-hot targets.

    Returns
    -------
    Tensor, shape (B, N, C, 3)
        Less the mean of the labeled targets; of at least float32. Computed on the CPU for a device that has no
        solver of eigenvalues (`WITHOUT_SOLVER`).
    """
    device = batch.x.device
    if device.type in WITHOUT_SOLVER:
        return kernel_ridge_answers(batch.to("cpu")).to(device)
    with torch.autocast(device.type, enabled=False):
        x, seen = observed_values(batch)
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        mask = batch.labeled_mask.unsqueeze(-1).to(x.dtype)  # (B, L, 1)
        m = batch.attr_mask.sum(1).clamp(min=1)[:, None, None]

        y = batch.one_hot().to(x.dtype)
        y = mask * (y - y.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))

        scores = z_scores(x, seen, batch.n_read)
        z = scores.clamp(-FAR, FAR)
        linear = z @ z[:, : batch.n_labeled].transpose(1, 2) / m  # (B, N, L)
        z = softly_limited(scores)
        squared = squared_distances(z, z[:, : batch.n_labeled]) / m
        absolute = torch.cdist(z, z[:, : batch.n_labeled], p=1) / m
        models = (
            [linear],
            [torch.exp(-0.5 * squared / length) for length in LENGTHS],
            [torch.exp(-absolute / length) for length in LENGTHS],
        )
        answers = [_answers([_centred(k, mask) for k in kernels], y, mask) for kernels in models]
        low = torch.where(mask > 0, y, torch.inf).amin(1, keepdim=True)  # (B, 1, C)
        high = torch.where(mask > 0, y, -torch.inf).amax(1, keepdim=True)
        margin = BEYOND * (high - low)
        return torch.stack([a.clamp(low - margin, high + margin) for a in answers], -1)


def _centred(kernel: Tensor, mask: Tensor) -> Tensor:
    """The kernel (B, N, L) of features less their mean over the labeled rows; 0 at padded labeled rows."""
    share = mask / mask.sum(1, keepdim=True).clamp(min=1)  # (B, L, 1)
    with_mean = kernel @ share  # (B, N, 1)
    of_labeled = with_mean[:, : mask.shape[1]]  # (B, L, 1)
    mean = share.transpose(1, 2) @ of_labeled  # (B, 1, 1)
    return (kernel - with_mean - of_labeled.transpose(1, 2) + mean) * mask.transpose(1, 2)


def _answers(kernels: list[Tensor], y: Tensor, mask: Tensor) -> Tensor:
    """Answers (B, N, C), averaged over kernels (B, N, L) and ridges; y is (B, L, C), mask (B, L, 1)."""
    ridges = torch.tensor(RIDGES, dtype=y.dtype, device=y.device).unsqueeze(-1)  # (G, 1)
    count = mask.sum((1, 2)).clamp(min=1).unsqueeze(-1)  # (B, 1)
    each, errors = [], []
    for kernel in kernels:
        values, vectors = torch.linalg.eigh(kernel[:, : y.shape[1]] * mask)  # (B, L), (B, L, L)
        inverse = 1 / (values.clamp(min=0).unsqueeze(1) + ridges)  # (B, G, L)
        weights = torch.einsum("bij,bgj,bjc->bgic", vectors, inverse, vectors.transpose(1, 2) @ y)  # A^-1 y
        diagonal = torch.einsum("bij,bgj->bgi", vectors.square(), inverse) * ridges  # lambda [A^-1]_ii, (B, G, L)
        free = (diagonal - 1 / count.unsqueeze(-1)).clamp(min=MIN_ONE_MINUS_LEVERAGE)
        apart = weights * (ridges / free).unsqueeze(-1) * mask.unsqueeze(1)  # y_i - y_-i, (B, G, L, C)
        answers = torch.einsum("bnl,bglc->bgnc", kernel, weights)  # (B, G, N, C)
        answers[:, :, : y.shape[1]] = y.unsqueeze(1) - apart
        each.append(answers)
        errors.append(apart.square().sum((2, 3)) / count)  # (B, G)
    error = torch.cat(errors, 1).clamp(min=1e-8)
    share = torch.softmax(-0.5 * count * error.log(), 1)  # (B, all G)
    return torch.einsum("bg,bgnc->bnc", share, torch.cat(each, 1))
