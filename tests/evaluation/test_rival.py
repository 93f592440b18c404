"""Another method is named where its lead on the same hidden labels is beyond chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vsacli.evaluation.episodes import make_episode
from vsacli.evaluation.intervals import Interval
from vsacli.evaluation.rival import better_rival, chance_of_lead
from vsacli.evaluation.table_answer import MethodAnswers, TableAnswer


def of_rights(class_table, *rights: np.ndarray) -> TableAnswer:
    """Methods m0, m1, ... whose answers are right in these rows, (repeats, n) each."""
    repeats, n = rights[0].shape
    table = class_table(n=n, n_classes=2)
    rows = np.arange(n)
    answer = TableAnswer(
        table, ["no", "yes"], rows, table.y, repeats, [], [], make_episode(table, rows[:2], rows[2:]), rows
    )
    for i, right in enumerate(rights):
        probs = np.eye(2)[np.where(right, table.y, 1 - table.y)]
        share = float(right.mean())
        answer.methods.append(MethodAnswers(f"m{i}", probs, figures={"accuracy": Interval(share, share, share)}))
    return answer


def first(n: int, right: int) -> np.ndarray:
    """The first rows of n are right, in the one repeat."""
    return (np.arange(n) < right)[None]


def test_a_clear_lead_is_named(class_table) -> None:
    answer = of_rights(class_table, first(100, 60), first(100, 80))
    main, rival = answer.methods
    assert better_rival(answer, main) == "m1 is better on this table: 80% of the hidden labels right."
    assert better_rival(answer, rival) is None


def test_three_answers_about_a_dozen_labels_are_no_lead(class_table) -> None:
    main, rival = np.ones((2, 12), bool), np.ones((2, 12), bool)
    main[0, [0, 3, 7]] = main[1, 5] = rival[0, 5] = False
    answer = of_rights(class_table, main, rival)
    assert better_rival(answer, answer.methods[0]) is None


def test_the_best_of_several_needs_a_larger_lead(class_table) -> None:
    """Six rows to none: one of 64 by chance."""
    main, rival, other = first(40, 30), first(40, 36), first(40, 29)
    alone = of_rights(class_table, main, rival)
    assert chance_of_lead(alone, *alone.methods[::-1]) == pytest.approx(1 / 64, abs=0.005)
    assert better_rival(alone, alone.methods[0]) is not None
    several = of_rights(class_table, main, rival, other, other, other)
    assert better_rival(several, several.methods[0]) is None


def test_rows_count_as_the_known_shares_ask(class_table) -> None:
    answer = of_rights(class_table, first(100, 60), first(100, 80))
    ignored = replace(answer, counted=np.concatenate([np.arange(60), np.arange(80, 100)]))
    assert chance_of_lead(ignored, *answer.methods[::-1]) == 1.0


def test_numbers_are_compared_by_their_squared_errors(number_table) -> None:
    table, rng = number_table(n=60), np.random.default_rng(0)
    rows = np.arange(60)
    example = make_episode(table, rows[:2], rows[2:])
    noise = rng.normal(size=(2, 60))
    methods = [
        MethodAnswers(name, mean=table.y + by * noise, figures={"r2": Interval(r2, r2, r2)})
        for name, by, r2 in (("vsa", 2.0, 0.5), ("ridge", 1.0, 0.87))
    ]
    answer = TableAnswer(table, [], rows, table.y, 2, methods, [], example, rows)
    assert better_rival(answer, methods[0]) == "ridge is better on this table: 87% of the variance explained."
    methods[0].figures["r2"] = Interval(0.8695, 0.8, 0.9)
    assert better_rival(answer, methods[0]) is None  # both explain 87%
    methods[0].figures["r2"] = Interval(0.5, 0.5, 0.5)
    methods[1].figures["r2"] = Interval(-0.05, -0.3, 0.2)
    assert better_rival(answer, methods[0]) is None
    methods[1].figures["r2"] = Interval(0.87, 0.8, 0.9)
    methods[1].mean = table.y + 2.0 * rng.permuted(noise, axis=1)
    assert better_rival(answer, methods[0]) is None


def test_methods_that_are_equally_good_are_seldom_named(class_table) -> None:
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(60):
        answer = of_rights(class_table, *(rng.random((1, 40)) < 0.7 for _ in range(4)))
        named += better_rival(answer, answer.methods[0]) is not None
    assert named <= 6  # 3 are expected at most; more than 6 have a chance of 3%
