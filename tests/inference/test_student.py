"""Students of the network: whom they imitate, which rows they may answer, and that order changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.inference_tasks import CPU
from tests.tiny import tiny_checkpoint
from vsacli.inference import predict as predicting
from vsacli.inference.answers import Answers
from vsacli.inference.predict import predict
from vsacli.inference.student import Student, can_be_taught
from vsacli.kinds import TaskKind

FEW = replace(CPU, student_from=500)
ROWS = 2500


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "TAUGHT", 900)
    monkeypatch.setattr(predicting, "CHECKED", 500)


def table(kind: TaskKind) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Two far groups of rows, six of them labeled."""
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    x = (rng.normal(size=(ROWS, 3)) + 6 * y[:, None]).astype(np.float32)
    x[::7, 2] = np.nan
    given = np.arange(ROWS) < 6
    return x, given, y[given] if kind == "classification" else y[given] + 0.1 * np.arange(6), 2


def answered(answers: Answers) -> np.ndarray:
    return answers.proba if answers.proba is not None else np.stack(answers.numbers, 1)


def soft(x: np.ndarray) -> np.ndarray:
    """Probabilities (n, 2) that follow the first attribute."""
    p = 1 / (1 + np.exp(-2 * x[:, 0]))
    return np.stack([1 - p, p], 1)


def test_a_student_answers_where_it_agrees_and_leaves_the_rest():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3)).astype(np.float32)
    student = Student.taught(x, soft(x), classes=True)
    assert student is not None
    new = rng.normal(size=(4000, 3)).astype(np.float32)
    found, kept = student.answer(new)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    agree = found.argmax(1) == soft(new).argmax(1)
    assert agree[kept].mean() > 0.985
    assert 0.5 < kept.mean() <= 1


def test_what_cannot_be_imitated_has_no_student():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3)).astype(np.float32)
    noise = rng.uniform(size=len(x))
    assert Student.taught(x, np.stack([noise, 1 - noise], 1), classes=True) is None
    assert Student.taught(x, np.stack([noise, np.full(len(x), 1e-3)], 1), classes=False) is None


def test_numbers_are_imitated_with_their_deviation():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(4000, 2)).astype(np.float32)
    student = Student.taught(x, np.stack([3 * x[:, 0], 0.1 + x[:, 1] ** 2], 1), classes=False)
    assert student is not None
    found, kept = student.answer(x)
    assert kept.all()
    assert np.sqrt(np.mean((found[:, 0] - 3 * x[:, 0]) ** 2)) < 0.06
    assert np.corrcoef(found[:, 1], x[:, 1] ** 2)[0, 1] > 0.99


def test_many_attributes_or_classes_are_left_to_the_network():
    assert can_be_taught(20, 3)
    assert can_be_taught(20, 0)
    assert not can_be_taught(2000, 3)
    assert not can_be_taught(20, 200)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_order_of_rows_does_not_change_an_answer(kind: TaskKind):
    x, given, y, n_classes = table(kind)
    network = tiny_checkpoint(kind)
    first = predict(network, x, given, y, n_classes, config=FEW)
    assert first.student_rows > 500
    order = np.concatenate([np.arange(6), 6 + np.random.default_rng(1).permutation(ROWS - 6)])
    second = predict(network, x[order], given, y, n_classes, config=FEW)
    np.testing.assert_array_equal(answered(second), answered(first)[order[6:] - 6])
    assert second.student_rows == first.student_rows


def test_proportions_and_best_only_hold_for_the_rows_of_a_student():
    x, given, y, n_classes = table("classification")
    network = tiny_checkpoint()
    full = predict(network, x, given, y, n_classes, config=FEW)
    best = predict(network, x, given, y, n_classes, config=replace(FEW, best_only=True))
    assert best.best is not None
    np.testing.assert_array_equal(best.best[0], full.probabilities.argmax(1))
    assert best.student_rows == full.student_rows > 0


def test_few_rows_have_no_student_and_others_only_if_asked_for():
    x, given, y, n_classes = table("classification")
    network = tiny_checkpoint()
    assert predict(network, x, given, y, n_classes, config=replace(CPU, student_from=5000)).student_rows == 0
    assert predict(network, x, given, y, n_classes, config=replace(CPU, student_from=None)).student_rows == 0
