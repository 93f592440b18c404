"""The rounds of one evaluation: methods are asked for hidden labels, records are kept, figures computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vsacli.evaluation.episodes import DrawnEpisode, EpisodeKey, EpisodePlan, Setting, center_and_spread, make_episode
from vsacli.evaluation.hidden import Fold
from vsacli.evaluation.intervals import Z95, Interval, bootstrap, wilson
from vsacli.evaluation.metrics import classification_metrics, regression_metrics
from vsacli.evaluation.run import MethodSpec, Record, attempt, make_record
from vsacli.evaluation.table_answer import ALL_LABELS, CurvePoint, MethodAnswers, TableQuestion
from vsacli.inference.answers import Answers
from vsacli.inference.proportions import class_factors, left_over, multiplied
from vsacli.support.progress import Progress
from vsacli.tasks.episode import Episode
from vsacli.tasks.store import EncodedTable

PRECISION = 20  # times that a hidden row counts on average, if classes count differently


class Session:
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
        self.asked: dict[tuple[str, int], tuple[Answers | str, float]] = {}  # (method, fold): before its turn
        self.plan = EpisodePlan(seed=question.seed, n_unlabeled=0, setting=Setting.natural)
        self.answer = table.y[rows]
        self.times = None if question.shares is None else _times(self.answer, question.shares)
        self.whole = center_and_spread(table.y[table.labeled])[1] if table.kind == "regression" else 1.0

    def rng(self, spec: MethodSpec, fold: Fold, size: int) -> np.random.Generator:
        """A generator of its own for this method and round."""
        return self.plan.rng(self.table.name, fold.number, spec.method, fold.repeat, size)

    def draw(self, fold: Fold) -> DrawnEpisode:
        """The episode of a round; only hidden rows are scored."""
        unlabeled = np.concatenate([fold.hidden, fold.context])
        return make_episode(self.table, fold.labeled, unlabeled, np.arange(len(unlabeled)) < len(fold.hidden))

    def seconds_of_a_round(self, fold: Fold) -> float:
        """What one round of all methods takes, found by asking each for this one."""
        drawn = self.draw(fold)
        for spec in self.question.methods:
            attempt(spec.make, _few_rows(drawn.episode), self.rng(spec, fold, ALL_LABELS))  # loads what it needs
            self.asked[spec.label, id(fold)] = attempt(spec.make, drawn.episode, self.rng(spec, fold, ALL_LABELS))
        return sum(seconds for _, seconds in self.asked.values())

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
            prediction, seconds = self.asked.pop((spec.label, id(fold)), None) or attempt(
                spec.make, drawn.episode, self.rng(spec, fold, size)
            )
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
        """All figures, the mean over repeats, and for some an interval over rows.

        Shares of rows have Wilson's interval, for as many rows as they are shares of, though each row was asked for
        in every repeat. R2 and squared errors have the quantiles of a bootstrap over rows.
        """

        def at(index: np.ndarray) -> dict[str, float]:
            each = [self._figures(answers, repeat, index) for repeat in range(self._repeats(answers))]
            return {k: float(np.mean([e[k] for e in each])) for k in each[0]}

        n = len(self.rows)
        value = at(np.arange(n))
        found = {name: Interval(v) for name, v in value.items()}
        if self.table.kind == "classification":
            shares = {
                "accuracy": self._size,
                "balanced_accuracy": self._balanced_size,
                "certain_half_accuracy": np.ceil(self._size / 2),
            }
        else:
            shares = {"coverage90": n}
            found |= bootstrap(at, n, np.random.default_rng([self.question.seed, 11]))
        return found | {name: wilson(value[name], size) for name, size in shares.items()}

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

    @property
    def _balanced_size(self) -> float:
        """Rows of whose share the mean of the classes' recalls varies as much, if recalls are equal."""
        asked = self.answer if self.times is None else self.answer[self.times > 0]
        _, counts = np.unique(asked, return_counts=True)
        return float(len(counts) ** 2 / np.sum(1 / counts))

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


def _few_rows(episode: Episode) -> Episode:
    """A small part of an episode: one labeled row of each class (or five with numbers), and one without a label."""
    y = episode.y[: episode.n_labeled]
    labeled = np.unique(y, return_index=True)[1] if episode.kind == "classification" else np.arange(len(y))[:5]
    kept = np.append(labeled, episode.n_labeled)
    return replace(
        episode, x=episode.x[kept], y=episode.y[kept], n_labeled=len(labeled), scored=np.ones(1, bool), structure=None
    )
