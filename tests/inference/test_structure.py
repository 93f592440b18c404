"""A network that reads the structure of the whole table: what it is given, and what must not change its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU, KINDS, SMALL, task_of
from tests.tiny import tiny_checkpoint
from vsacli.inference import reading as reading_module
from vsacli.inference import structure as structure_module
from vsacli.inference.config import InferenceConfig
from vsacli.inference.embed import embed
from vsacli.inference.order import attribute_signatures
from vsacli.inference.predict import predict
from vsacli.inference.reading import Known, Reading
from vsacli.inference.structure import GivenRows, KnownStructure, structure_of
from vsacli.structure import RowStructure
from vsacli.structure.class_space import ClassSpace

SIZES = pytest.mark.parametrize("landmarks", [2048, 60], ids=["all rows", "landmarks"])
CONFIGS = pytest.mark.parametrize("config", [CPU, SMALL, InferenceConfig(device="cpu", attributes_together=(3, 2))])


def ask(kind: str, task: dict[str, Any], **options: Any) -> np.ndarray:
    """Answers of a network that reads structure, one row for each unlabeled row."""
    answer = predict(tiny_checkpoint(kind, structure=True), **task, **{"config": CPU, **options})
    assert answer.graph_rows > 0
    if kind == "classification":
        assert answer.proba is not None
        return answer.proba
    assert answer.mean is not None
    assert answer.std is not None
    return np.stack([answer.mean, answer.std], 1)


def known(task: dict[str, Any], n_classes: int, *, class_space: bool = False) -> KnownStructure:
    x, labeled = task["x"], task["labeled"]
    rows = np.concatenate([x[labeled], x[~labeled]])
    given = GivenRows.of_part(rows, int(labeled.sum()), task["y"], n_classes, attribute_signatures(x), 0)
    found = structure_of(given, class_space=class_space)
    assert found is not None
    return found


@KINDS
@SIZES
@CONFIGS
def test_orders_of_rows_and_attributes_change_nothing(
    kind: str, landmarks: int, config: InferenceConfig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(structure_module, "LANDMARKS", landmarks)
    task = task_of(kind)
    given = task["labeled"]
    order = np.random.default_rng(5).permutation(len(given))
    y = np.zeros(len(given))
    y[given] = task["y"]
    moved = {
        **task,
        "x": task["x"][order][:, [2, 0, 3, 1]],
        "labeled": given[order],
        "y": y[order][given[order]].astype(task["y"].dtype),
    }
    plain, shuffled = np.zeros((2, len(given), 3))
    answer = ask(kind, task, config=config)
    plain[~given, : answer.shape[1]] = answer
    shuffled[~given[order], : answer.shape[1]] = ask(kind, moved, config=config)
    np.testing.assert_allclose(shuffled, plain[order], rtol=1e-4, atol=1e-5)


@KINDS
@SIZES
def test_identical_rows_get_identical_answers(kind: str, landmarks: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(structure_module, "LANDMARKS", landmarks)
    task = task_of(kind)
    free = np.flatnonzero(~task["labeled"])
    task["x"][free[40]] = task["x"][free[3]]
    for config in (CPU, SMALL):
        answer = ask(kind, task, config=config)
        np.testing.assert_allclose(answer[40], answer[3], rtol=1e-6)


@KINDS
def test_chunks_see_the_structure_of_the_whole_table(kind: str, monkeypatch: pytest.MonkeyPatch):
    """What a pass is given of its rows is what the whole table says of them."""
    task = task_of(kind)
    expected = known(task, 3 if kind == "classification" else 0)
    seen: list[int] = []
    real = reading_module.structure_of

    def counted(*args: Any, **options: Any) -> KnownStructure | None:
        seen.append(1)
        return real(*args, **options)

    monkeypatch.setattr(reading_module, "structure_of", counted)
    ask(kind, task, config=SMALL)
    assert seen == [1]  # once a table, not once a chunk
    assert len(expected) == len(task["x"])
    rows = np.flatnonzero(~task["labeled"])[:7]
    found = expected.of_rows(task["x"][rows], np.full(7, -1))
    again = known(task, 3 if kind == "classification" else 0).of_rows(task["x"], np.full(len(task["x"]), -1))
    np.testing.assert_array_equal(found.answers, again.answers[rows])
    np.testing.assert_array_equal(found.coordinates, again.coordinates[rows])


def test_rows_are_looked_up_once_for_all_groups_of_attributes(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification")
    config = InferenceConfig(device="cpu", attributes_together=(3, 2), chunk_rows=32)
    asked: list[bytes] = []
    real = KnownStructure.of_rows

    def counted(self: KnownStructure, x: np.ndarray, labeled: np.ndarray) -> RowStructure:
        asked.append(x.tobytes())
        return real(self, x, labeled)

    monkeypatch.setattr(KnownStructure, "of_rows", counted)
    ask("classification", task, config=replace(config, beside_rows=30))
    assert len(asked) == len(set(asked)) == 3  # the labeled rows, those beside them, and all unlabeled ones
    asked.clear()
    ask("classification", task, config=replace(config, beside_rows=0))
    n_chunks = -(-int((~task["labeled"]).sum()) // 32)
    assert len(asked) == 2 * n_chunks  # a chunk and its context
    assert len(set(asked)) == n_chunks + 1
    asked.clear()
    embed(tiny_checkpoint(structure=True), **task, config=config)
    assert len(asked) == len(set(asked))


def test_a_labeled_row_and_an_unlabeled_one_like_it_are_told_apart():
    """The labeled row's answer leaves its own label out; the unlabeled one beside it knows the label."""
    task = task_of("classification")
    labeled = np.flatnonzero(task["labeled"])
    twin = np.flatnonzero(~task["labeled"])[0]
    task["x"][twin] = task["x"][labeled[0]]
    structure = known(task, 3)
    own = structure.of_rows(task["x"][labeled[:1]], np.array([0])).answers[0, :, 1]
    other = structure.of_rows(task["x"][[twin]], np.array([-1])).answers[0, :, 1]
    assert other[task["y"][0]] > own[task["y"][0]]


