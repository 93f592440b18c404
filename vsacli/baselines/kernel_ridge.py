"""Kernel ridge regression, many kernels averaged: the best simple method we know for all but the fewest labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vsacli.baselines.base import Floats, Rows, SimpleMethod

HUGE = 1e9  # beyond, squares might be no numbers; attributes that were read from a table are at most 4


class KernelRidge(SimpleMethod):
    """Kernels and ridges averaged by their leave-one-out errors; classes as one-hot targets.

    These are answers that the network may read (`vsacli.nn.kernel_ridge`, ALL), taken alone. The deviation is that of
    the leave-one-out errors, the same for all rows; answers for classes are cut at 1% and scaled to sum to one.
    """

    def attributes(self, x: NDArray[np.floating]) -> Floats:
        """As they are, since kernels scale them, and undo their smooth clip; the mean where not observed."""
        if x.shape[1] == 0:
            return np.zeros((len(x), 1))
        observed = np.isfinite(x)
        values = np.clip(np.where(observed, x, 0).astype(np.float64), -HUGE, HUGE)
        mean = values.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
        return np.where(observed, values, mean)

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        one_hot = np.eye(rows.n_seen)[rows.y]
        answers, _ = _answers(rows, one_hot)
        scores = np.clip(answers + one_hot.mean(axis=0), 0.01, None)
        return scores / scores.sum(axis=1, keepdims=True)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        center, spread = rows.y.mean(), rows.y.std() or 1.0
        scaled = (rows.y - center) / spread
        answers, without = _answers(rows, scaled[:, None])
        std = spread * np.sqrt(np.mean((without[:, 0] - scaled) ** 2))
        return center + spread * answers[:, 0], np.full(len(answers), std)


def _answers(rows: Rows, y: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Answers (U, C) of the unlabeled rows, and of each labeled row (L, C) as if its label were unknown."""
    import torch

    from vsacli.nn.batch import TaskBatch
    from vsacli.nn.kernel_ridge import ALL, kernel_ridge_answers

    x = torch.from_numpy(rows.all).unsqueeze(0)
    n = len(rows.labeled)
    batch = TaskBatch(
        x=x,
        observed=torch.ones_like(x, dtype=torch.bool),
        n_labeled=n,
        y=torch.from_numpy(y).unsqueeze(0),
        row_mask=torch.ones(x.shape[:2], dtype=torch.bool),
        attr_mask=torch.ones(1, x.shape[2], dtype=torch.bool),
        class_mask=torch.ones(1, y.shape[1], dtype=torch.bool),
    )
    answers = kernel_ridge_answers(batch, more=True)[0, :, :, ALL].numpy()
    return answers[n:], answers[:n]
