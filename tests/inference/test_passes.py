"""How a table is cut into passes: chunks, contexts, views, and what fits in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU, KINDS, SMALL, ask, make_table, regression, task_of
from tests.tiny import Recorder, tiny_checkpoint
from vsacli.errors import ResourceError
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.nn import TaskBatch
from vsacli.nn.answers import ClassOutput


def test_chunks_are_put_together_as_the_rows_stand():
    """A stand-in that reads unlabeled rows one by one answers the same in chunks of any size."""
    task = make_table(n=200)
    task["x"][50:60] = task["x"][40:50]
    whole = predict(Recorder().checkpoint(), **task, config=CPU).proba
    assert whole is not None
    for size in (1, 17, 100):
        config = InferenceConfig(device="cpu", chunk_rows=size, least_chunk=1)
        chunked = predict(Recorder().checkpoint(), **task, config=config).proba
        np.testing.assert_allclose(chunked, whole, rtol=1e-4, atol=1e-6)


@KINDS
def test_chunks_stay_near_the_whole(kind: str):
    """Chunks of 100 rows of 400: answers differ by less than a fifth of how much rows differ."""
    task = task_of(kind, n=460, labeled=0.1)
    whole = ask(kind, task, config=InferenceConfig(device="cpu", chunk_rows=1000))[:, 0]
    chunked = ask(kind, task, config=InferenceConfig(device="cpu", chunk_rows=100))[:, 0]
    assert 0 < np.abs(chunked - whole).mean() < 0.2 * whole.std()


def test_every_row_is_read_once_and_chunks_are_even():
    task = make_table(n=500)
    recorder = Recorder()
    predict(recorder.checkpoint(), **task, config=InferenceConfig(device="cpu", chunk_rows=64))
    sizes = [b.x.shape[1] - b.n_labeled for b in recorder.batches]
    assert sum(sizes) == (~task["labeled"]).sum()
    assert max(sizes) <= 64
    assert max(sizes) - min(sizes) <= 1
    assert {b.n_labeled for b in recorder.batches} == {task["labeled"].sum()}
    read = np.concatenate([b.x[0, b.n_labeled :].numpy() for b in recorder.batches])
    expected = np.nan_to_num(task["x"][~task["labeled"]])
    assert np.array_equal(np.sort(read.sum(1)), np.sort(expected[:, _order(task)].sum(1)))


def _order(task: dict[str, Any]) -> np.ndarray:
    from vsacli.inference.order import attribute_signatures

    return np.argsort(attribute_signatures(task["x"]))


def test_progress_counts_all_rows():
    task = make_table(n=500)
    task["x"][100:200] = task["x"][99]
    steps: list[tuple[int, int]] = []
    predict(
        Recorder().checkpoint(),
        **task,
        config=SMALL,
        progress=lambda step, done, total: steps.append((done, total)),
    )
    total = int((~task["labeled"]).sum())
    assert len(steps) > 5
    assert steps[-1] == (total, total)
    assert steps == sorted(set(steps))


def test_progress_and_threads_of_a_wide_table_are_by_groups_of_attributes():
    """One chunk in eight groups: its passes run side by side, and each is a step."""
    task = make_table(n=40, m=24)
    before = torch.get_num_threads()
    found, steps = [], []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            steps.append([])
            answer = predict(
                tiny_checkpoint(),
                **task,
                config=InferenceConfig(device="cpu", attributes_together=(4, 3)),
                progress=lambda step, done, total: steps[-1].append((done, total)),
            )
            found.append(answer.proba)
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-7)
    total = int((~task["labeled"]).sum())
    assert steps[0] == steps[1] == [(number * total // 8, total) for number in range(1, 9)]


def test_many_labels_are_dealt_into_contexts_with_every_class():
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.zeros(300, int), np.full(90, 1), np.full(2, 2), [3]])
    x = rng.normal(size=(500, 3)).astype(np.float32)
    labeled = np.arange(500) < 393
    recorder = Recorder()
    config = InferenceConfig(device="cpu", context_rows=100, chunk_rows=20, contexts_per_chunk=2)
    predict(recorder.checkpoint(), x, labeled, codes, 4, config=config)
    assert len(recorder.batches) == 2 * -(-107 // 20)
    used: set[bytes] = set()
    for b in recorder.batches:
        assert set(b.y[0].tolist()) == {0, 1, 2, 3}
        assert b.n_labeled <= 104  # about context_rows: the rare classes lend their rows
        used |= {row.tobytes() for row in b.x[0, : b.n_labeled].numpy()}
    assert len(used) == 393  # no label is wasted


def test_contexts_are_averaged():
    task = make_table(n=300, labeled=0.5)
    recorder = Recorder()
    config = InferenceConfig(device="cpu", context_rows=50, contexts_per_chunk=9, chunk_rows=1000)
    answer = predict(recorder.checkpoint(), **task, config=config).proba
    contexts = -(-int(task["labeled"].sum()) // 50)
    assert len(recorder.batches) == contexts
    found = [recorder(b) for b in list(recorder.batches)]
    parts = [np.exp(output.log_probs[0].numpy()) for output in found if isinstance(output, ClassOutput)]
    assert len(parts) == contexts
    # the chunk's order is the recorder's; its rows are found by their contents
    rows = np.nan_to_num(task["x"][~task["labeled"]][:, _order(task)])
    read = recorder.batches[0].x[0, recorder.batches[0].n_labeled :].numpy()
    at = [int(np.flatnonzero((read == row).all(1))[0]) for row in rows]
    np.testing.assert_allclose(answer, np.mean(parts, 0)[at], rtol=1e-5)


def test_regression_contexts_are_a_mixture_of_gaussians():
    """Two contexts with means a and b and variance 1: mean (a + b) / 2, variance 1 + ((a - b) / 2)²."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2)).astype(np.float32)
    y = rng.normal(size=20)
    recorder = Recorder("regression")
    config = InferenceConfig(device="cpu", context_rows=10)
    answer = predict(recorder.checkpoint(), x, np.arange(30) < 20, y, config=config)
    a, b = (float(batch.y.mean()) for batch in recorder.batches)
    np.testing.assert_allclose(answer.mean, y.mean() + y.std() * (a + b) / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(answer.std, y.std() * np.sqrt(1 + ((a - b) / 2) ** 2), rtol=1e-4)


def test_views_turn_signs_and_are_averaged():
    task = make_table(n=60, m=6)
    recorder = Recorder()
    predict(recorder.checkpoint(), **task, config=InferenceConfig(device="cpu", views=4))
    first, *others = (b.x[0].numpy() for b in recorder.batches)
    assert len(others) == 3
    for other in others:
        ratio = np.divide(other, first, out=np.zeros_like(first), where=first != 0)
        signs = np.where((ratio >= 0).all(0), 1, -1)
        assert np.array_equal(other, first * signs)  # whole attributes, labeled and unlabeled rows alike
    assert any((other != first).any() for other in others)
    averaged = ask("classification", task, config=InferenceConfig(device="cpu", views=8))
    np.testing.assert_allclose(averaged.sum(1), 1, rtol=1e-5)
    assert not np.allclose(averaged, ask("classification", task), atol=1e-6)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory: you tried ..."),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 99 bytes."),
        MemoryError(),
    ],
)
def test_a_pass_that_does_not_fit_is_halved(error: Exception):
    task = make_table(n=500)
    n_labeled = int(task["labeled"].sum())
    tried: list[int] = []

    def fails(batch: TaskBatch) -> Exception | None:
        tried.append(batch.x.shape[1] - batch.n_labeled)
        return error if tried[-1] > 60 else None

    recorder = Recorder(fails=fails)
    answer = predict(recorder.checkpoint(), **task, config=InferenceConfig(device="cpu", chunk_rows=200)).proba
    sizes = [b.x.shape[1] - n_labeled for b in recorder.batches]
    assert sum(sizes) == 500 - n_labeled
    assert max(sizes) <= 60
    assert len([t for t in tried if t > 60]) <= 2  # what failed once is not tried with every chunk
    whole = predict(Recorder().checkpoint(), **task, config=CPU).proba
    assert answer is not None
    assert np.isfinite(answer).all()
    np.testing.assert_allclose(answer, whole, rtol=1e-4, atol=1e-6)  # this stand-in reads rows one by one


