"""What the benchmark of questions computes: who may be asked about, who is scored, and after how many answers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.test_unlabeled_and_groups import script
from vsacli.inference.answers import Answers
from vsacli.tasks.store import EncodedTable


class Checkpoint:
    kind = "classification"


def test_only_one_half_is_asked_about_and_only_the_other_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = script("ask")
    seen: list[np.ndarray] = []

    def always_the_first(_: object, x: np.ndarray, labeled: np.ndarray, y: np.ndarray, n: int, **__: object) -> Answers:
        seen.append(labeled.copy())
        assert set(y) == set(range(n))
        return Answers(np.tile(np.eye(n)[0], (int((~labeled).sum()), 1)))

    monkeypatch.setattr(benchmark, "predict", always_the_first)
    x = np.random.default_rng(0).normal(size=(130, 2)).astype(np.float32)
    y = (np.arange(130) % 4 > 0).astype(np.int64)
    table = benchmark.Table(Checkpoint(), EncodedTable("t", "t", "classification", x, np.arange(2), y, 2), 120)
    assert (len(table.y), int(table.askable.sum())) == (120, 60)
    scores = benchmark.asked_rows(table)
    assert list(scores) == [3, 5, 6, 10, 13, 20, 33, 50]
    assert not any((labeled & ~table.askable).any() for labeled in seen)
    assert {int(labeled.sum()) for labeled in seen} == {*range(5, 50, 5), *scores}
    expected = float((table.y[~table.askable] == table.y[seen[-1]].min()).mean())
    assert scores[50] == pytest.approx(expected)
    assert list(benchmark.random_rows(table, 2)) == list(scores)


def test_a_line_says_how_two_thirds_of_the_questions_do() -> None:
    said: list[str] = []
    asked = [{k: k / 100 + i / 10 for k in (3, 5, 6, 10, 13, 20, 33, 50)} for i in range(2)]
    script("ask").report(asked, [dict.fromkeys(one, 0.0) for one in asked], said.append)
    assert said[1] == " 10 answers: asked 0.150, random 0.000, difference +0.150 ± 0.050; 6 asked 0.110"
