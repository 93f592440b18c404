"""Means, errors, tests, ranks and wins on records whose results are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from vsacli.evaluation.metrics import confidence_bins
from vsacli.evaluation.run import Record
from vsacli.evaluation.statistics import (
    family_values,
    lead,
    mean_ranks,
    paired_t_test,
    pooled_confidence,
    summarize,
    win_tie_loss,
)


def record(
    table: str, method: str, value: float | None, *, family: str = "", episode: int = 0, shot: int = 1
) -> Record:
    return Record(
        table=table,
        family=family or table,
        kind="classification",
        method=method,
        shot=shot,
        episode=episode,
        n_labeled=2,
        n_unlabeled=2,
        n_attributes=2,
        n_classes=2,
        seconds=0.5,
        metrics={} if value is None else {"accuracy": value, "log_loss": 1 - value},
        error="failed" if value is None else None,
    )


def test_families_weigh_the_same() -> None:
    records = [
        record("a1", "m", 0.2, family="a"),
        record("a1", "m", 0.4, family="a", episode=1),
        record("a2", "m", 0.5, family="a"),
        record("b", "m", 0.8),
    ]
    (line,) = summarize(records, "accuracy")
    # a1 is 0.3, a is (0.3 + 0.5) / 2 = 0.4, the mean of 0.4 and 0.8 is 0.6
    assert line.mean == pytest.approx(0.6)
    assert line.stderr == pytest.approx(np.std([0.4, 0.8], ddof=1) / np.sqrt(2))
    assert (line.n_families, line.n_tables, line.n_episodes, line.failed) == (2, 3, 4, 0)
    assert line.bold


def test_methods_are_compared_on_episodes_that_both_answered() -> None:
    records = [
        record("a", "m", 0.9),
        record("a", "n", 0.5),
        record("b", "m", 0.1),
        record("b", "n", None),
        record("b", "m", 0.6, episode=1),
        record("b", "n", 0.7, episode=1),
        record("a", "broken", None),
    ]
    names, families, values = family_values(records, "accuracy", 1)
    assert (names, families) == (["m", "n"], ["a", "b"])
    np.testing.assert_allclose(values, [[0.9, 0.6], [0.5, 0.7]])
    lines = {s.method: s for s in summarize(records, "accuracy")}
    assert lines["n"].failed == 1
    assert lines["broken"].failed == 1
    assert np.isnan(lines["broken"].mean)
    assert not lines["broken"].bold


def test_paired_t_test_against_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(12), rng.random(12)
    assert paired_t_test(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_t_test(a, a) == 1.0
    assert paired_t_test(a, a + 0.5) == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(paired_t_test(a[:1], b[:1]))


def test_bold_is_what_the_test_cannot_tell_from_the_best() -> None:
    rng = np.random.default_rng(1)
    base = rng.uniform(0.4, 0.6, 30)
    records = []
    for i, v in enumerate(base):
        records += [record(f"t{i}", "best", v), record(f"t{i}", "near", v - 0.002 + 0.05 * rng.standard_normal())]
        records.append(record(f"t{i}", "far", v - 0.1 + 0.05 * rng.standard_normal()))
    lines = {s.method: s for s in summarize(records, "accuracy")}
    assert lines["best"].mean > lines["near"].mean
    assert (lines["best"].bold, lines["near"].bold, lines["far"].bold) == (True, True, False)
    assert lines["far"].p_value < 0.05 < lines["near"].p_value
    # the same with a figure of which less is better
    lower = {s.method: s for s in summarize(records, "log_loss")}
    assert (lower["best"].bold, lower["near"].bold, lower["far"].bold) == (True, True, False)
    assert lower["best"].rank < lower["far"].rank


def test_ranks_against_scipy() -> None:
    values = np.round(np.random.default_rng(2).random((4, 9)), 1)
    expected = np.mean([stats.rankdata(-column) for column in values.T], axis=0)
    np.testing.assert_allclose(mean_ranks(values, "accuracy"), expected)
    np.testing.assert_allclose(mean_ranks(values, "log_loss"), 5 - expected)


def test_wins_ties_and_losses() -> None:
    records = []
    for table, ours, theirs in (("a", 0.9, 0.8), ("b", 0.5, 0.5), ("c", 0.1, 0.2), ("d", 0.7, 0.6)):
        records += [record(table, "ours", ours), record(table, "theirs", theirs)]
    (line,) = win_tie_loss(records, "accuracy", 1, "ours")
    assert (line.rival, line.wins, line.ties, line.losses) == ("theirs", 2, 1, 1)
    (other,) = win_tie_loss(records, "log_loss", 1, "theirs")
    assert (other.wins, other.ties, other.losses) == (1, 1, 2)
    assert win_tie_loss(records, "accuracy", 1, "absent") == []


def test_shots_stay_apart() -> None:
    records = [record("a", "m", 0.2, shot=1), record("a", "m", 0.9, shot=5)]
    assert [(s.shot, s.mean) for s in summarize(records, "accuracy")] == [(1, 0.2), (5, 0.9)]


def confident(family: str, confidence: list[float], right: list[bool]) -> Record:
    probs = np.array([[c, 1 - c] for c in confidence])
    answer = np.array([0 if r else 1 for r in right])
    return replace(record(family, "m", 0.5, family=family), bins=confidence_bins(answer, probs))


def test_pooled_confidence_of_one_family_is_that_of_its_rows() -> None:
    # Two episodes of four rows: each alone is off by 0.25 or more, together 3 of 4 at 0.75 are right.
    one = confident("a", [0.75] * 4, [True, True, True, True])
    two = confident("a", [0.75] * 4, [True, True, False, False])
    (line,) = pooled_confidence([one, replace(two, episode=1)])
    assert line.method == "m"
    assert line.confidence == pytest.approx(0.75)
    assert line.accuracy == pytest.approx(0.75)
    assert line.calibration_error == pytest.approx(0.0, abs=1e-9)
    assert line.surest_half == pytest.approx(0.75)


def test_the_surest_half_takes_surer_bins_first_and_the_last_one_in_part() -> None:
    sure, unsure = [0.95] * 2, [0.65] * 6
    (line,) = pooled_confidence([confident("a", sure + unsure, [True, True] + [True, False, False] * 2)])
    # Half of eight rows: the two sure ones, and two of six that are right one time in three.
    assert line.surest_half == pytest.approx((2 + 2 / 3) / 4)
    assert line.calibration_error == pytest.approx((2 * 0.05 + 6 * (0.65 - 1 / 3)) / 8)


def test_pooled_confidence_weighs_families_the_same_and_leaves_failures_out() -> None:
    big = confident("a", [0.8] * 20, [True] * 20)
    small = confident("b", [0.8] * 2, [False] * 2)
    (line,) = pooled_confidence([big, small, record("c", "m", None), record("d", "bare", 0.5)])
    assert line.accuracy == pytest.approx(0.5)


def test_the_lead_is_paired_with_the_rival_of_the_best_mean() -> None:
    values = {"m": [0.9, 0.6, 0.4], "strong": [0.8, 0.6, 0.3], "uneven": [1.0, 0.1, 0.1]}
    records = [record(t, m, v) for m, vs in values.items() for t, v in zip("abc", vs, strict=True)]
    found = lead(records, "accuracy", 1, "m")
    assert found is not None
    assert (found.rival, found.mean) == ("strong", pytest.approx(0.2 / 3))
    assert found.stderr == pytest.approx(stats.sem([0.1, 0.0, 0.1]))
    # the loss is one minus the accuracy here: less is better, and the lead the same
    lower = lead(records, "log_loss", 1, "m")
    assert lower is not None
    assert (lower.rival, lower.mean) == ("strong", pytest.approx(0.2 / 3))
    behind = lead(records, "accuracy", 1, "uneven")
    assert behind is not None
    assert (behind.rival, behind.mean) == ("m", pytest.approx(-0.7 / 3))


def test_no_lead_without_a_rival() -> None:
    assert lead([record("a", "m", 0.9)], "accuracy", 1, "m") is None
    assert lead([record("a", "m", 0.9), record("a", "n", None)], "accuracy", 1, "m") is None
    assert lead([record("a", "n", 0.9), record("a", "o", 0.9)], "accuracy", 1, "m") is None
