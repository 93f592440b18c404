"""A few plain sentences: can the labels be trusted, what else is known, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vsacli.baselines.base import Floats
from vsacli.evaluation.expected import Expected
from vsacli.evaluation.intervals import Interval, extrapolate, wilson
from vsacli.evaluation.table_answer import MethodAnswers, TableAnswer
from vsacli.support.wording import rounded

GOOD = 0.9  # accuracy that needs no second look, on the safe side of the interval
WANTED = 0.95  # accuracy of the answers that a confidence threshold should leave
WIDE = 0.25  # width of an interval that leaves much open
FEW = 10  # hidden labels below which nothing can be said
MANY = 50  # hidden labels from which on "not better than guessing" is the answer, and not that it is too early to say
CONFIDENCES = (*(round(0.05 * i, 2) for i in range(2, 20)), 0.97, 0.99)  # thresholds that may be named
MOST_TRIED = 25  # classes of other tables, as most of them have
ROUGH = 0.6  # share of the variance of numbers from which on they are of use

Step = Literal["label", "keep certain", "label more"]


@dataclass(frozen=True)
class Threshold:
    """Answers above a confidence: how many they are, and how many of them were right."""

    confidence: float
    share: float
    accuracy: float


@dataclass(frozen=True)
class Verdict:
    """What is said of one method's labels.

    Attributes
    ----------
    text : str
        Whether they can be trusted.
    step : {"label", "keep certain", "label more"}, or None
        What to do next; None if the method failed.
    threshold : Threshold, optional
        The certain ones to keep.
    """

    text: str
    step: Step | None
    threshold: Threshold | None = None


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


def verdict(answer: TableAnswer, method: MethodAnswers) -> Verdict:
    """Whether this method's labels on this table can be trusted, by the figures that are shown of it."""
    if method.error is not None:
        return Verdict(f"No answer: {method.label} failed ({method.error}).", None)
    return _classes(answer, method) if method.probs is not None else _numbers(answer, method)


def _classes(answer: TableAnswer, method: MethodAnswers) -> Verdict:
    n = len(answer.rows)
    accuracy = method.figures["accuracy"]
    counts = np.bincount(answer.answer[answer.counted], minlength=len(answer.classes))
    common, floor = answer.classes[int(counts.argmax())], float(counts.max() / counts.sum())
    said = f"{accuracy.value:.0%} of the hidden labels came out right (95% interval {_span(accuracy)})"
    guess = f"always answering '{common}' gets {floor:.0%}"
    if n < FEW:
        hidden = "1 hidden label is" if n == 1 else f"{n} hidden labels are"
        return Verdict(f"Too early to say: {hidden} too few to judge by; {said}.", "label more")
    if accuracy.high <= floor or (accuracy.low <= floor and n >= MANY):
        better = "worse" if accuracy.high <= floor else "not clearly better"
        return Verdict(
            f"No: {said}, which is {better} than a guess: {guess}. More labels may help, or columns that tell "
            "the classes apart.",
            "label more",
        )
    if accuracy.low <= floor:
        return Verdict(
            f"Too early to say: {said}, and {guess}; {n} hidden labels are not enough to tell.", "label more"
        )
    right = f"about {accuracy.value:.0%} of the labels should be right (95% interval {_span(accuracy)})"
    if accuracy.low >= GOOD:
        return Verdict(f"Yes: {right}.", "label")
    start = f"{'Probably' if accuracy.high - accuracy.low > WIDE else 'Yes, mostly'}: {right}"
    if accuracy.value < GOOD:
        start = f"In part: {right}"
    sure = threshold(answer, method)
    if sure is not None:
        text = (
            f"{start}. Keep only the certain ones with --min-confidence {sure.confidence:g}: {sure.share:.0%} of "
            f"the rows, where {sure.accuracy:.0%} of the hidden labels came out right."
        )
        return Verdict(text, "keep certain", sure)
    half = method.figures["certain_half_accuracy"].value
    step: Step = "label" if accuracy.value >= GOOD else "label more"
    if half >= WANTED or n < 2 * FEW:
        return Verdict(
            f"{start}. Of the more confident half {half:.0%} came out right, but {n} hidden labels are too few "
            "to choose a --min-confidence by.",
            step,
        )
    return Verdict(
        f"{start}. Of the more confident half {half:.0%} came out right: no --min-confidence clearly leaves "
        f"labels that are right {WANTED:.0%} of the time.",
        step,
    )


def _numbers(answer: TableAnswer, method: MethodAnswers) -> Verdict:
    n = len(answer.rows)
    r2, coverage = method.figures["r2"], method.figures["coverage90"]
    error = f"half of the hidden numbers came out within {rounded(method.typical_error(answer.answer))} of the truth"
    share = f"the answers explain {max(0.0, r2.value):.0%} of their variance (95% interval {_span(r2, 0.0)})"
    if n < FEW:
        return Verdict(f"Too early to say: {n} hidden numbers are too few to judge by; {error}.", "label more")
    if not r2.low > 0:
        if n < MANY and r2.high > 0:
            return Verdict(f"Too early to say: {error}; {share}.", "label more")
        return Verdict(
            f"No: {error}, which is not clearly better than answering the mean everywhere. More labels may help, "
            "or columns that say something about the numbers.",
            "label more",
        )
    bars = (
        ""
        if coverage.value >= 0.8
        else f" The deviations are too small: the 90% intervals held only {coverage.value:.0%} of the numbers."
    )
    word = "Yes" if r2.low >= GOOD else "Yes, roughly" if r2.value >= ROUGH else "Only as a hint"
    return Verdict(f"{word}: {error}; {share}.{bars}", "label" if r2.value >= ROUGH else "label more")


def known_before(expected: Expected, n_labels: int, n_classes: int) -> str | None:
    """A sentence on what the network got on other tables with as many labels; None if such were not tried."""
    found = expected.at(n_labels, n_classes)
    if found is None:
        return None
    low, middle, high = found.quartiles
    if expected.kind == "regression":
        span = f"{100 * max(0.0, low):.0f}-{max(0.0, high):.0%}"
        return (
            f"On {found.tables} other tables with as many labels the network explained {span} of the variance "
            f"in the middle half of the tables (median {max(0.0, middle):.0%})."
        )
    few, many = found.classes or (n_classes, n_classes)
    classes = f"{few} classes" if few == many else f"{few} to {many} classes"
    if many > MOST_TRIED:
        classes = f"{few} classes or more"
    labels = f"{found.labels} label{'' if found.labels == 1 else 's'} per class"
    return (
        f"On {found.tables} other tables with {classes} and about {labels} the network labeled {_span_of(low, high)} "
        f"of the rows right in the middle half of the tables (median {middle:.0%})."
    )


def threshold(answer: TableAnswer, method: MethodAnswers) -> Threshold | None:
    """The lowest confidence above which answers were right as often as wanted; None if there is none.

    At least ten hidden labels and a tenth of them must lie above it, or chance would choose it.
    """
    assert method.probs is not None
    confidence, right = _confidence(method.probs[:, answer.counted], answer.answer[answer.counted])
    for t in CONFIDENCES:
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


def _span(interval: Interval, least: float = float("-inf")) -> str:
    return _span_of(max(least, interval.low), max(least, interval.high))


def _span_of(low: float, high: float) -> str:
    return f"{100 * low:.0f}-{high:.0%}"
