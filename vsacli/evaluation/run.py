"""Episodes x methods -> records. A method that fails is recorded as failed and stops nothing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vsacli.baselines.base import Method
from vsacli.baselines.registry import make_method, weight_files
from vsacli.evaluation.episodes import DrawnEpisode, EpisodeKey, EpisodePlan, Setting
from vsacli.evaluation.metrics import classification_metrics, confidence_bins, regression_metrics
from vsacli.inference.answers import Answers
from vsacli.tasks.episode import Episode
from vsacli.tasks.store import EncodedTable


@dataclass(frozen=True)
class MethodSpec:
    """A method in a comparison: its name there, the method, and its settings.

    Picklable and hashable, so that each worker process makes a method (and loads a checkpoint) once.
    """

    label: str
    method: str
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, method: str, label: str | None = None, **settings: Any) -> MethodSpec:
        """A spec with its settings as keywords."""
        return cls(label or method, method, tuple(sorted(settings.items())))

    def make(self) -> Method:
        """The method, cached in this process."""
        return _make(self)

    def fingerprint(self) -> str:
        """Changes when the method, its settings or the weights of its checkpoint do."""
        files = weight_files(self.method, **dict(self.settings))
        return _fingerprint(self, tuple((f, f.stat().st_mtime_ns, f.stat().st_size) for f in files))


@lru_cache(maxsize=32)
def _make(spec: MethodSpec) -> Method:
    return make_method(spec.method, **dict(spec.settings))


@lru_cache(maxsize=32)
def _fingerprint(spec: MethodSpec, weights: tuple[tuple[Path, int, int], ...]) -> str:
    digest = hashlib.sha256(repr((spec.method, spec.settings)).encode())
    for path, _, _ in weights:  # time and size are there so that a rewritten file is read again
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """One method on one episode: a row of the results, and a line of `--json`.

    Attributes
    ----------
    table, family, kind : the table
    method : its label in this comparison
    shot : labels per class (regression: labels)
    episode : number of the draw
    n_labeled, n_unlabeled, n_attributes, n_classes : size of the episode
    seconds : wall-clock time of fitting and predicting
    metrics : figure -> value; empty when the method failed
    error : why it failed, None when it did not
    seed, setting, unlabeled : what the episode was drawn with (`EpisodePlan`)
    fingerprint : of the method, its settings and its weights: results of another one are not reused
    bins : (rows, right answers, sum of confidences) in ten bins of confidence; classification only
    tags : marks of the table
    """

    table: str
    family: str
    kind: str
    method: str
    shot: int
    episode: int
    n_labeled: int
    n_unlabeled: int
    n_attributes: int
    n_classes: int
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    seed: int = 0
    setting: str = Setting.balanced.value
    unlabeled: int = 0
    fingerprint: str = ""
    bins: list[tuple[int, int, float]] = field(default_factory=list)
    tags: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Its place in the comparison: table, method, shot, episode."""
        return self.table, self.method, self.shot, self.episode

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a figure that is not defined becomes None."""
        values = asdict(self)
        values["metrics"] = {k: v if np.isfinite(v) else None for k, v in self.metrics.items()}
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Record:
        """The record that `to_dict` wrote, in this version or an earlier one, which named no setting."""
        setting = Setting(values.get("setting", "balanced" if values.get("unlabeled") else "natural")).value
        metrics = {k: float("nan") if v is None else float(v) for k, v in values["metrics"].items()}
        bins = [(int(n), int(right), float(total)) for n, right, total in values["bins"]]
        return cls(**{**values, "setting": setting, "metrics": metrics, "bins": bins, "tags": tuple(values["tags"])})


def attempt(method: Callable[[], Method], episode: Episode, rng: np.random.Generator) -> tuple[Answers | str, float]:
    """Run a method on an episode; returns its prediction or the reason why there is none, and the seconds it took."""
    start = time.perf_counter()
    try:
        prediction: Answers | str = method().fit_predict(episode, rng)
        _check_shape(prediction, episode)
    except Exception as error:  # a comparison of many methods must outlive each of them
        prediction = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return prediction, time.perf_counter() - start


def _check_shape(answers: Answers, episode: Episode) -> None:
    classes = episode.kind == "classification"
    given = answers.proba if classes else answers.mean
    shape = None if given is None else given.shape
    wanted = (episode.n_unlabeled, episode.n_classes) if classes else (episode.n_unlabeled,)
    if shape != wanted:
        raise ValueError(f"the method answered with shape {shape} instead of {wanted}")
    answers.check()


def score(answers: Answers, episode: Episode, scale: float = 1.0) -> dict[str, float]:
    """The figures of answers on the scored rows of their episode."""
    scored = episode.scored
    answer = episode.answer[scored]
    if answers.proba is not None:
        return classification_metrics(answer, answers.proba[scored])
    return regression_metrics(answer.astype(np.float64), *answers.only(scored).numbers, scale)


def run_table(table: EncodedTable, plan: EpisodePlan, cells: Sequence[tuple[EpisodeKey, MethodSpec]]) -> list[Record]:
    """The given episodes and methods on one table, in order."""
    records = []
    drawn: tuple[EpisodeKey, DrawnEpisode] | None = None
    for key, spec in cells:
        if drawn is None or drawn[0] != key:
            drawn = key, plan.draw(table, key)
        rng = plan.rng(table.name, key.number, spec.method, key.shot)
        prediction, seconds = attempt(spec.make, drawn[1].episode, rng)
        records.append(make_record(table, plan, key, spec, drawn[1], prediction, seconds))
    return records


def make_record(
    table: EncodedTable,
    plan: EpisodePlan,
    key: EpisodeKey,
    spec: MethodSpec,
    drawn: DrawnEpisode,
    prediction: Answers | str,
    seconds: float,
) -> Record:
    """The record of one attempt."""
    episode = drawn.episode
    bins = []
    if not isinstance(prediction, str) and prediction.proba is not None:
        bins = confidence_bins(episode.answer[episode.scored], prediction.proba[episode.scored])
    return Record(
        table=table.name,
        family=episode.family,
        kind=table.kind,
        method=spec.label,
        shot=key.shot,
        episode=key.number,
        n_labeled=episode.n_labeled,
        n_unlabeled=episode.n_unlabeled,
        n_attributes=episode.x.shape[1],
        n_classes=episode.n_classes,
        seconds=round(seconds, 6),
        metrics={} if isinstance(prediction, str) else score(prediction, episode, drawn.scale),
        error=prediction if isinstance(prediction, str) else None,
        seed=plan.seed,
        setting=plan.setting.value,
        unlabeled=plan.n_unlabeled,
        fingerprint=spec.fingerprint(),
        bins=bins,
        tags=table.tags,
    )


def run_suite(
    tables: Iterable[EncodedTable],
    plan: EpisodePlan,
    methods: Sequence[MethodSpec],
    *,
    jobs: int = 1,
    done: Iterable[tuple[str, str, int, int]] = (),
) -> Iterator[list[Record]]:
    """Run every method on the same episodes of every table.

    Parameters
    ----------
    tables : tables, read lazily
    plan : which episodes
    methods : what is compared
    jobs : processes; tables are spread over them. The results do not depend on it
    done : `Record.key` of cells that need not run again

    Yields
    ------
    list of Record
        All new records of one table, as tables finish.
    """
    finished = set(done)

    def work() -> Iterator[tuple[EncodedTable, list[tuple[EpisodeKey, MethodSpec]]]]:
        for table in tables:
            cells = [
                (key, spec)
                for key in plan.all_keys()
                for spec in methods
                if (table.name, spec.label, key.shot, key.number) not in finished
            ]
            if cells:
                yield table, cells

    if jobs == 1:
        for table, cells in work():
            yield run_table(table, plan, cells)
        return
    from joblib import Parallel, delayed, parallel_config

    # One thread per process: the methods are small, and threads of several processes fight for the cores.
    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from pool(delayed(run_table)(table, plan, cells) for table, cells in work())  # pyright: ignore[reportReturnType]
