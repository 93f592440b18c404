"""Tables with many classes: each row is asked about some of them, and what must not change an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU
from tests.tiny import Recorder, tiny_checkpoint
from vsacli.attributes.packed import take_rows
from vsacli.inference import class_groups
from vsacli.inference import reading as reading_module
from vsacli.inference.class_groups import grouped
from vsacli.inference.embed import embed
from vsacli.inference.predict import answer, predict
from vsacli.inference.proportions import Proportions
from vsacli.inference.reading import Known, Reading
from vsacli.structure.shortlist import Shortlist


def make_table(classes: int = 60, rows: int = 500, shots: int = 1, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """Clear clusters with a few labels of each: the arguments of `predict`, and the answers."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.tile(np.arange(classes), shots), rng.integers(0, classes, rows - shots * classes)])
    x = (5 * rng.normal(size=(classes, 8))[codes] + rng.normal(size=(rows, 8))).astype(np.float32)
    x[rng.random(x.shape) < 0.02] = np.nan
    given = np.arange(rows) < shots * classes
    order = rng.permutation(rows)
    x, codes, given = x[order], codes[order], given[order]
    return {"x": x, "labeled": given, "y": codes[given], "n_classes": classes}, codes[~given]


@pytest.mark.parametrize("shots", [1, 3])
def test_clear_clusters_are_told_apart(shots: int):
    task, truth = make_table(shots=shots)
    recorder = Recorder()
    found = predict(recorder.checkpoint(), **task, config=CPU).probabilities
    assert found.shape == (len(truth), 60)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-4)
    assert (found > 0).all()  # every label that occurs can be an answer
    assert (found.argmax(1) == truth).mean() > 0.9
    assert max(batch.class_mask.shape[1] for batch in recorder.batches) == class_groups.TOGETHER
    assert sum(batch.x.shape[1] - batch.n_labeled for batch in recorder.batches) == len(truth)  # each is asked once


def test_as_many_classes_as_the_network_was_trained_with_are_read_together():
    task, truth = make_table(classes=25, rows=200)
    recorder = Recorder()
    predict(recorder.checkpoint(), **task)
    assert [batch.x.shape[1] for batch in recorder.batches] == [200]
    assert recorder.batches[0].class_mask.shape[1] == 25
    assert len(truth) == 175


def test_no_order_and_no_numbering_matters():
    checkpoint = tiny_checkpoint(structure=True)
    task, _ = make_table()
    given, codes = task["labeled"], np.full(500, -1)
    codes[given] = task["y"]
    plain = np.zeros((500, 60))
    plain[~given] = predict(checkpoint, **task, config=CPU).probabilities
    rng = np.random.default_rng(5)
    rows, columns, names = rng.permutation(500), rng.permutation(8), rng.permutation(60)
    labeled = given[rows]
    moved = predict(
        checkpoint, task["x"][rows][:, columns], labeled, names[codes[rows][labeled]], 60, config=CPU
    ).probabilities
    np.testing.assert_allclose(moved[:, names], plain[rows][~labeled], rtol=1e-4, atol=1e-6)


def test_threads_change_nothing():
    checkpoint = tiny_checkpoint(structure=True)
    task, _ = make_table()
    threads = torch.get_num_threads()
    one = predict(checkpoint, **task, config=replace(CPU, at_a_time=1)).probabilities
    three = predict(checkpoint, **task, config=replace(CPU, at_a_time=3)).probabilities
    assert (one == three).all()
    assert torch.get_num_threads() == threads


def test_rows_are_answered_some_at_a_time(monkeypatch: pytest.MonkeyPatch):
    """Groups and their structures are those of the first rows; best answers are those of the probabilities."""
    monkeypatch.setattr(class_groups, "CELLS", 60 * 256)
    told: list[tuple[str, int, int]] = []
    checkpoint = tiny_checkpoint(structure=True)
    task, truth = make_table(rows=900)
    answers = predict(checkpoint, **task, config=CPU, progress=lambda *step: told.append(step))
    assert (answers.probabilities.argmax(1) == truth).mean() > 0.9
    assert answers.graph_rows == 900
    assert [step for step, _, _ in told] == ["labeling"] * len(told)
    done = [rows for _, rows, _ in told]
    assert done == sorted(done)
    assert told[-1] == ("labeling", 840, 840)
    best = predict(checkpoint, **task, config=replace(CPU, best_only=True)).best
    assert best is not None
    assert (best[0] == answers.probabilities.argmax(1)).all()
    np.testing.assert_allclose(best[1], answers.probabilities.max(1))