def test_a_table_that_never_fits_is_one_line():
    task = make_table(n=200)
    recorder = Recorder(fails=lambda batch: RuntimeError("out of memory"))
    with pytest.raises(ResourceError, match=r"labeled and .* unlabeled rows of 4 attributes do not fit"):
        predict(recorder.checkpoint(), **task, config=CPU)


def test_other_errors_of_the_network_are_not_hidden():
    recorder = Recorder(fails=lambda batch: RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        predict(recorder.checkpoint(), **make_table(), config=CPU)


def test_wide_tables_take_smaller_chunks():
    task = make_table(n=400, m=190)
    sizes = []
    for memory in (1 << 40, 10 << 20):
        recorder = Recorder()
        predict(recorder.checkpoint(), **task, config=InferenceConfig(device="cpu", memory=memory))
        sizes.append(max(b.x.shape[1] - b.n_labeled for b in recorder.batches))
    assert sizes[0] > 150
    assert 8 <= sizes[1] <= 64


@pytest.mark.parametrize(
    ("scale", "shift"),
    [(1, 1e13), (1e-3, 0), (1e13, 0), (1e300, 0), (1e-300, 0), (1, -1e9), (0.5, 1e15)],
)
def test_targets_of_any_size_keep_their_digits(scale: float, shift: float):
    """Answers move with the targets: what float32 cannot hold is taken away before and put back after."""
    task = regression(make_table())
    plain = ask("regression", task)
    moved = ask("regression", {**task, "y": task["y"] * scale + shift})
    resolution = 4 * np.spacing(abs(shift)) / scale if shift else 0
    np.testing.assert_allclose((moved[:, 0] - shift) / scale, plain[:, 0], rtol=1e-3, atol=1e-3 + resolution)
    np.testing.assert_allclose(moved[:, 1] / scale, plain[:, 1], rtol=1e-3 + resolution)


def test_targets_at_the_end_of_float64_stay_finite():
    task = regression(make_table())
    y = np.where(task["y"] > np.median(task["y"]), 1.7e308, -1.7e308)
    assert np.isfinite(ask("regression", {**task, "y": y})).all()


def test_chunks_side_by_side_answer_as_one_after_the_other():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(420, 3)).astype(np.float32)
    labeled = np.arange(len(x)) < 12
    y = np.arange(12) % 3
    config = InferenceConfig(device="cpu", chunk_rows=32)
    before = torch.get_num_threads()
    try:
        answers = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            answers.append(predict(tiny_checkpoint(), x, labeled, y, 3, config=config).proba)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6, atol=1e-7)
    assert np.ptp(answers[0], axis=0).min() > 0.01


def test_two_hundred_classes_with_two_labels_each():
    """400 labeled rows are dealt into two contexts, each with every class."""
    recorder = Recorder()
    task = make_table(500, classes=200, labeled=0)
    task["labeled"][200:400] = True
    task["y"] = np.concatenate([np.arange(200)] * 2)
    proba = predict(recorder.checkpoint(), **task, config=InferenceConfig(classes_together=200)).proba
    assert proba is not None
    assert proba.shape == (100, 200)
    np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-4)
    assert {len(np.unique(b.y[0])) for b in recorder.batches} == {200}
