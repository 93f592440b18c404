"""Intervals of one table's figures: each holds its figure, and equal figures have equal ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from vsacli.evaluation.run import MethodSpec
from vsacli.evaluation.table import evaluate_table
from vsacli.evaluation.table_answer import TableQuestion

SHARES = ("accuracy", "balanced_accuracy", "certain_half_accuracy")


def some_labels(table, every: int):
    labeled = np.arange(len(table.y)) % every == 0
    y = table.y.copy()
    y[~labeled] = -1 if table.kind == "classification" else np.nan
    return type(table)(**{**table.__dict__, "y": y})


def test_shares_have_wilsons_interval(class_table) -> None:
    table = some_labels(class_table(n=120, n_classes=2), 3)  # 20 labels of each class
    methods = tuple(MethodSpec.of(m, f"{m}{i}") for i in range(2) for m in ("centroid", "knn", "prior"))
    answer = evaluate_table(table, ["a", "b"], TableQuestion(methods))
    seen: dict[tuple[str, float], tuple[float, float]] = {}
    for method in answer.methods:
        for name in SHARES:
            figure = method.figures[name]
            assert figure.low <= figure.value <= figure.high
            assert seen.setdefault((name, figure.value), (figure.low, figure.high)) == (figure.low, figure.high)
        accuracy = method.figures["accuracy"]
        right = round(accuracy.value * 40)
        if accuracy.value == right / 40:
            expected = binomtest(right, 40).proportion_ci(method="wilson")
            assert (accuracy.low, accuracy.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
        # Classes of one size: the mean of the recalls is the accuracy, and known as well.
        balanced = method.figures["balanced_accuracy"]
        assert balanced.value == pytest.approx(accuracy.value)
        assert (balanced.low, balanced.high) == (pytest.approx(accuracy.low), pytest.approx(accuracy.high))
        half = method.figures["certain_half_accuracy"]
        assert half.high - half.low > accuracy.high - accuracy.low or half.value > accuracy.value


def test_a_rare_class_widens_the_interval_of_the_balanced_accuracy(class_table) -> None:
    y = np.r_[np.zeros(36, np.int64), np.ones(4, np.int64)]
    table = class_table(n=40, n_classes=2, y=y)
    (method,) = evaluate_table(table, ["a", "b"], TableQuestion((MethodSpec.of("prior"),))).methods
    accuracy, balanced = method.figures["accuracy"], method.figures["balanced_accuracy"]
    assert (accuracy.value, balanced.value) == (0.9, 0.5)
    # The mean of two recalls, from 36 and 4 rows, varies as the share of 4 / (1/36 + 1/4) = 14.4 rows.
    assert balanced.half == pytest.approx(0.2295, abs=0.001)


def test_numbers_have_intervals_that_hold_them(number_table) -> None:
    methods = tuple(MethodSpec.of(m) for m in ("ridge", "knn", "prior"))
    answer = evaluate_table(some_labels(number_table(n=90), 3), [], TableQuestion(methods))
    for method in answer.methods:
        for name in ("mse", "r2", "coverage90"):
            figure = method.figures[name]
            assert figure.low <= figure.value <= figure.high
    ridge, _, prior = answer.methods
    assert ridge.typical_error(answer.answer) < 2 < prior.typical_error(answer.answer)


def test_a_first_answer_asks_less_and_the_thorough_one_more(class_table) -> None:
    table = some_labels(class_table(n=120, n_classes=2), 3)
    methods = (MethodSpec.of("centroid"), MethodSpec.of("prior"))
    told: list[tuple[int, float]] = []
    quick = evaluate_table(table, ["a", "b"], TableQuestion(methods), estimated=lambda *found: told.append(found))
    plain = evaluate_table(table, ["a", "b"], TableQuestion(methods))
    thorough = evaluate_table(table, ["a", "b"], TableQuestion(methods, thorough=True))
    assert (quick.repeats, thorough.repeats) == (2, 4)
    assert len(quick.records) == 2 * 10 < len(thorough.records)
    assert [len(m.curve) for m in quick.methods] == [1, 1]
    assert len(thorough.methods[0].curve) > 3
    # What was asked for the estimate is not asked again, and changes no figure.
    assert [rounds for rounds, _ in told] == [10]
    assert told[0][1] > 0
    assert [m.figures for m in quick.methods] == [m.figures for m in plain.methods]
