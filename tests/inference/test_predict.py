"""The network on one table: an answer for each row, and what must not change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU, KINDS, SMALL, ask, make_table, regression, task_of
from tests.tiny import Recorder, tiny_checkpoint
from vsacli.errors import DataError, UsageError
from vsacli.inference.config import InferenceConfig, attributes_together
from vsacli.inference.device import choose_device
from vsacli.inference.order import attribute_groups, attribute_signatures
from vsacli.inference.predict import predict
from vsacli.nn import ClassOutput, TaskBatch

GROUPS = InferenceConfig(device="cpu", attributes_together=(3, 2))
CLASSES = InferenceConfig(device="cpu", classes_together=2)
CONFIGS = pytest.mark.parametrize(
    "config",
    [CPU, SMALL, InferenceConfig(device="cpu", views=3), GROUPS, CLASSES],
    ids=["whole", "chunks", "views", "groups", "classes"],
)


@KINDS
def test_an_answer_for_each_unlabeled_row(kind: str):
    task = task_of(kind)
    answer = predict(tiny_checkpoint(kind), **task, config=CPU)
    n_unlabeled = int((~task["labeled"]).sum())
    assert answer.device == "cpu"
    if kind == "classification":
        assert answer.mean is None
        assert answer.proba is not None
        assert answer.proba.shape == (n_unlabeled, 3)
        np.testing.assert_allclose(answer.proba.sum(1), 1, rtol=1e-5)
    else:
        assert answer.proba is None
        assert answer.mean is not None
        assert answer.std is not None
        assert answer.mean.shape == answer.std.shape == (n_unlabeled,)
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
    out = tiny_checkpoint(kind).model(batch)
    if isinstance(out, ClassOutput):
        expected = out.log_probs[0].exp()
    else:
        expected = torch.stack([out.mean[0, :, 0], out.var[0, :, 0].sqrt()], 1)
    np.testing.assert_allclose(ask(kind, task), expected.numpy(), rtol=2e-4, atol=2e-5)


@KINDS
def test_answers_from_groups_of_attributes_are_averaged(kind: str):
    task = task_of(kind)
    signatures = attribute_signatures(task["x"])
    groups = attribute_groups(signatures, 3, 2, 0)
    assert [len(group) for group in groups] == [2, 2]
    parts = np.stack([ask(kind, {**task, "x": task["x"][:, group]}) for group in groups])
    expected = parts.mean(0)
    if kind == "regression":
        expected[:, 1] = np.sqrt((parts[:, :, 1] ** 2).mean(0) + parts[:, :, 0].var(0))
    np.testing.assert_allclose(ask(kind, task, config=GROUPS), expected, rtol=1e-4, atol=1e-4)
    assert not np.allclose(expected, ask(kind, task), rtol=1e-3)


@KINDS
@CONFIGS
def test_the_order_of_rows_changes_nothing(kind: str, config: InferenceConfig):
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
def test_the_order_of_attributes_changes_nothing(kind: str, config: InferenceConfig):
    task = task_of(kind)
    moved = {**task, "x": task["x"][:, [2, 0, 3, 1]]}
    np.testing.assert_allclose(ask(kind, moved, config=config), ask(kind, task, config=config), rtol=1e-5, atol=1e-6)


@CONFIGS
def test_the_order_of_classes_permutes_the_answer(config: InferenceConfig):
    task = make_table()
    renamed = {**task, "y": np.array([2, 0, 1])[task["y"]]}
    expected = ask("classification", task, config=config)
    np.testing.assert_allclose(
        ask("classification", renamed, config=config)[:, [2, 0, 1]], expected, rtol=1e-4, atol=1e-5
    )


@KINDS
@CONFIGS
def test_identical_rows_get_identical_answers(kind: str, config: InferenceConfig):
    task = task_of(kind)
    twins = np.flatnonzero(~task["labeled"])[[3, 20, 40, 60, 80, 100]]
    task["x"][twins] = task["x"][twins[0]]
    answer = ask(kind, task, config=config)
    positions = np.searchsorted(np.flatnonzero(~task["labeled"]), twins)
    assert (answer[positions] == answer[positions[0]]).all()


@KINDS
def test_the_same_seed_gives_the_same_bytes_and_another_other_chunks(kind: str):
    task = task_of(kind)
    first, again, other = (ask(kind, task, config=replace(SMALL, seed=s)) for s in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)


@KINDS
def test_a_table_in_one_chunk_needs_no_seed(kind: str):
    task = task_of(kind)
    np.testing.assert_allclose(ask(kind, task), ask(kind, task, config=replace(CPU, seed=2)), rtol=1e-4, atol=1e-5)


def test_calibration_is_applied():
    task = make_table()
    plain = predict(Recorder().checkpoint(), **task, config=CPU).proba
    cooled = predict(Recorder().checkpoint(calibration={"temperature": 2.0}), **task, config=CPU).proba
    assert plain is not None
    expected = np.sqrt(plain) / np.sqrt(plain).sum(1, keepdims=True)
    np.testing.assert_allclose(cooled, expected, rtol=1e-3, atol=1e-6)
    task = regression(task)
    plain = predict(Recorder("regression").checkpoint(), **task, config=CPU).std
    wide = predict(Recorder("regression").checkpoint(calibration={"std_factor": 3.0}), **task, config=CPU).std
    assert plain is not None
    np.testing.assert_allclose(wide, 3 * plain, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.5, 1e13, 1e-320, 1.7e308])
def test_equal_targets_are_the_answer(value: float):
    task = regression(make_table())
    recorder = Recorder("regression")
    answer = predict(recorder.checkpoint(), **{**task, "y": np.full(len(task["y"]), value)}, config=CPU)
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
    answer = predict(tiny_checkpoint(), x, labeled, codes[labeled], 25, config=CPU).proba
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


def test_more_classes_than_a_graph_has_landmarks_are_refused():
    with pytest.raises(DataError, match=r"^4,097 classes are more than can be told apart \(4,096\): merge rare"):
        predict(Recorder().checkpoint(), **make_table(4_200, classes=4_097, labeled=0))


@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        ("classification", 10, (192, 128)),
        ("classification", 500, (192, 128)),
        ("regression", 10, (192, 128)),
        ("regression", 20, (300, 200)),
        ("regression", 500, (768, 512)),
    ],
)
def test_how_many_attributes_are_read_together(kind: str, labels: int, expected: tuple[int, int]):
    assert attributes_together(InferenceConfig(), kind, labels) == expected
    assert attributes_together(GROUPS, kind, labels) == (3, 2)


@KINDS
def test_a_wide_table_is_read_in_groups(kind: str):
    task = task_of(kind, n=40, m=200)
    checkpoint = tiny_checkpoint(kind)
    groups = predict(checkpoint, **task, config=InferenceConfig(device="cpu", attributes_together=(192, 128)))
    plain = predict(checkpoint, **task, config=CPU)
    whole = predict(checkpoint, **task, config=InferenceConfig(device="cpu", attributes_together=(200, 128)))
    a, b, c = ((p.proba if kind == "classification" else p.mean) for p in (groups, plain, whole))
    assert a is not None
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
