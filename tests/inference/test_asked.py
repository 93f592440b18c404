"""Tables in which some rows are read, and every row is asked about beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU, KINDS, SMALL, ask, numbers, task_of
from tests.tiny import Recorder, tiny_checkpoint
from vsacli.errors import ResourceError
from vsacli.inference import asked as asked_module
from vsacli.inference import reading as reading_module
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import answer, predict
from vsacli.inference.reading import Known, Reading
from vsacli.nn.model import VSAModel

NEAR = {"rtol": 1e-4, "atol": 1e-5}
WAYS = pytest.mark.parametrize(
    "config",
    [
        SMALL,
        replace(SMALL, context_rows=12, chunk_rows=8),
        replace(SMALL, attributes_together=(3, 2)),
        replace(SMALL, views=2),
    ],
    ids=["one context", "contexts", "groups of attributes", "views"],
)


def reading_of(kind: str, task: dict[str, Any], config: InferenceConfig) -> Reading:
    given = dict(task)
    return Reading(tiny_checkpoint(kind, structure=True), **given, config=config)


@KINDS
@WAYS
def test_rows_may_be_asked_about_by_themselves(kind: str, config: InferenceConfig):
    """Given what is known of the table, some of its rows get the answers that they have in it."""
    config = replace(config, beside_rows=70)
    task = task_of(kind, n=400)
    reading = reading_of(kind, task, config)
    together = numbers(answer(reading))
    known = reading.of_other_rows()
    assert known is not None
    unlabeled = np.flatnonzero(~task["labeled"])
    for some in (slice(0, 1), slice(5, 60)):
        rows = np.concatenate([np.flatnonzero(task["labeled"]), unlabeled[some]])
        part = {**task, "x": task["x"][rows], "labeled": task["labeled"][rows]}
        alone = numbers(predict(tiny_checkpoint(kind, structure=True), **part, config=config, known=known))
        np.testing.assert_allclose(alone, together[some], **NEAR)


@KINDS
@WAYS
def test_pieces_windows_and_what_is_kept_change_nothing(
    kind: str, config: InferenceConfig, monkeypatch: pytest.MonkeyPatch
):
    config, task = replace(config, beside_rows=70), task_of(kind, n=400)
    whole = ask(kind, task, config=config)
    monkeypatch.setattr(reading_module, "PIECE_ROWS", (1, 9))
    monkeypatch.setattr(asked_module, "WINDOW", 37)
    monkeypatch.setattr(Reading, "contexts_kept", 1)
    np.testing.assert_allclose(ask(kind, task, config=config), whole, **NEAR)


def passes(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """The numbers of rows that are read, and that are asked about, from now on."""
    read, asked = [], []
    real_read, real_ask = VSAModel.read, VSAModel.ask

    def counted_read(self: VSAModel, batch: Any) -> Any:
        read.append(batch.x.shape[1])
        return real_read(self, batch)

    def counted_ask(self: VSAModel, context: Any, batch: Any) -> Any:
        asked.append(batch.x.shape[1])
        return real_ask(self, context, batch)

    monkeypatch.setattr(VSAModel, "read", counted_read)
    monkeypatch.setattr(VSAModel, "ask", counted_ask)
    return read, asked


def test_some_rows_are_read_once_and_the_others_asked_about_once(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification", n=400)
    read, asked = passes(monkeypatch)
    ask("classification", task, config=replace(CPU, chunk_rows=100, beside_rows=100))
    labeled = int(task["labeled"].sum())
    assert read == [labeled + 100]
    assert sum(asked) == 400 - labeled - 100


def test_a_table_of_one_chunk_is_read_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification", n=200)
    read, asked = passes(monkeypatch)
    ask("classification", task)
    assert read == asked == []


def test_few_rows_beside_many_labels_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch):
    """Eight contexts are not read for a few rows, but for many."""
    config = replace(CPU, chunk_rows=16, context_rows=12, beside_rows=32)
    task = task_of("classification", n=480)
    for rows, asks in ((180, False), (480, True)):
        read, _ = passes(monkeypatch)
        kept = task["labeled"] | (np.arange(480) < rows)
        ask("classification", {**task, "x": task["x"][kept], "labeled": task["labeled"][kept]}, config=config)
        assert bool(read) == asks


@KINDS
def test_no_unlabeled_row_need_be_read(kind: str):
    task = task_of(kind, n=60)
    found = ask(kind, task, known=Known(beside=task["x"][:0]))
    assert np.isfinite(found).all()


@KINDS
def test_threads_change_nothing(kind: str):
    config, task = replace(SMALL, context_rows=12, chunk_rows=8, beside_rows=70), task_of(kind, n=400)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(ask(kind, task, config=config))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-7)


def test_each_thread_keeps_what_it_reads(monkeypatch: pytest.MonkeyPatch):
    kept, real = [], Reading.contexts_kept.fget
    assert real is not None

    def noted(self: Reading) -> int:
        kept.append(real(self))
        return kept[-1]

    monkeypatch.setattr(Reading, "contexts_kept", property(noted))
    config = replace(SMALL, context_rows=12, chunk_rows=8, beside_rows=64, memory=1 << 19)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        ask("classification", task_of("classification", n=400), config=config)
    finally:
        torch.set_num_threads(before)
    assert min(kept) == 4


def test_rows_that_do_not_fit_in_memory_are_asked_about(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification", n=400)
    labeled = int(task["labeled"].sum())
    config = replace(CPU, chunk_rows=100, beside_rows=100)
    real = VSAModel.read

    def short_of_memory(self: VSAModel, batch: Any) -> Any:
        if batch.x.shape[1] > labeled + 30:
            raise MemoryError
        return real(self, batch)

    monkeypatch.setattr(VSAModel, "read", short_of_memory)
    read, asked = passes(monkeypatch)
    found = ask("classification", task, config=config)
    assert read[-1] == labeled + 25
    assert sum(asked) == 400 - labeled - 25
    assert np.isfinite(found).all()

    def out_of_memory(self: VSAModel, batch: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(VSAModel, "read", out_of_memory)
    with pytest.raises(ResourceError, match=f"^{labeled} labeled and 12 unlabeled rows of 4 attributes do not fit"):
        ask("classification", task, config=config)


def test_a_table_too_wide_for_what_is_kept_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch):
    task = task_of("classification", n=400)
    read, asked = passes(monkeypatch)
    ask("classification", task, config=replace(CPU, chunk_rows=100, memory=1 << 18))
    assert read == asked == []


def test_a_small_part_of_such_a_table_is_read_with_other_rows_of_it():
    task = task_of("classification", n=100)
    labeled, unlabeled = task["x"][task["labeled"]], task["x"][~task["labeled"]]
    part = {
        **task,
        "x": np.concatenate([labeled, unlabeled[:2]]),
        "labeled": np.arange(len(labeled) + 2) < len(labeled),
    }
    recorder = Recorder()  # cannot be asked
    found = predict(recorder.checkpoint(), **part, config=replace(CPU, chunk_rows=20), known=Known(beside=unlabeled))
    assert len(found.probabilities) == 2
    (batch,) = recorder.batches
    assert batch.x.shape[1] == len(labeled) + 20
    read = torch.where(batch.observed, batch.x, torch.nan)[0, len(labeled) :].numpy()
    assert len(np.unique(read, axis=0)) == 20


@pytest.mark.parametrize("attributes", [4, 500])
def test_pieces_of_an_accelerator_are_large_but_fit_in_memory(attributes: int):
    reading = reading_of("regression", task_of("regression", n=60, m=attributes), CPU)
    cell = 4 * reading.runner.config.pass_floats
    reading.device = torch.device("cuda")
    assert reading.piece_rows >= 256
    assert reading.piece_rows * attributes * cell < 2 * CPU.memory
