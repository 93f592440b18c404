"""The network on one table: chunks, contexts and views, and what must not change an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.tiny import Recorder, tiny_checkpoint
from vsacli.errors import DataError, ResourceError, UsageError
from vsacli.inference import InferenceConfig, Prediction, choose_device, predict
from vsacli.nn import TaskBatch

SMALL = InferenceConfig(chunk_rows=32, context_rows=40)


def make_table(n: int = 150, m: int = 4, classes: int = 3, labeled: float = 0.2, seed: int = 0) -> dict[str, Any]:
    """Clusters with missing values; each class has a label. The arguments of `predict`."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    x = (rng.normal(size=(n, m)) + 2 * rng.normal(size=(classes, m))[codes]).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    given = rng.random(n) < labeled
    given[:classes] = True
    return {"x": x, "labeled": given, "y": codes[given], "n_classes": classes}


def regression(task: dict[str, Any]) -> dict[str, Any]:
    """The same table with targets that follow its attributes."""
    target = np.nan_to_num(task["x"]).sum(1).astype(np.float64)
    return {**task, "y": target[task["labeled"]], "n_classes": 0}


def ask(kind: str, task: dict[str, Any], **options: Any) -> np.ndarray:
    """Probabilities (U, C), or mean and deviation side by side (U, 2)."""
    return numbers(predict(tiny_checkpoint(kind), **task, device="cpu", **options))


def numbers(answer: Prediction) -> np.ndarray:
    if answer.proba is not None:
        return answer.proba
    assert answer.mean is not None
    assert answer.std is not None
    return np.stack([answer.mean, answer.std], 1)


def task_of(kind: str, **options: Any) -> dict[str, Any]:
    task = make_table(**options)
    return task if kind == "classification" else regression(task)


KINDS = pytest.mark.parametrize("kind", ["classification", "regression"])
CONFIGS = pytest.mark.parametrize("config", [None, SMALL, InferenceConfig(views=3)], ids=["whole", "chunks", "views"])


@KINDS
def test_an_answer_for_each_unlabeled_row(kind: str):
    task = task_of(kind)
    answer = predict(tiny_checkpoint(kind), **task, device="cpu")
    assert np.array_equal(answer.rows, np.flatnonzero(~task["labeled"]))
    assert answer.device == "cpu"
    if kind == "classification":
        assert answer.mean is None
        assert answer.proba is not None
        assert answer.proba.shape == (len(answer.rows), 3)
        np.testing.assert_allclose(answer.proba.sum(1), 1, rtol=1e-5)
    else:
        assert answer.proba is None
        assert answer.mean is not None
        assert answer.std is not None
        assert answer.mean.shape == answer.std.shape == answer.rows.shape
        assert (answer.std > 0).all()


@KINDS
def test_a_small_table_is_what_the_network_says_of_all_its_rows(kind: str):
    """Against the network itself, rows and attributes in the table's own order."""
    task = task_of(kind, n=60)
    given, x = task["labeled"], task["x"]
    rows = np.concatenate([x[given], x[~given]])
    seen = torch.from_numpy(np.isfinite(rows))[None]
    y = torch.from_numpy(task["y"])[None]
    batch = TaskBatch(
        x=torch.from_numpy(np.nan_to_num(rows))[None],
        observed=seen,
        n_labeled=int(given.sum()),
        y=y if kind == "classification" else y.float().unsqueeze(-1),
        row_mask=torch.ones(1, len(rows), dtype=torch.bool),
        attr_mask=torch.ones(1, 4, dtype=torch.bool),
        class_mask=torch.ones(1, 3 if kind == "classification" else 1, dtype=torch.bool),
    )
    model = tiny_checkpoint(kind).model
    if kind == "classification":
        expected = model.classify(batch).log_probs[0].exp()
    else:
        out = model.regress(batch)
        expected = torch.stack([out.mean[0, :, 0], out.var[0, :, 0].sqrt()], 1)
    np.testing.assert_allclose(ask(kind, task), expected.numpy(), rtol=2e-4, atol=2e-5)


@KINDS
@CONFIGS
def test_the_order_of_rows_changes_nothing(kind: str, config: InferenceConfig | None):
    task = task_of(kind)
    order = np.random.default_rng(5).permutation(150)
    plain, shuffled = np.full((150, 3), np.nan), np.full((150, 3), np.nan)
    given = task["labeled"]
    answer = ask(kind, task, config=config)
    plain[~given, : answer.shape[1]] = answer
    y = np.zeros(150)
    y[given] = task["y"]
    moved = {**task, "x": task["x"][order], "labeled": given[order], "y": y[order][given[order]]}
    shuffled[~given[order], : answer.shape[1]] = ask(kind, moved, config=config)
    np.testing.assert_allclose(shuffled, plain[order], rtol=1e-5, atol=1e-6)


