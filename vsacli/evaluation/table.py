"""Can the labels of this table be trusted? Known labels are hidden, predicted by each method, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vsacli.evaluation.episodes import DrawnEpisode, EpisodeKey, EpisodePlan, Setting, center_and_spread, make_episode
from vsacli.evaluation.hidden import Fold, hideable, make_folds
from vsacli.evaluation.intervals import Z95, Interval, bootstrap, wilson
from vsacli.evaluation.metrics import classification_metrics, regression_metrics
from vsacli.evaluation.run import MethodSpec, Record, attempt, make_record
from vsacli.inference.proportions import class_factors, left_over, multiplied
from vsacli.support.progress import Progress, silent
from vsacli.tasks.store import EncodedTable

ALL_LABELS = 0  # `shot` of a record whose method saw all labels that were not hidden
CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
NUMBER_SIZES = (5, 10, 20, 50, 100, 200)
PRECISION = 20  # times that a hidden row counts on average, if classes count differently
MOST_SIZES = 5  # points of a learning curve before the last one


@dataclass(frozen=True)
class TableQuestion:
    """What is asked of one table; the defaults are the command's."""

    methods: tuple[MethodSpec, ...]
    seed: int = 0
    folds: int = 5
    repeats: int | None = None  # None: fewer, the more labels there are
    max_labels: int = 2000  # known labels that are used at most
    max_unlabeled: int = 256  # rows asked for and rows without label in a round: what the network reads together
    shares: np.ndarray | None = None  # of the classes among all rows (C,), if they are known


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy (classes) or normalised squared error (numbers) with fewer labels.

    Attributes
    ----------
    size : labels a class, or labels in all; `ALL_LABELS` for the last point
    n_labels : labels in all, mean over the rounds
    result : the figure
    """

    size: int
    n_labels: float
    result: Interval


@dataclass
class MethodAnswers:
    """The answers of one method for the hidden labels.

    Attributes
    ----------
    label : str
        The method's name in this comparison.
    probs : float64 (repeats, n, C), or None
    mean, std : float64 (repeats, n) in the table's units, or None
    figures : name -> Interval, mean over repeats
    curve : list of CurvePoint
    seconds : float
        A round, on average.
    error : str, optional
        Why there are no answers: a round failed.
    """

    label: str
    probs: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    figures: dict[str, Interval] = field(default_factory=dict)
    curve: list[CurvePoint] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None


@dataclass
class TableAnswer:
    """The whole result.

    Attributes
    ----------
    table : EncodedTable
    classes : list of str
        Display names.
    rows : int64 (n,)
        The rows whose labels were hidden.
    answer : (n,)
        Their known labels: class indices or numbers.
    repeats : int
        How often each was hidden.
    methods : list of MethodAnswers
    records : list of Record
    example : DrawnEpisode
        The first round, for pictures.
    counted : int64 (m,)
        Places of `rows`, each as often as it counts: once, or as the known shares of the classes ask for.
    """

    table: EncodedTable
    classes: list[str]
    rows: np.ndarray
    answer: np.ndarray
    repeats: int
    methods: list[MethodAnswers]
    records: list[Record]
    example: DrawnEpisode
    counted: np.ndarray


def evaluate_table(
    table: EncodedTable, classes: list[str], question: TableQuestion, progress: Progress = silent
) -> TableAnswer:
    """Hide known labels in stratified folds, ask every method for them, and compare.

    Raises
    ------
    DataError
        Too few labels to hide any.
    """
    n_known = len(hideable(table))
    repeats = question.repeats or _repeats(n_known)
    folds = list(
        make_folds(
            table,
            folds=question.folds,
            repeats=repeats,
            seed=question.seed,
            max_labels=question.max_labels,
            max_unlabeled=question.max_unlabeled,
        )
    )
    rows = np.unique(np.concatenate([f.hidden for f in folds]))
    sizes = _curve_sizes(table, folds)
    first = [f for f in folds if f.repeat == 0]
    steps = (len(folds) + len(sizes) * len(first)) * len(question.methods)
    session = _Session(table, question, rows, progress, steps)
    methods = []
    for spec in question.methods:
        answers = session.ask(spec, folds, ALL_LABELS)
        if answers.error is None:
            answers.figures = session.figures(answers)
            for size in sizes:
                smaller = [f.with_labels(table.y, size, table.kind == "classification") for f in first]
                point = session.ask(spec, smaller, size)
                if point.error is None:
                    answers.curve.append(session.curve_point(point, smaller, size))
            answers.curve.append(session.curve_point(answers, folds, ALL_LABELS))
        methods.append(answers)
    example = session.draw(folds[0])
    counted = session.counted(np.arange(len(rows)))
    return TableAnswer(table, classes, rows, table.y[rows], repeats, methods, session.records, example, counted)


class _Session:
    """One evaluation under way: asks methods, keeps records, computes figures."""

    def __init__(
        self,
        table: EncodedTable,
        question: TableQuestion,
        rows: np.ndarray,
        progress: Progress,
        steps: int,
    ) -> None:
        self.table, self.question, self.rows = table, question, rows
        self.progress, self.steps, self.done = progress, steps, 0
        self.records: list[Record] = []
        self.plan = EpisodePlan(seed=question.seed, n_unlabeled=0, setting=Setting.natural)
        self.answer = table.y[rows]
        self.times = None if question.shares is None else _times(self.answer, question.shares)
        self.whole = center_and_spread(table.y[table.labeled])[1] if table.kind == "regression" else 1.0

    def draw(self, fold: Fold) -> DrawnEpisode:
        """The episode of a round; only hidden rows are scored."""
        unlabeled = np.concatenate([fold.hidden, fold.context])
        return make_episode(self.table, fold.labeled, unlabeled, np.arange(len(unlabeled)) < len(fold.hidden))

    def ask(self, spec: MethodSpec, folds: Sequence[Fold], size: int) -> MethodAnswers:
        """A method's answers in all rounds, put back in the order of the rows."""
        repeats, n = 1 + max(f.repeat for f in folds), len(self.rows)
        out = MethodAnswers(spec.label)
        if self.table.kind == "classification":
            out.probs = np.full((repeats, n, self.table.n_classes), np.nan)
        else:
            out.mean, out.std = np.full((repeats, n), np.nan), np.full((repeats, n), np.nan)
        times = []
        for i, fold in enumerate(folds):
            self.progress(f"asking {spec.label}", self.done, self.steps)
            self.done += 1
            drawn = self.draw(fold)
            rng = self.plan.rng(self.table.name, fold.number, spec.method, fold.repeat, size)
            prediction, seconds = attempt(spec.make, drawn.episode, rng)
            times.append(seconds)
            key = EpisodeKey(size, i)
            self.records.append(make_record(self.table, self.plan, key, spec, drawn, prediction, seconds))
            if isinstance(prediction, str):
                out.error = prediction
                return out
            place = np.searchsorted(self.rows, fold.hidden)
            if out.probs is not None:
                out.probs[fold.repeat, place] = self._matched(prediction.probabilities, len(place))[: len(place)]
            elif out.mean is not None and out.std is not None:
                mean, std = prediction.numbers
                out.mean[fold.repeat, place] = drawn.center + drawn.spread * mean[: len(place)]
                out.std[fold.repeat, place] = drawn.spread * std[: len(place)]
        out.seconds = float(np.mean(times))
        return out

    def _matched(self, probs: np.ndarray, n_hidden: int) -> np.ndarray:
        """The answers matched to known shares, over the rows without a label (over all rows if there are none)."""
        if self.question.shares is None:
            return probs
        given = np.bincount(self.table.y[self.table.labeled], minlength=self.table.n_classes)
        wanted = left_over(self.question.shares, given, len(self.table.y))
        context = probs[n_hidden:]
        if not len(context):
            context, wanted = probs, self.question.shares
        return multiplied(probs, class_factors(context, wanted))

    def counted(self, index: np.ndarray) -> np.ndarray:
        """The hidden rows `index`, each as often as it counts."""
        if self.times is None or not self.times[index].any():
            return index
        return np.repeat(index, self.times[index])

    def figures(self, answers: MethodAnswers) -> dict[str, Interval]:
        """All figures, the mean over repeats, with intervals over rows."""

        def at(index: np.ndarray) -> dict[str, float]:
            each = [self._figures(answers, repeat, index) for repeat in range(self._repeats(answers))]
            return {k: float(np.mean([e[k] for e in each])) for k in each[0]}

        rng = np.random.default_rng([self.question.seed, 11])
        found = bootstrap(at, len(self.rows), rng)
        if "accuracy" in found:
            found["accuracy"] = wilson(found["accuracy"].value, self._size)
        return found

    def curve_point(self, answers: MethodAnswers, folds: Sequence[Fold], size: int) -> CurvePoint:
        """The curve's figure of these answers."""
        every = np.arange(len(self.rows))
        name = "accuracy" if self.table.kind == "classification" else "mse"
        value = np.mean([self._figures(answers, r, every)[name] for r in range(self._repeats(answers))])
        n_labels = float(np.mean([len(f.labeled) for f in folds]))
        if name == "accuracy":
            return CurvePoint(size, n_labels, wilson(float(value), self._size))
        assert answers.mean is not None
        errors = np.mean(((answers.mean - self.answer) / self.whole) ** 2, axis=0)
        half = Z95 * errors.std() / np.sqrt(len(errors))
        return CurvePoint(size, n_labels, Interval(float(value), float(max(0.0, value - half)), float(value + half)))

    @staticmethod
    def _repeats(answers: MethodAnswers) -> int:
        arrays = answers.probs if answers.probs is not None else answers.mean
        return 0 if arrays is None else len(arrays)

    @property
    def _size(self) -> int:
        """Number of hidden rows; if they count differently, the effective number."""
        if self.times is None:
            return len(self.rows)
        return max(1, round(self.times.sum() ** 2 / (self.times**2).sum()))

    def _figures(self, answers: MethodAnswers, repeat: int, index: np.ndarray) -> dict[str, float]:
        if answers.probs is not None:
            index = self.counted(index)
            return classification_metrics(self.answer[index], answers.probs[repeat, index])
        assert answers.mean is not None
        assert answers.std is not None
        mean, std = answers.mean[repeat, index], answers.std[repeat, index]
        return regression_metrics(self.answer[index], mean, std, 1.0 / self.whole)


def _times(answer: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """How often each hidden row counts, so that the classes have these shares: on average `PRECISION` times, (n,)."""
    hidden = np.bincount(answer, minlength=len(shares)) / len(answer)
    weight = np.divide(shares, hidden, out=np.zeros(len(shares)), where=hidden > 0)[answer]
    if not weight.any():
        return np.ones(len(answer), np.int64)
    times = np.rint(PRECISION * weight / weight.mean()).astype(np.int64)
    return np.maximum(times, weight > 0)


def _repeats(n_known: int) -> int:
    """More rounds for few labels, where the draw matters more and costs less."""
    return 4 if n_known <= 60 else 2 if n_known <= 300 else 1


def _curve_sizes(table: EncodedTable, folds: Sequence[Fold]) -> list[int]:
    """Sizes below what every round has, so that the curve ends with all labels."""
    if table.kind == "classification":
        most = min(int(np.bincount(table.y[f.labeled]).max()) for f in folds)
        return [s for s in CLASS_SIZES if s < most][-MOST_SIZES:]
    most = min(len(f.labeled) for f in folds)
    return [s for s in NUMBER_SIZES if s < most][-MOST_SIZES:]
