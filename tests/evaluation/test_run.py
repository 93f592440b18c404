"""The runner: identical over processes, resumable, and outliving its methods."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from vsacli.baselines import registry
from vsacli.evaluation.episodes import EpisodePlan
from vsacli.evaluation.run import MethodSpec, Record, run_suite
from vsacli.inference.answers import Answers

PLAN = EpisodePlan(shots=(1, 3), n_unlabeled=10, n_episodes=2, seed=1)
METHODS = [MethodSpec.of("centroid"), MethodSpec.of("knn", "1-nn", k=1)]


def by_key(batches) -> dict:
    return {r.key: replace(r, seconds=0.0) for batch in batches for r in batch}


def test_every_cell_once_and_processes_change_nothing(class_table) -> None:
    tables = [class_table(name=f"t{i}", seed=i) for i in range(3)]
    serial = by_key(run_suite(tables, PLAN, METHODS))
    assert len(serial) == 3 * 2 * 2 * 2
    assert all(r.error is None and 0 <= r.metrics["accuracy"] <= 1 for r in serial.values())
    assert by_key(run_suite(tables, PLAN, METHODS, jobs=2)) == serial


def test_resuming_runs_only_what_is_missing(class_table) -> None:
    tables = [class_table(name=f"t{i}", seed=i) for i in range(2)]
    whole = by_key(run_suite(tables, PLAN, METHODS))
    done = [k for i, k in enumerate(whole) if i % 3]
    rest = by_key(run_suite(tables, PLAN, METHODS, done=done))
    assert rest == {k: r for k, r in whole.items() if k not in done}
    assert list(run_suite(tables, PLAN, METHODS, done=whole)) == []


class Fragile:
    """Fails when there is a label per class; else answers so badly shaped, or well."""

    def __init__(self, how: str):
        self.how = how

    def fit_predict(self, episode, rng):
        if self.how == "raise" and episode.n_labeled == 3:
            raise RuntimeError("three rows\nare too few")
        n = episode.n_unlabeled + (self.how == "shape")
        probs = np.full((n, episode.n_classes), 1 / episode.n_classes)
        return Answers(probs * np.nan if self.how == "nan" else probs)


@pytest.fixture
def _fragile(monkeypatch: pytest.MonkeyPatch) -> None:
    info = registry.MethodInfo("fragile:Fragile", registry.BOTH, "for this test")
    monkeypatch.setitem(registry.METHODS, "fragile", info)
    real = registry.import_module
    monkeypatch.setattr(
        registry,
        "import_module",
        lambda name: __import__("types").SimpleNamespace(Fragile=Fragile) if name.endswith("fragile") else real(name),
    )


@pytest.mark.usefixtures("_fragile")
def test_failures_are_recorded_with_their_reason(class_table) -> None:
    specs = [MethodSpec.of("fragile", how, how=how) for how in ("raise", "shape", "nan", "well")]
    records = by_key(run_suite([class_table()], PLAN, specs))
    errors = {(m, shot): r.error for (_, m, shot, _), r in records.items()}
    assert errors["raise", 1] == "RuntimeError: three rows are too few"
    assert errors["raise", 3] is None
    assert "shape (31, 3) instead of (30, 3)" in (errors["shape", 1] or "")
    assert "finite" in (errors["nan", 1] or "")
    assert errors["well", 1] is None
    assert all(r.metrics == {} for r in records.values() if r.error)


def test_a_record_survives_json(class_table) -> None:
    batch = next(run_suite([class_table()], PLAN, METHODS))
    record = replace(batch[0], metrics={"accuracy": 0.5, "auc": float("nan")})
    text = json.dumps(record.to_dict(), allow_nan=False)
    assert record.bins
    back = Record.from_dict(json.loads(text))
    assert np.isnan(back.metrics.pop("auc"))
    assert back == replace(record, metrics={"accuracy": 0.5})


def test_regression_error_is_on_the_scale_of_the_table(number_table) -> None:
    """Predicting the mean gives an error near one on normalised targets, whatever the labeled rows' spread."""
    plan = EpisodePlan(shots=(20,), n_unlabeled=60, n_episodes=20, seed=0)
    records = next(run_suite([number_table(n=200)], plan, [MethodSpec.of("prior"), MethodSpec.of("ridge")]))
    error = {m: np.mean([r.metrics["mse"] for r in records if r.method == m]) for m in ("prior", "ridge")}
    assert error["prior"] == pytest.approx(1.05, abs=0.1)  # 1 + 1/20 for the mean of twenty labels
    assert error["ridge"] < 0.1