@KINDS
@CONFIGS
def test_the_order_of_attributes_changes_nothing(kind: str, config: InferenceConfig | None):
    task = task_of(kind)
    moved = {**task, "x": task["x"][:, [2, 0, 3, 1]]}
    np.testing.assert_allclose(ask(kind, moved, config=config), ask(kind, task, config=config), rtol=1e-5, atol=1e-6)


@CONFIGS
def test_the_order_of_classes_permutes_the_answer(config: InferenceConfig | None):
    task = make_table()
    renamed = {**task, "y": np.array([2, 0, 1])[task["y"]]}
    expected = ask("classification", task, config=config)
    np.testing.assert_allclose(
        ask("classification", renamed, config=config)[:, [2, 0, 1]], expected, rtol=1e-4, atol=1e-5
    )


@KINDS
@CONFIGS
def test_identical_rows_get_identical_answers(kind: str, config: InferenceConfig | None):
    task = task_of(kind)
    twins = np.flatnonzero(~task["labeled"])[[3, 20, 40, 60, 80, 100]]
    task["x"][twins] = task["x"][twins[0]]
    answer = ask(kind, task, config=config)
    positions = np.searchsorted(np.flatnonzero(~task["labeled"]), twins)
    assert (answer[positions] == answer[positions[0]]).all()


@KINDS
def test_the_same_seed_gives_the_same_bytes_and_another_other_chunks(kind: str):
    task = task_of(kind)
    first, again, other = (ask(kind, task, config=SMALL, seed=s) for s in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)


@KINDS
def test_a_table_in_one_chunk_needs_no_seed(kind: str):
    task = task_of(kind)
    np.testing.assert_allclose(ask(kind, task, seed=1), ask(kind, task, seed=2), rtol=1e-4, atol=1e-5)


def test_chunks_are_put_together_as_the_rows_stand():
    """A stand-in that reads unlabeled rows one by one answers the same in chunks of any size."""
    task = make_table(n=200)
    task["x"][50:60] = task["x"][40:50]
    whole = predict(Recorder().checkpoint(), **task, device="cpu").proba
    assert whole is not None
    for size in (1, 17, 100):
        config = InferenceConfig(chunk_rows=size, least_chunk=1)
        chunked = predict(Recorder().checkpoint(), **task, device="cpu", config=config).proba
        np.testing.assert_allclose(chunked, whole, rtol=1e-4, atol=1e-6)


@KINDS
def test_chunks_stay_near_the_whole(kind: str):
    """Chunks of 100 rows of 400: answers differ by less than a fifth of how much rows differ."""
    task = task_of(kind, n=460, labeled=0.1)
    whole = ask(kind, task, config=InferenceConfig(chunk_rows=1000))[:, 0]
    chunked = ask(kind, task, config=InferenceConfig(chunk_rows=100))[:, 0]
    assert 0 < np.abs(chunked - whole).mean() < 0.2 * whole.std()


def test_every_row_is_read_once_and_chunks_are_even():
    task = make_table(n=500)
    recorder = Recorder()
    predict(recorder.checkpoint(), **task, device="cpu", config=InferenceConfig(chunk_rows=64))
    sizes = [b.x.shape[1] - b.n_labeled for b in recorder.batches]
    assert sum(sizes) == (~task["labeled"]).sum()
    assert max(sizes) <= 64
    assert max(sizes) - min(sizes) <= 1
    assert {b.n_labeled for b in recorder.batches} == {task["labeled"].sum()}
    read = np.concatenate([b.x[0, b.n_labeled :].numpy() for b in recorder.batches])
    expected = np.nan_to_num(task["x"][~task["labeled"]])
    assert np.array_equal(np.sort(read.sum(1)), np.sort(expected[:, _order(task)].sum(1)))


def _order(task: dict[str, Any]) -> np.ndarray:
    from vsacli.hashing import attribute_signatures

    return np.argsort(attribute_signatures(task["x"]))


