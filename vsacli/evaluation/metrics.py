"""How good a prediction is: every figure that `vsa eval` reports, computed from NumPy arrays.

All functions take the scored rows only. Figures that an episode does not define (AUC when one class
is all there is) are NaN and left out of means. F1 and AUC are those of scikit-learn (the tests compare), which takes
thirty times as long to check its input: a suite has thousands of episodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vsacli.baselines.base import Floats, log_loss

Ints = NDArray[np.int64]
Z90 = 1.6448536269514722  # 95% quantile of the standard normal: 90% lie within

CLASSIFICATION_METRICS = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "auc",
    "log_loss",
    "ece",
    "certain_half_accuracy",
)
REGRESSION_METRICS = ("mse", "r2", "coverage90")
LOWER_IS_BETTER = frozenset({"log_loss", "ece", "mse"})


def classification_metrics(answer: Ints, probs: Floats) -> dict[str, float]:
    """All classification figures of one episode.

    Parameters
    ----------
    answer : int64 (n,), n >= 1
    probs : float (n, C), probabilities of the same rows
    """
    guess = probs.argmax(axis=1).astype(np.int64)
    return {
        "accuracy": float(np.mean(guess == answer)),
        "balanced_accuracy": balanced_accuracy(answer, guess),
        "macro_f1": macro_f1(answer, guess),
        "auc": auc(answer, probs),
        "log_loss": log_loss(answer, probs),
        "ece": calibration_error(answer, probs),
        "certain_half_accuracy": certain_half_accuracy(answer, probs),
    }


def regression_metrics(answer: Floats, mean: Floats, std: Floats, scale: float = 1.0) -> dict[str, float]:
    """All regression figures of one episode.

    Parameters
    ----------
    answer : float (n,), n >= 1
    mean, std : float (n,), predictions for the same rows
    scale : what an episode's target unit is in deviations of the whole table's target. The paper normalises
        the values of a data set to zero mean and unit deviation; `mse` is on that scale, so 1 is what the
        table's mean gets.
    """
    error = mean - answer
    spread = float(np.sum((answer - answer.mean()) ** 2))
    inside = np.abs(error) <= Z90 * std
    return {
        "mse": float(np.mean(error**2)) * scale**2,
        "r2": 1.0 - float(np.sum(error**2)) / spread if spread > 0 else float("nan"),
        "coverage90": float(np.mean(inside)),
    }


def balanced_accuracy(answer: Ints, guess: Ints) -> float:
    """Mean of the recalls of the classes that occur in the answer."""
    return float(np.mean([np.mean(guess[answer == c] == c) for c in np.unique(answer)]))


def macro_f1(answer: Ints, guess: Ints) -> float:
    """Mean F1 over the classes that occur in the answer or in the guess; 0 for a class never hit."""
    scores = []
    for c in np.union1d(answer, guess):
        hits = np.sum((answer == c) & (guess == c))
        scores.append(2.0 * hits / (np.sum(answer == c) + np.sum(guess == c)))
    return float(np.mean(scores))


def auc(answer: Ints, probs: Floats) -> float:
    """Area under the ROC curve, each class against the rest, averaged over the classes that occur.

    Ties count a half (the rank statistic of Mann and Whitney). NaN when only one class occurs.
    """
    present = np.unique(answer)
    if len(present) < 2:
        return float("nan")
    areas = []
    for c in present:
        positive = answer == c
        n_positive = int(positive.sum())
        rank_sum = _average_ranks(probs[:, c])[positive].sum()
        areas.append((rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * (len(answer) - n_positive)))
    return float(np.mean(areas))


def calibration_error(answer: Ints, probs: Floats, bins: int = 10) -> float:
    """Expected calibration error: |accuracy - confidence| in bins of confidence, weighted by their rows."""
    return sum(abs(right - total) for _, right, total in confidence_bins(answer, probs, bins)) / len(answer)


def confidence_bins(answer: Ints, probs: Floats, bins: int = 10) -> list[tuple[int, int, float]]:
    """Rows, right answers and the sum of confidences in each bin of confidence.

    Bins have equal width over (0, 1], closed on the right. Sums, so that bins of several episodes add up.
    """
    confidence = probs.max(axis=1)
    right = probs.argmax(axis=1) == answer
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    hits = np.bincount(place, weights=right, minlength=bins)
    totals = np.bincount(place, weights=confidence, minlength=bins)
    return [(int(n), int(h), round(float(t), 9)) for n, h, t in zip(counts, hits, totals, strict=True)]


def certain_half_accuracy(answer: Ints, probs: Floats) -> float:
    """Accuracy on the half of the rows (rounded up) with the highest confidence.

    Rows tied at the edge share the remaining places, so their order does not matter.
    """
    confidence = probs.max(axis=1)
    right = (probs.argmax(axis=1) == answer).astype(np.float64)
    places = (len(answer) + 1) // 2
    edge = np.sort(confidence)[::-1][places - 1]
    above, tied = confidence > edge, confidence == edge
    return float((right[above].sum() + right[tied].mean() * (places - above.sum())) / places)


def _average_ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean rank."""
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2.0)[group]