@KINDS
def test_more_labels_than_a_graph_takes(kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(structure_module, "LANDMARKS", 40)
    monkeypatch.setattr(structure_module, "LABELED_LANDMARKS", 12)
    task = task_of(kind)
    structure = known(task, 3 if kind == "classification" else 0)
    assert (structure.labeled >= 0).sum() <= 15
    assert len(structure) == 40
    assert np.isfinite(ask(kind, task)).all()


@KINDS
def test_a_table_without_structure_is_answered(kind: str):
    task = task_of(kind)
    task["x"][:] = 1.0
    answer = predict(tiny_checkpoint(kind, structure=True), **task, config=CPU)
    assert answer.graph_rows == 0
    assert np.isfinite(answer.proba if answer.proba is not None else answer.mean).all()  # type: ignore[arg-type]


def test_a_network_that_does_not_read_structure_is_spared_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading_module, "structure_of", never)
    assert predict(tiny_checkpoint(), **task_of("classification"), config=CPU).graph_rows == 0


def test_a_network_that_does_not_read_the_space_of_the_classes_is_spared_it(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification")
    given = ask("classification", task, known=Known(structure=known(task, 3, class_space=True)))
    monkeypatch.setattr(ClassSpace, "fit", never)
    np.testing.assert_array_equal(ask("classification", task), given)
    with pytest.raises(AssertionError, match="in vain"):
        predict(tiny_checkpoint(structure=True, class_space=True), **task, config=CPU)


def never(*args: object, **options: object) -> None:
    raise AssertionError("computed in vain")


def test_the_structure_of_a_larger_table_can_be_given():
    """A part of a table that is answered by itself, with the whole table's structure."""
    task = task_of("classification")
    structure = known(task, 3)
    rows = np.concatenate([np.flatnonzero(task["labeled"]), np.flatnonzero(~task["labeled"])[:20]])
    rows.sort()
    part = {**task, "x": task["x"][rows], "labeled": task["labeled"][rows]}
    own, whole = ask("classification", part), ask("classification", part, known=Known(structure=structure))
    assert not np.allclose(own, whole, atol=1e-4)


@KINDS
def test_the_number_of_threads_changes_nothing(kind: str):
    task = task_of(kind)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(ask(kind, task, config=SMALL))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


@KINDS
def test_embeddings_have_the_attributes_alone(kind: str):
    task = task_of(kind)
    checkpoint = tiny_checkpoint(kind, structure=True)
    vectors = embed(checkpoint, task["x"], task["labeled"], task["y"], task.get("n_classes", 0), config=CPU)
    assert vectors.shape == (len(task["x"]), task["x"].shape[1] * checkpoint.model.config.channels)
    without = embed(tiny_checkpoint(kind), task["x"], task["labeled"], task["y"], task.get("n_classes", 0), config=CPU)
    assert not np.allclose(vectors, without)


def test_of_very_many_attributes_those_are_read_that_tell_the_classes(monkeypatch: pytest.MonkeyPatch):
    for module in (structure_module, reading_module):
        monkeypatch.setattr(module, "MOST_ATTRIBUTES", 8)
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 40)).astype(np.float32)
    told = np.array([3, 11, 17, 29])
    x[:, told] += 6 * y[:, None]
    labeled = np.arange(80) < 10
    network = tiny_checkpoint(structure=True)
    reading = Reading(network, x, labeled, y[labeled], 2, CPU)
    chosen = reading.chosen
    assert len(chosen) == 8
    assert set(told) <= set(chosen)
    assert sorted(np.concatenate(reading.groups)) == chosen.tolist()
    order = rng.permutation(40)
    other = Reading(network, x[:, order], labeled, y[labeled], 2, CPU)
    assert sorted(order[other.chosen]) == chosen.tolist()
    rows = np.concatenate([np.arange(10), 10 + rng.permutation(70)])
    other = Reading(network, x[rows], labeled, y[labeled], 2, CPU)
    assert other.chosen.tolist() == chosen.tolist()