def test_progress_counts_all_rows():
    task = make_table(n=500)
    task["x"][100:200] = task["x"][99]
    steps: list[tuple[int, int]] = []
    predict(
        Recorder().checkpoint(),
        **task,
        device="cpu",
        config=SMALL,
        progress=lambda done, total: steps.append((done, total)),
    )
    total = int((~task["labeled"]).sum())
    assert len(steps) > 5
    assert steps[-1] == (total, total)
    assert steps == sorted(set(steps))


def test_many_labels_are_dealt_into_contexts_with_every_class():
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.zeros(300, int), np.full(90, 1), np.full(2, 2), [3]])
    x = rng.normal(size=(500, 3)).astype(np.float32)
    labeled = np.arange(500) < 393
    recorder = Recorder()
    config = InferenceConfig(context_rows=100, chunk_rows=20, contexts_per_chunk=2)
    predict(recorder.checkpoint(), x, labeled, codes, 4, device="cpu", config=config)
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
    config = InferenceConfig(context_rows=50, contexts_per_chunk=9, chunk_rows=1000)
    answer = predict(recorder.checkpoint(), **task, device="cpu", config=config).proba
    contexts = -(-int(task["labeled"].sum()) // 50)
    assert len(recorder.batches) == contexts
    parts = [np.exp(recorder(b).log_probs[0].numpy()) for b in list(recorder.batches)]
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
    config = InferenceConfig(context_rows=10)
    answer = predict(recorder.checkpoint(), x, np.arange(30) < 20, y, device="cpu", config=config)
    a, b = (float(batch.y.mean()) for batch in recorder.batches)
    np.testing.assert_allclose(answer.mean, y.mean() + y.std() * (a + b) / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(answer.std, y.std() * np.sqrt(1 + ((a - b) / 2) ** 2), rtol=1e-4)


def test_calibration_is_applied():
    task = make_table()
    plain = predict(Recorder().checkpoint(), **task, device="cpu").proba
    cooled = predict(Recorder().checkpoint(calibration={"temperature": 2.0}), **task, device="cpu").proba
    assert plain is not None
    expected = np.sqrt(plain) / np.sqrt(plain).sum(1, keepdims=True)
    np.testing.assert_allclose(cooled, expected, rtol=1e-3, atol=1e-6)
    task = regression(task)
    plain = predict(Recorder("regression").checkpoint(), **task, device="cpu").std
    wide = predict(Recorder("regression").checkpoint(calibration={"std_factor": 3.0}), **task, device="cpu").std
    assert plain is not None
    np.testing.assert_allclose(wide, 3 * plain, rtol=1e-5)


def test_views_turn_signs_and_are_averaged():
    task = make_table(n=60, m=6)
    recorder = Recorder()
    predict(recorder.checkpoint(), **task, device="cpu", config=InferenceConfig(views=4))
    first, *others = (b.x[0].numpy() for b in recorder.batches)
    assert len(others) == 3
    for other in others:
        ratio = np.divide(other, first, out=np.zeros_like(first), where=first != 0)
        signs = np.where((ratio >= 0).all(0), 1, -1)
        assert np.array_equal(other, first * signs)  # whole attributes, labeled and unlabeled rows alike
    assert any((other != first).any() for other in others)
    averaged = ask("classification", task, config=InferenceConfig(views=8))
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
    answer = predict(recorder.checkpoint(), **task, device="cpu", config=InferenceConfig(chunk_rows=200)).proba
    sizes = [b.x.shape[1] - n_labeled for b in recorder.batches]
    assert sum(sizes) == 500 - n_labeled
    assert max(sizes) <= 60
    assert len([t for t in tried if t > 60]) <= 2  # what failed once is not tried with every chunk
    whole = predict(Recorder().checkpoint(), **task, device="cpu").proba
    assert answer is not None
    assert np.isfinite(answer).all()
    np.testing.assert_allclose(answer, whole, rtol=1e-4, atol=1e-6)  # this stand-in reads rows one by one


def test_a_table_that_never_fits_is_one_line():
    task = make_table(n=200)
    recorder = Recorder(fails=lambda batch: RuntimeError("out of memory"))
    with pytest.raises(ResourceError, match=r"labeled and .* unlabeled rows of 4 attributes do not fit"):
        predict(recorder.checkpoint(), **task, device="cpu")


def test_other_errors_of_the_network_are_not_hidden():
    recorder = Recorder(fails=lambda batch: RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        predict(recorder.checkpoint(), **make_table(), device="cpu")


def test_wide_tables_take_smaller_chunks():
    task = make_table(n=400, m=300)
    sizes = []
    for memory in (1 << 40, 20 << 20):
        recorder = Recorder()
        predict(recorder.checkpoint(), **task, device="cpu", config=InferenceConfig(memory=memory))
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


@pytest.mark.parametrize("value", [0.0, 0.1, -3.5, 1e13, 1e-320, 1.7e308])
def test_equal_targets_are_the_answer(value: float):
    task = regression(make_table())
    recorder = Recorder("regression")
    answer = predict(recorder.checkpoint(), **{**task, "y": np.full(len(task["y"]), value)}, device="cpu")
    assert answer.mean is not None
    assert answer.std is not None
    assert (answer.mean == value).all()
    assert (answer.std == 0).all()
    assert not recorder.batches


@KINDS
def test_one_attribute(kind: str):
    assert np.isfinite(ask(kind, task_of(kind, m=1))).all()


@KINDS
def test_attributes_that_nobody_observed_or_that_are_constant(kind: str):
    task = task_of(kind)
    task["x"][:, 1] = np.nan
    task["x"][:, 2] = 7
    task["x"][~task["labeled"], 3] = np.nan
    assert np.isfinite(ask(kind, task)).all()
    task["x"][:] = np.nan
    assert np.isfinite(ask(kind, task)).all()


def test_twenty_five_classes_with_one_label_each():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(25), 4)
    x = (rng.normal(size=(25, 5))[codes] * 5 + 0.01 * rng.normal(size=(100, 5))).astype(np.float32)
    labeled = np.arange(100) % 4 == 0
    answer = predict(tiny_checkpoint(), x, labeled, codes[labeled], 25, device="cpu").proba
    assert answer is not None
    assert answer.shape == (75, 25)
    assert (answer.argmax(1) == codes[~labeled]).mean() > 0.9  # clusters that even random embeddings tell apart


@KINDS
def test_a_single_unlabeled_row(kind: str):
    task = task_of(kind, n=30)
    task["labeled"] = np.arange(30) != 17
    task["y"] = np.resize(task["y"], 29)
    assert ask(kind, task).shape[0] == 1


@KINDS
def test_nothing_to_fill(kind: str):
    task = task_of(kind, labeled=2)
    assert task["labeled"].all()
    assert ask(kind, task).shape == (0, 3 if kind == "classification" else 2)


def test_a_single_class_is_certain():
    answer = predict(Recorder().checkpoint(), np.zeros((4, 1), np.float32), np.arange(4) < 2, np.zeros(2), 1)
    assert np.array_equal(answer.proba, np.ones((2, 1)))


@KINDS
def test_no_label_is_an_error(kind: str):
    task = task_of(kind)
    with pytest.raises(DataError, match="no labeled row"):
        ask(kind, {**task, "labeled": np.zeros(150, bool), "y": task["y"][:0]})


def test_the_device_is_chosen(monkeypatch: pytest.MonkeyPatch):
    def have(cuda: int, mps: bool) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    have(0, False)
    assert choose_device("auto") == torch.device("cpu")
    for name in ("cuda", "mps", "cuda:0"):
        with pytest.raises(UsageError, match=f"device {name} is not available here"):
            choose_device(name)
    have(0, True)
    assert choose_device("auto") == torch.device("mps")
    have(2, True)
    assert choose_device("auto") == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(UsageError, match="cuda:2 is not available here: there is cuda:0 to cuda:1"):
        choose_device("cuda:2")
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["", "gpu", "CPU", "cuda:x", "cuda:", "cuda:-1", "cpu:²", "meta"])
def test_an_unknown_device(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(UsageError, match="unknown device"):
        choose_device(name)


def test_chunks_side_by_side_answer_as_one_after_the_other():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(420, 3)).astype(np.float32)
    labeled = np.arange(len(x)) < 12
    y = np.arange(12) % 3
    config = InferenceConfig(chunk_rows=32)
    before = torch.get_num_threads()
    try:
        answers = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            answers.append(predict(tiny_checkpoint(), x, labeled, y, 3, device="cpu", config=config).proba)
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
    proba = predict(recorder.checkpoint(), **task).proba
    assert proba is not None
    assert proba.shape == (100, 200)
    np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-4)
    assert {len(np.unique(b.y[0])) for b in recorder.batches} == {200}


def test_more_classes_than_a_context_has_rows_are_refused():
    with pytest.raises(DataError, match=r"^385 classes are more than the network reads together \(384\): unite rare"):
        predict(Recorder().checkpoint(), **make_table(500, classes=385, labeled=0))
    assert predict(Recorder().checkpoint(), **make_table(390, classes=384, labeled=0)).proba is not None
