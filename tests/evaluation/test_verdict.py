"""The sentence says what the figures say."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.evaluation.episodes import make_episode
from vsacli.evaluation.intervals import Interval, wilson
from vsacli.evaluation.metrics import certain_half_accuracy
from vsacli.evaluation.table_answer import CurvePoint, MethodAnswers, TableAnswer
from vsacli.evaluation.verdict import Verdict, confusion, growth, suspicious_rows, threshold, verdict


def answered(class_table, confidence: np.ndarray, right: np.ndarray) -> tuple[TableAnswer, MethodAnswers]:
    """Two classes of equal size, answered with these confidences, rightly or not."""
    n = len(right)
    table = class_table(n=n, n_classes=2)
    guess = np.where(right, table.y, 1 - table.y)
    probs = np.empty((1, n, 2))
    probs[0, np.arange(n), guess] = confidence
    probs[0, np.arange(n), 1 - guess] = 1 - confidence
    half = certain_half_accuracy(table.y, probs[0])
    figures = {"accuracy": wilson(float(right.mean()), n), "certain_half_accuracy": wilson(half, n // 2)}
    method = MethodAnswers("m", probs=probs, figures=figures)
    rows = np.arange(n)
    example = make_episode(table, rows[:2], rows[2:])
    return TableAnswer(table, ["no", "yes"], rows, table.y, 1, [method], [], example, np.arange(len(rows))), method


def test_sure_and_right(class_table) -> None:
    answer, method = answered(class_table, np.full(100, 0.9), np.arange(100) >= 2)
    said = verdict(answer, method)
    assert said.text == "Yes: about 98% of the labels should be right (95% interval 93-99%)."
    assert said.step == "label"


def test_no_better_than_the_common_class(class_table) -> None:
    answer, method = answered(class_table, np.full(100, 0.9), np.arange(100) % 20 < 11)
    said = verdict(answer, method)
    assert said.text.startswith("No: 55% of the hidden labels came out right (95% interval 45-64%)")
    assert "not clearly better than a guess: always answering 'no' gets 50%" in said.text
    assert said.step == "label more"
    answer, method = answered(class_table, np.full(100, 0.9), np.arange(100) % 20 < 5)
    assert "worse than a guess" in verdict(answer, method).text


def test_few_labels_do_not_discourage(class_table) -> None:
    """45% of ten is as likely from a method that is right on 70%."""
    answer, method = answered(class_table, np.full(20, 0.9), np.arange(20) % 20 < 9)
    assert verdict(answer, method).text.startswith("Too early to say: 45% of the hidden labels came out right")
    answer, method = answered(class_table, np.full(6, 0.9), np.ones(6, bool))
    assert verdict(answer, method).text.startswith("Too early to say: 6 hidden labels are too few to judge by; 100%")


def test_confidence_tells_which_to_keep(class_table) -> None:
    sure = np.arange(100) < 60
    answer, method = answered(class_table, np.where(sure, 0.85, 0.55), sure | (np.arange(100) % 2 == 0))
    said = verdict(answer, method)
    assert said.text.startswith("In part: about 80%")
    assert "--min-confidence 0.6: 60% of the rows, where 100% of the hidden labels came out right" in said.text
    found = threshold(answer, method)
    assert found is not None
    assert (found.confidence, found.share, found.accuracy) == (0.6, 0.6, 1.0)
    assert said.threshold == found
    assert said.step == "keep certain"


def test_confidence_that_tells_nothing(class_table) -> None:
    answer, method = answered(class_table, np.full(100, 0.99), np.arange(100) % 5 > 0)
    assert threshold(answer, method) is None
    assert "no --min-confidence clearly leaves labels that are right 95% of the time" in verdict(answer, method).text


@pytest.mark.parametrize("n", [10, 14, 18, 24, 40])
def test_a_right_half_is_never_denied(class_table, n: int) -> None:
    """The surest half of the table is right throughout, so nothing else may be said of the confidence."""
    rows = np.arange(n)
    answer, method = answered(class_table, 0.99 - 0.01 * rows, (rows < n // 2) | (rows % 2 == 0))
    assert method.figures["certain_half_accuracy"].value == 1.0
    text = verdict(answer, method).text
    if "--min-confidence 0" not in text and not text.startswith("Too early to say"):
        assert f"Of the more confident half 100% came out right, but {n} hidden labels are too few" in text
    assert "no --min-confidence" not in text


def test_a_method_that_failed(class_table) -> None:
    answer, method = answered(class_table, np.full(6, 0.9), np.ones(6, bool))
    method.error = "RuntimeError: no"
    assert verdict(answer, method) == Verdict("No answer: m failed (RuntimeError: no).", None)


def test_contradicted_labels_the_surest_first(class_table) -> None:
    confidence = np.full(20, 0.95)
    confidence[[3, 7, 9]] = [0.8, 0.99, 0.6]
    right = ~np.isin(np.arange(20), [3, 7, 9])
    answer, method = answered(class_table, confidence, right)
    assert [(w.row, w.confidence) for w in suspicious_rows(answer, method)] == [
        (7, pytest.approx(0.99)),
        (3, pytest.approx(0.8)),
    ]
    assert confusion(answer, method).tolist() == [[10, 0], [3, 7]]


def test_numbers(number_table) -> None:
    table = number_table(n=50)
    rows, y = np.arange(50), table.y.astype(np.float64)
    error = np.where(rows % 2, 0.5, -0.5)
    error[4] = 9.0
    method = MethodAnswers("m", mean=(y + error)[None], std=np.full((1, 50), 1.0))
    answer = TableAnswer(
        table, [], rows, y, 1, [method], [], make_episode(table, rows[:5], rows[5:]), np.arange(len(rows))
    )
    method.figures = {"r2": Interval(0.93, 0.91, 0.95), "coverage90": Interval(0.98, 0.9, 1.0)}
    assert verdict(answer, method).text == (
        "Yes: half of the hidden numbers came out within 0.5 of the truth; the answers explain 93% of their variance "
        "(95% interval 91-95%)."
    )
    method.figures = {"r2": Interval(0.7, 0.5, 0.8), "coverage90": Interval(0.5, 0.4, 0.6)}
    said = verdict(answer, method)
    assert said.text.startswith("Yes, roughly")
    assert "deviations are too small" in said.text
    assert said.step == "label"
    method.figures["r2"] = Interval(0.05, -0.1, 0.2)
    assert verdict(answer, method).text.startswith("No: ")
    assert verdict(answer, method).step == "label more"
    (wrong,) = suspicious_rows(answer, method)
    assert (wrong.row, wrong.given, wrong.confidence) == (4, pytest.approx(y[4]), pytest.approx(9.0))


def test_growth_goes_on_from_the_last_point() -> None:
    sizes = [10, 20, 40]
    curve = [CurvePoint(s, s, Interval(1 - 2.0 / s, 0, 1)) for s in sizes]
    found = growth(MethodAnswers("m", curve=curve), classification=True)
    assert found == [(80, pytest.approx(1 - 2 / 80)), (200, pytest.approx(1 - 2 / 200))]
    flat = [CurvePoint(s, s, Interval(0.7, 0, 1)) for s in sizes]
    assert growth(MethodAnswers("m", curve=flat), classification=True) == []
