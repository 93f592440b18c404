"""Students of the network: whom they imitate, which rows they may answer, and that order changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.inference_tasks import CPU
from tests.tiny import tiny_checkpoint
from vsacli.inference import predict as predicting
from vsacli.inference import student as teaching
from vsacli.inference.answers import Answers
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.inference.student import Student, student_pays
from vsacli.inference.student_input import StudentInput
from vsacli.kinds import TaskKind

FEW = replace(CPU, student_from=500)
ROWS = 2500


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (predicting, teaching):
        monkeypatch.setattr(module, "TAUGHT", 900)
        monkeypatch.setattr(module, "CHECKED", 500)


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


def test_a_student_of_a_network_that_is_sure_of_itself_answers_every_row():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 3)).astype(np.float32)
    student = Student.taught(x, soft(x), soft(x[4000:]), classes=True)
    assert student is not None
    new = rng.normal(size=(4000, 3)).astype(np.float32)
    found, kept = student.answer(new)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    assert np.mean(found.argmax(1) == soft(new).argmax(1)) > 0.98
    assert kept.all()


def test_rows_on_which_it_does_not_agree_are_left_to_the_network():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 3)).astype(np.float32)
    answers = soft(x)
    doubtful = np.abs(x[:, 0]) < 1
    answers[doubtful] = rng.dirichlet((9, 9), len(x))[doubtful]  # which the attributes do not tell
    student = Student.taught(x, answers, answers[4000:], classes=True)
    assert student is not None
    found, kept = student.answer(x)
    assert kept[~doubtful].mean() > 0.5
    assert kept[doubtful].mean() < 0.2
    assert np.mean(found.argmax(1) == answers.argmax(1), where=kept) > 0.97


def test_a_network_that_disagrees_with_itself_is_imitated_as_well_as_it_can_be():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 3)).astype(np.float32)
    answers, again = (np.clip(soft(x) + rng.normal(size=(6000, 1)) * [[0.2, -0.2]], 0.01, 0.99) for _ in range(2))
    assert np.mean(answers.argmax(1) == again.argmax(1)) < 0.95
    student = Student.taught(x, answers, again[4000:], classes=True)
    assert student is not None
    assert student.answer(x)[1].all()


def test_what_cannot_be_imitated_has_no_student():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3)).astype(np.float32)
    noise = rng.uniform(size=len(x))
    for classes, other in ((True, 1 - noise), (False, np.full(len(x), 1e-3))):
        answers = np.stack([noise, other], 1)
        assert Student.taught(x, answers, answers[1500:], classes) is None


def test_numbers_are_imitated_with_their_deviation():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(6000, 2)).astype(np.float32)
    answers = np.stack([100 + 30 * x[:, 0], 30 + 60 * x[:, 1] ** 2], 1)
    student = Student.taught(x, answers, answers[5000:], classes=False)
    assert student is not None
    found, kept = student.answer(x)
    assert kept.all()
    assert np.sqrt(np.mean((found[:, 0] - answers[:, 0]) ** 2)) < 1
    assert np.corrcoef(found[:, 1], x[:, 1] ** 2)[0, 1] > 0.99


def test_inputs_are_scaled_and_say_what_is_missing():
    x = np.array([[1, 5, 1e30], [2, np.nan, 1e30], [3, 5, 1e30], [4, 5, 1e30]], np.float32)
    inputs = StudentInput.of(x)
    assert inputs.used.tolist() == [0, 1]  # the third is constant; that the second is missing may tell
    found = inputs(np.array([[2.5, np.nan, np.nan], [1e30, 7, 0]], np.float32))
    np.testing.assert_allclose(found[0], [0, 0, 0, 0, 0], atol=1e-6)
    assert found[1, 0] == pytest.approx(5, abs=0.01)  # far out, and no more
    assert found[1, 2] == pytest.approx(3**0.5)
    assert found[1, 4] == 1


def test_many_attributes_or_classes_and_few_rows_are_left_to_the_network():
    assert student_pays(65_536, 100_000, 20, 3)
    assert student_pays(65_536, 100_000, 20, 0)
    assert not student_pays(None, 100_000, 20, 3)
    assert not student_pays(65_536, 65_000, 20, 3)
    assert not student_pays(65_536, 100_000, 2000, 3)
    assert not student_pays(65_536, 100_000, 20, 200)


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


def test_few_rows_have_no_student():
    x, given, y, n_classes = table("classification")
    network = tiny_checkpoint()
    assert predict(network, x, given, y, n_classes, config=replace(CPU, student_from=5000)).student_rows == 0
    assert predict(network, x, given, y, n_classes, config=replace(CPU, student_from=None)).student_rows == 0


@pytest.mark.parametrize(("rows", "config", "expected"), [(ROWS, FEW, 2), (ROWS, CPU, 1), (200, CPU, 0)])
def test_free_memory_goes_back_before_and_behind_the_passes(
    rows: int, config: InferenceConfig, expected: int, monkeypatch: pytest.MonkeyPatch
):
    """Else the largest sizes of several steps add up to the most that a run takes. A small table is spared the call."""
    done: list[bool] = []
    monkeypatch.setattr(predicting, "give_back_free_memory", lambda: done.append(True))
    x, given, y, n_classes = table("classification")
    predict(tiny_checkpoint(), x[:rows], given[:rows], y, n_classes, config=config)
    assert len(done) == expected
