"""One plain sentence: can the labels be trusted? And the figures it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vsacli.baselines.base import Floats
from vsacli.evaluation.intervals import Interval, extrapolate, wilson
from vsacli.evaluation.table import MethodAnswers, TableAnswer

GOOD = 0.9  # accuracy that needs no second look, on the safe side of the interval
WANTED = 0.95  # accuracy of the answers that a confidence threshold should leave
FEW = 10  # hidden labels below which nothing can be said


@dataclass(frozen=True)
class Threshold:
    """Answers above a confidence: how many they are, and how many of them were right."""

    confidence: float
    share: float
    accuracy: float


@dataclass(frozen=True)
class WrongRow:
    """A known label that the method contradicts: a possible mistake in the table.

    Attributes
    ----------
    row : row number in the table
    given, answered : class indices, or numbers
    confidence : mean probability of the answer; for numbers, the error in predicted deviations
    """

    row: int
    given: float
    answered: float
    confidence: float


def verdict(answer: TableAnswer, method: MethodAnswers) -> str:
    """Whether this method's labels on this table can be trusted, in one sentence."""
    if method.error is not None:
        return f"No answer: {method.label} failed ({method.error})."
    n = len(answer.rows)
    if n < FEW:
        return (
            f"Cannot tell: {n} known label{'s' if n > 1 else ''} that can be hidden {'are' if n > 1 else 'is'} too few "
            f"to judge by; label at least {FEW} rows."
        )
    return _classes(answer, method, n) if method.probs is not None else _numbers(answer, method)


def _classes(answer: TableAnswer, method: MethodAnswers, n: int) -> str:
    accuracy = method.figures["accuracy"]
    counts = np.bincount(answer.answer[answer.counted], minlength=len(answer.classes))
    common, floor = answer.classes[int(counts.argmax())], float(counts.max() / counts.sum())
    right = f"about {_percent(accuracy.value)} of the labels should be right (95% interval {_span(accuracy)})"
    if accuracy.low <= floor:
        return (
            f"No: {right}, which is not clearly better than always answering '{common}' ({_percent(floor)}); "
            "label more rows, or add columns that tell the classes apart."
        )
    if accuracy.low >= GOOD:
        return f"Yes: {right}."
    start = f"Yes, mostly: {right}" if accuracy.value >= GOOD else f"In part: {right}"
    sure = threshold(answer, method)
    if sure is not None:
        return (
            f"{start}; keep only the certain ones with --min-confidence {sure.confidence:g}: {_percent(sure.share)} of "
            f"the rows, {_percent(sure.accuracy)} of the hidden labels there came out right."
        )
    return f"{start}; its confidence does not single out labels that are right {_percent(WANTED)} of the time."


def _numbers(answer: TableAnswer, method: MethodAnswers) -> str:
    assert method.mean is not None
    r2, coverage = method.figures["r2"], method.figures["coverage90"]
    typical = float(np.median(np.abs(method.mean - answer.answer)))
    error = f"half of the numbers are within {typical:.3g} of the truth"
    share = f"they explain {_percent(max(0.0, r2.value))} of their variance"
    if not r2.low > 0:
        return f"No: {error}, which is not clearly better than answering the mean everywhere; label more rows."
    bars = (
        "" if coverage.value >= 0.8 else f"; their deviations are too small (90% intervals held {coverage.value:.0%})"
    )
    word = "Yes" if r2.low >= GOOD else "Yes, roughly" if r2.value >= 0.6 else "Only as a hint"
    return f"{word}: {error}, and {share}{bars}."


def threshold(answer: TableAnswer, method: MethodAnswers) -> Threshold | None:
    """The lowest confidence above which answers were right as often as wanted; None if there is none.

    At least ten hidden labels and a tenth of them must lie above it, or chance would choose it.
    """
    assert method.probs is not None
    confidence, right = _confidence(method.probs[:, answer.counted], answer.answer[answer.counted])
    for t in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        above = confidence >= t
        rows = above.mean() * len(answer.rows)
        if rows < max(FEW, 0.1 * len(answer.rows)):
            return None
        accuracy = float(right[above].mean())
        if accuracy >= WANTED and wilson(accuracy, int(rows)).low >= WANTED - 0.15:
            return Threshold(t, float(above.mean()), accuracy)
    return None


def suspicious_rows(answer: TableAnswer, method: MethodAnswers, most: int = 10, least: float = 0.7) -> list[WrongRow]:
    """Rows whose known label the method contradicts with confidence, the surest first.

    For classes, the mean probability of another class is at least `least`; for numbers, the known one lies more
    than three predicted deviations away.
    """
    found = []
    if method.probs is not None:
        mean = method.probs.mean(axis=0)
        guess, sure = mean.argmax(axis=1), mean.max(axis=1)
        for i in np.flatnonzero((guess != answer.answer) & (sure >= least)):
            found.append(WrongRow(int(answer.rows[i]), float(answer.answer[i]), float(guess[i]), float(sure[i])))
    elif method.mean is not None and method.std is not None:
        mean, std = method.mean.mean(axis=0), method.std.mean(axis=0)
        away = np.abs(mean - answer.answer) / np.maximum(std, 1e-12)
        for i in np.flatnonzero(away > 3):
            found.append(WrongRow(int(answer.rows[i]), float(answer.answer[i]), float(mean[i]), float(away[i])))
    return sorted(found, key=lambda w: -w.confidence)[:most]


def growth(method: MethodAnswers, classification: bool) -> list[tuple[float, float]]:
    """Estimated accuracy (or squared error) with twice and five times the labels; empty if nothing can be said."""
    sizes = [p.n_labels for p in method.curve]
    values = [p.result.value for p in method.curve]
    errors = [1 - v for v in values] if classification else values
    found = []
    for factor in (2, 5):
        error = extrapolate(sizes, errors, factor * sizes[-1]) if sizes else None
        if error is not None:
            found.append((factor * sizes[-1], 1 - error if classification else error))
    return found


def confusion(answer: TableAnswer, method: MethodAnswers) -> np.ndarray:
    """Answers counted over all repeats, int (C, C): rows are the known classes, columns the answers."""
    assert method.probs is not None
    c = len(answer.classes)
    guess = method.probs.argmax(axis=2)
    cells = np.broadcast_to(answer.answer, guess.shape) * c + guess
    return np.bincount(cells.ravel(), minlength=c * c).reshape(c, c)


def _confidence(probs: Floats, answer: np.ndarray) -> tuple[Floats, np.ndarray]:
    return probs.max(axis=2).ravel(), (probs.argmax(axis=2) == answer).ravel()


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _span(interval: Interval) -> str:
    return f"{100 * interval.low:.0f}-{100 * interval.high:.0f}%"
