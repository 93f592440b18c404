"""What the benchmarks of the pool setting compute: which rows are known together, and which tables have groups."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vsacli.evaluation.run import Record
from vsacli.inference.answers import Answers
from vsacli.tasks.episode import Episode


def script(name: str) -> ModuleType:
    """A benchmark as a module."""
    folder = str(Path(__file__).resolve().parents[2] / "benchmarks")
    if folder not in sys.path:  # at the end: their names are plain words
        sys.path.append(folder)
    return importlib.import_module(name)


class Recorder:
    """Keeps the rows of every call; answers the class that a row's attribute says."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def fit_predict(self, episode: Episode, rng: np.random.Generator) -> Answers:
        rows = episode.x[episode.n_labeled :, 0].astype(int)
        assert len(episode.scored) == len(rows)
        assert episode.x[: episode.n_labeled, 0].tolist() == [0, 1, 2, 3]
        self.asked.append(rows.tolist())
        return Answers(np.eye(2)[rows % 2])


@pytest.mark.parametrize(
    ("count", "calls"),
    [
        (0, [[r] for r in range(4, 14)]),
        (4, [list(range(4, 8)), list(range(8, 12)), [12, 13, 14, 15]]),  # the last two have two others beside them
        (10, [list(range(4, 14))]),
        (16, [list(range(4, 20))]),
    ],
)
def test_the_same_rows_are_scored_with_more_and_more_others(count: int, calls: list[list[int]]) -> None:
    x = np.arange(24, dtype=np.float32)[:, None]
    y = np.arange(24) % 2
    y[[5, 15]] = 0  # one of the ten scored rows, and one of the others, are not what their attribute says
    episode = Episode(x, 4, y, "classification", 2, np.ones(20, bool))
    recorder = Recorder()
    assert script("unlabeled").accuracy(recorder, episode, 10, count) == pytest.approx(0.9)
    assert recorder.asked == calls


def record(table: str, method: str, accuracy: float | None, shot: int = 1) -> Record:
    metrics = {} if accuracy is None else {"accuracy": accuracy}
    error = "failed" if accuracy is None else None
    return Record(table, table, "classification", method, shot, 0, 2, 2, 2, 2, 0.1, metrics, error)


def test_tables_on_which_propagation_is_ahead_have_groups() -> None:
    judged = [
        *(record("rings", "graph", a, s) for s, a in ((1, 0.7), (5, 0.9))),
        *(record("rings", "logistic", a, s) for s, a in ((1, 0.72), (5, 0.7))),  # 0.09 ahead on average
        *(record("line", m, a) for m, a in (("graph", 0.9), ("logistic", 0.86))),
        *(record("failed", m, a) for m, a in (("graph", 0.9), ("logistic", None))),
    ]
    assert script("groups").with_groups(judged) == {"rings"}
