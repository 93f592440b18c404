"""The scale on which numbers are answered: as they stand, or as logarithms where these fit the labeled rows better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST_LABELS, MANY_LABELS = 8, 20
"""Fewer say nothing about the scale; so many may leave no doubt."""

MOST_LABELS = 200
"""Labeled rows that the scales are compared on, at most."""

LEAST_RATIO = 1.5
"""Between the largest and the smallest target; on less, both scales are the same line."""

LEAST_GAIN, NO_DOUBT = 0.2, 1.0
"""In the mean logarithm of the density of a target, by which logarithms must be better."""

A_LITTLE = 1.1
"""How much larger the squared error may then be."""

DECADES = 1e3
"""Between the largest and the smallest target; then the squared error is that of a few labels, and says nothing."""

_LARGEST = float(np.log(np.finfo(np.float64).max))


@dataclass(frozen=True)
class TargetScale:
    """Targets to mean 0 and spread 1, in float64: values near 1e13 or 1e308 must not meet float32 before.

    Everything is computed on targets divided by the largest magnitude, ``size``, or on logarithms of targets.
    """

    size: float
    centre: float
    spread: float  # 0: all equal
    first: float  # the value of equal targets
    logarithms: bool = False

    @classmethod
    def of(cls, y: np.ndarray, *, logarithms: bool = False) -> TargetScale:
        """The scale of targets (L,)."""
        y = np.asarray(y, np.float64)
        first = float(y[0])
        if y.min() == y.max():
            return cls(1.0, 0.0, 0.0, first)
        size = 1.0 if logarithms else float(np.abs(y).max())
        parts = np.log(y) if logarithms else y / size
        return cls(size, float(parts.mean()), float(parts.std()), first, logarithms)

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Targets as the network takes them, float32; 0 if all are equal."""
        if not self.spread:
            return np.zeros(len(y), np.float32)
        y = np.asarray(y, np.float64)
        parts = np.log(y) if self.logarithms else y / self.size
        return ((parts - self.centre) / self.spread).astype(np.float32)

    def undo(self, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation in the units of the targets, float64, finite.

        Of logarithms, the median, and half of the distance between what lies a standard deviation below and above it.
        """
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            m = mean.astype(np.float64) * self.spread + self.centre
            s = np.sqrt(var.astype(np.float64)) * self.spread
            if self.logarithms:
                below, m, above = (np.exp(np.minimum(m + k * s, _LARGEST)) for k in (-1, 0, 1))
                s = (above - below) / 2
            else:
                m, s = m * self.size, s * self.size
        # NaN stays NaN, for the caller to see; what lies beyond float64 becomes its last number.
        return np.clip(m, -most, most), np.minimum(s, most)


def logarithms_fit_better(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether kernel ridge regression answers the logarithms of labeled targets better than the targets.

    It is asked about each labeled row as if its label were unknown. The answers must be clearly better by the normal
    density of what is left over, as targets (of log y that is :math:`\\mathcal{N}(\\log y)\\,/\\,y`), and as good on
    the scale of the targets, by their squared errors; these may be a little larger, being those of a few rows, if the
    density leaves no doubt, and do not count where targets span decades.

    Parameters
    ----------
    x : ndarray of float32, shape (L, M)
        Attributes of the labeled rows; NaN where not observed.
    y : ndarray of float64, shape (L,)
        Their targets.
    """
    if len(y) < LEAST_LABELS or not y.min() > 0:
        return False
    logs = np.log(y) - np.log(y.max())
    if -logs.min() < np.log(LEAST_RATIO):
        return False
    y = np.exp(logs)
    scales = np.stack([y, logs])  # (2, L)
    answers = _left_out_answers(x, scales)
    if not np.isfinite(answers).all():
        return False
    errors = np.square(answers - scales).mean(axis=1)
    gain = 0.5 * np.log(errors[0]) - (0.5 * np.log(errors[1]) + scales[1].mean())
    back = np.clip(np.exp(answers[1]), 0.5 * y.min(), 1.5 * y.max())
    larger = np.square(back - y).mean() / errors[0]
    no_doubt = gain > NO_DOUBT and len(y) >= MANY_LABELS
    wide = gain > NO_DOUBT and -logs.min() > np.log(DECADES)
    return bool((gain > LEAST_GAIN and larger < 1) or (no_doubt and larger < A_LITTLE) or wide)


def _left_out_answers(x: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Answers for labeled rows as if their own label were unknown, float64 (S, L), on S scales (S, L)."""
    import torch

    from vsacli.nn.batch import TaskBatch
    from vsacli.nn.kernel_ridge import ALL, kernel_ridge_answers

    centre, spread = scales.mean(axis=1, keepdims=True), scales.std(axis=1, keepdims=True)
    rows = torch.from_numpy(x).unsqueeze(0).expand(len(scales), -1, -1)  # (S, L, M)
    batch = TaskBatch(
        x=torch.nan_to_num(rows),
        observed=rows.isfinite(),
        n_labeled=len(x),
        y=torch.from_numpy(((scales - centre) / spread).astype(np.float32)).unsqueeze(-1),
        row_mask=torch.ones(rows.shape[:2], dtype=torch.bool),
        attr_mask=torch.ones(len(scales), x.shape[1], dtype=torch.bool),
        class_mask=torch.ones(len(scales), 1, dtype=torch.bool),
    )
    answers = kernel_ridge_answers(batch, more=True)[:, :, 0, ALL].double().numpy()
    return centre + spread * answers