@pytest.mark.parametrize("window", [256, 1024])
def test_shares_of_the_first_rows_are_computed_once(monkeypatch: pytest.MonkeyPatch, window: int):
    monkeypatch.setattr(class_groups, "CELLS", 60 * window)
    task, _ = make_table(rows=900)
    checkpoint = tiny_checkpoint(structure=True)
    counts: list[int] = []
    at = Shortlist.at
    monkeypatch.setattr(Shortlist, "at", lambda self, x: counts.append(len(x)) or at(self, x))
    once = predict(checkpoint, **task, config=CPU).probabilities
    first = min(840, window)
    handed_over = 840 if window > 840 else 210  # of four windows as long as each other
    assert sum(counts) == first + 60 + 840 - handed_over
    monkeypatch.setattr(Reading, "class_shares", lambda self, groups, rows: groups.shares(take_rows(self.x, rows)))
    np.testing.assert_allclose(predict(checkpoint, **task, config=CPU).probabilities, once, rtol=1e-4, atol=1e-6)


def test_known_proportions_are_met():
    task, _ = make_table()
    wanted = np.linspace(1, 3, 60) / np.linspace(1, 3, 60).sum()
    found = predict(Recorder().checkpoint(), **task, config=CPU, known=Known(proportions=Proportions(wanted)))
    np.testing.assert_allclose(found.probabilities.mean(0), wanted, atol=1e-3)


def test_groups_of_a_table_serve_a_part_of_it():
    checkpoint = tiny_checkpoint(structure=True)
    task, truth = make_table(rows=800)
    reading = Reading(checkpoint, **task, config=CPU)
    known = Known(reading.signatures, groups=reading.class_groups)
    part = np.flatnonzero(~task["labeled"])[:100]
    x = np.concatenate([task["x"][task["labeled"]], task["x"][part]])
    found = predict(checkpoint, x, np.arange(160) < 60, task["y"], 60, config=CPU, known=known)
    assert (found.probabilities.argmax(1) == truth[:100]).mean() > 0.9


@pytest.mark.parametrize("rows", [61, 62, 64])
def test_hardly_any_row_to_answer(rows: int):
    task, truth = make_table(rows=rows)
    assert (predict(tiny_checkpoint(structure=True), **task, config=CPU).probabilities.argmax(1) == truth).all()


def test_many_labels_of_each_class():
    """More than a graph or a context has room for."""
    task, truth = make_table(classes=30, rows=2_600, shots=80)
    found = predict(Recorder().checkpoint(), **task, config=CPU).probabilities
    assert (found.argmax(1) == truth).mean() > 0.95


def test_a_thousand_classes():
    task, truth = make_table(classes=1_000, rows=1_300)
    best = predict(Recorder().checkpoint(), **task, config=replace(CPU, best_only=True)).best
    assert best is not None
    assert (best[0] == truth).mean() > 0.5


def test_embeddings_take_similar_classes_as_one():
    task, _ = make_table()
    checkpoint = tiny_checkpoint(structure=True)
    found = embed(checkpoint, **task, config=CPU)
    assert found.shape == (500, 8 * checkpoint.model.config.channels)
    groups = Reading(checkpoint, **task, config=CPU).class_groups
    assert groups is not None
    merged = groups.merged(CPU.classes_together)
    assert len(np.unique(merged)) == merged.max() + 1 <= 25
    np.testing.assert_array_equal(
        found, embed(checkpoint, **{**task, "y": merged[task["y"]], "n_classes": merged.max() + 1}, config=CPU)
    )


def test_groups_hold_each_class_with_those_most_like_it():
    places = np.array([0.0, 1, 2, 10, 11, 12, 20, 21])
    like = np.exp(-np.abs(places[:, None] - places))
    groups = [group.tolist() for group in grouped(like, own=3, together=4)]
    assert set(range(8)) == {c for group in groups for c in group}
    assert all(len(group) == 4 and group == sorted(group) for group in groups)
    for near in ({0, 1, 2}, {3, 4, 5}, {6, 7}):
        assert any(near <= set(group) for group in groups)


def test_rows_may_be_asked_about_by_themselves():
    """Given what is known of the table, some of its rows get the answers that they have in it."""
    checkpoint = tiny_checkpoint(structure=True)
    task, _ = make_table(rows=400)
    reading = Reading(checkpoint, **task, config=CPU)
    together, known = answer(reading).probabilities, reading.of_other_rows()
    assert known is not None
    given, unlabeled = np.flatnonzero(task["labeled"]), np.flatnonzero(~task["labeled"])
    for some in (slice(0, 1), slice(5, 60)):
        rows = np.concatenate([given, unlabeled[some]])
        part = {**task, "x": task["x"][rows], "labeled": task["labeled"][rows]}
        alone = predict(checkpoint, **part, config=CPU, known=known).probabilities
        np.testing.assert_allclose(alone, together[some], rtol=1e-4, atol=1e-5)


def test_the_structure_of_the_whole_table_is_not_computed(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(reading_module, "structure_of", refuse)
    reading = Reading(tiny_checkpoint(structure=True), **make_table()[0], config=CPU)
    answer(reading)
    assert reading.of_other_rows() is not None
