"""Class proportions that are known: the mean of the answers is as wanted, and nothing else is changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.inference_tasks import CPU, SMALL, make_table
from tests.tiny import tiny_checkpoint
from vsacli.inference.predict import predict
from vsacli.inference.proportions import (
    FLOOR,
    Proportions,
    class_factors,
    left_over,
    match_proportions,
    multiplied,
)
from vsacli.inference.reading import Known


def some_answers(n: int, classes: int, sure: float, seed: int = 0) -> np.ndarray:
    scores = sure * np.random.default_rng(seed).normal(size=(n, classes))
    proba = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (proba / proba.sum(axis=1, keepdims=True)).astype(np.float32)


def by_turns(proba: np.ndarray, wanted: np.ndarray, rounds: int) -> np.ndarray:
    """The same by iterative proportional fitting: classes to their shares and rows to 1, in turn."""
    p = np.maximum(proba.astype(np.float64), FLOOR)
    for _ in range(rounds):
        p *= wanted / p.mean(axis=0)
        p /= p.sum(axis=1, keepdims=True)
    return p


@pytest.mark.parametrize(("n", "classes", "sure"), [(1, 3, 2.0), (40, 2, 1.0), (300, 7, 3.0), (60, 150, 3.0)])
def test_the_mean_is_as_wanted_and_so_is_each_row(n: int, classes: int, sure: float):
    proba = some_answers(n, classes, sure)
    wanted = np.random.default_rng(1).dirichlet(np.ones(classes))
    found = match_proportions(proba, wanted)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(axis=0, dtype=np.float64), wanted, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(found, by_turns(proba, wanted, 3000), atol=1e-4)


def test_certain_rows_give_way_where_nothing_else_can():
    proba = np.zeros((100, 3), np.float32)
    proba[:60, 0], proba[60:, 1] = 1, 1
    found = match_proportions(proba, np.array([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(found.mean(axis=0), [0.2, 0.3, 0.5], atol=1e-5)
    np.testing.assert_array_equal(found[:60], np.broadcast_to(found[0], (60, 3)))


def test_a_class_of_share_0_is_never_answered():
    found = match_proportions(some_answers(50, 4, 3.0), np.array([0.0, 2.0, 1.0, 1.0]))
    assert (found[:, 0] == 0).all()
    np.testing.assert_allclose(found.mean(axis=0), [0, 0.5, 0.25, 0.25], atol=1e-6)
    assert (match_proportions(some_answers(5, 3, 9.0), np.array([0, 0, 7]))[:, 2] == 1).all()


def test_shares_that_answers_have_already_change_nothing():
    proba = some_answers(80, 3, 2.0)
    np.testing.assert_allclose(match_proportions(proba, proba.mean(axis=0)), proba, atol=1e-5)


def test_another_order_of_rows_gives_the_same_factors():
    proba = some_answers(500, 5, 4.0)
    wanted = np.array([0.5, 0.2, 0.1, 0.1, 0.1])
    order = np.random.default_rng(3).permutation(500)
    first, second = class_factors(proba, wanted), class_factors(proba[order], wanted)
    np.testing.assert_allclose(second, first, rtol=1e-6)
    assert first.max() == 1


def test_a_row_that_counts_twice_is_two_rows():
    proba = some_answers(60, 3, 2.0)
    counts = np.random.default_rng(4).integers(1, 4, 60)
    wanted = np.array([0.7, 0.2, 0.1])
    repeated = class_factors(np.repeat(proba, counts, axis=0), wanted)
    np.testing.assert_allclose(class_factors(proba, wanted, counts), repeated, rtol=1e-6)


def test_no_row_gives_factors_all_the_same():
    assert class_factors(np.zeros((0, 2)), np.array([1.0, 0.0])).tolist() == [1, 0]
    assert multiplied(np.zeros((0, 2)), np.array([1.0, 0.5])).shape == (0, 2)


def test_rows_without_a_label_get_what_the_given_labels_leave():
    np.testing.assert_allclose(left_over(np.array([0.9, 0.1]), np.array([5, 5]), 100), [85 / 90, 5 / 90])
    np.testing.assert_allclose(left_over(np.array([0.9, 0.1]), np.array([5, 20]), 100), [1, 0])
    np.testing.assert_allclose(left_over(np.array([0.5, 0.5]), np.array([2, 2]), 4), [0.5, 0.5])


@pytest.mark.parametrize("config", [CPU, SMALL], ids=["whole", "chunks"])
def test_predict_meets_the_proportions_over_all_unlabeled_rows(config):
    task, wanted = make_table(), np.array([0.6, 0.3, 0.1])
    plain = predict(tiny_checkpoint("classification"), **task, config=config)
    found = predict(
        tiny_checkpoint("classification"), **task, config=config, known=Known(proportions=Proportions(wanted))
    )
    assert plain.proba is not None
    assert found.proba is not None
    np.testing.assert_allclose(found.proba.mean(axis=0), wanted, atol=1e-5)
    np.testing.assert_allclose(found.proba, match_proportions(plain.proba, wanted), atol=1e-5)


def test_copies_of_rows_count_each():
    task, wanted = make_table(), np.array([0.6, 0.3, 0.1])
    again = np.flatnonzero(~task["labeled"])[:60]
    x = np.concatenate([task["x"], task["x"][again], task["x"][again]])
    labeled = np.concatenate([task["labeled"], np.zeros(120, bool)])
    more = {**task, "x": x, "labeled": labeled}
    found = predict(
        tiny_checkpoint("classification"), **more, config=SMALL, known=Known(proportions=Proportions(wanted))
    )
    assert found.proba is not None
    np.testing.assert_allclose(found.proba.mean(axis=0), wanted, atol=1e-5)


def test_the_best_class_alone_is_that_of_the_same_probabilities(monkeypatch: pytest.MonkeyPatch):
    """Also where the factors come from a sample: here of the first chunks."""
    monkeypatch.setattr("vsacli.inference.proportions.SAMPLE_CELLS", 3 * 40)
    task, checkpoint = make_table(), tiny_checkpoint("classification")
    known = Proportions(np.array([0.6, 0.3, 0.1]))
    all_of_them = predict(checkpoint, **task, config=SMALL, known=Known(proportions=known))
    best = predict(
        checkpoint,
        **task,
        config=replace(SMALL, best_only=True),
        known=Known(proportions=Proportions(known.wanted)),
    )
    assert all_of_them.proba is not None
    assert best.best is not None
    np.testing.assert_array_equal(best.best[0], all_of_them.proba.argmax(axis=1))
    np.testing.assert_array_equal(best.best[1], all_of_them.proba.max(axis=1))
    assert known.factors is not None
    plain = predict(checkpoint, **task, config=SMALL)
    assert plain.proba is not None
    np.testing.assert_allclose(all_of_them.proba, multiplied(plain.proba, known.factors), atol=1e-6)


def test_factors_of_other_rows_are_taken_as_they_are():
    task, checkpoint = make_table(), tiny_checkpoint("classification")
    factors = np.array([1.0, 0.5, 0.1])
    found = predict(checkpoint, **task, config=CPU, known=Known(proportions=Proportions(np.ones(3) / 3, factors)))
    plain = predict(checkpoint, **task, config=CPU)
    assert plain.proba is not None
    assert found.proba is not None
    expected = plain.proba * factors
    np.testing.assert_allclose(found.proba, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
