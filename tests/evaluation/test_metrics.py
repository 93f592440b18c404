"""Every figure against scikit-learn or a value worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics as reference
from scipy.stats import norm

from vsacli.evaluation.metrics import (
    CLASSIFICATION_METRICS,
    REGRESSION_METRICS,
    auc,
    balanced_accuracy,
    calibration_error,
    certain_half_accuracy,
    classification_metrics,
    confidence_bins,
    log_loss,
    macro_f1,
    regression_metrics,
)


def drawn(seed: int, n: int = 60, n_classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    answer = rng.integers(n_classes, size=n)
    scores = rng.standard_normal((n, n_classes)) + 1.5 * np.eye(n_classes)[answer]
    probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return answer, np.round(probs * 20) / 20 if seed % 2 else probs  # odd seeds have ties


@pytest.mark.parametrize("seed", range(6))
def test_against_scikit_learn(seed: int) -> None:
    answer, probs = drawn(seed)
    guess = probs.argmax(axis=1)
    assert balanced_accuracy(answer, guess) == pytest.approx(reference.balanced_accuracy_score(answer, guess))
    assert macro_f1(answer, guess) == pytest.approx(reference.f1_score(answer, guess, average="macro"))
    each = [reference.roc_auc_score(answer == c, probs[:, c]) for c in range(4)]
    assert auc(answer, probs) == pytest.approx(np.mean(each))
    if seed % 2 == 0:
        assert log_loss(answer, probs) == pytest.approx(reference.log_loss(answer, probs))


def test_guess_of_a_class_that_does_not_occur() -> None:
    answer, guess = np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1])
    assert balanced_accuracy(answer, guess) == 0.75
    # F1 is 2/3, 1 and, for class 2 that is never right, 0
    assert macro_f1(answer, guess) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_auc_of_one_class_is_not_defined() -> None:
    assert np.isnan(auc(np.array([1, 1]), np.array([[0.3, 0.7], [0.4, 0.6]])))


def test_log_loss_of_a_sure_mistake_is_bounded() -> None:
    assert log_loss(np.array([1]), np.array([[1.0, 0.0]])) == pytest.approx(-np.log(1e-6))


def test_calibration_error_by_hand() -> None:
    """Bin (0.5, 0.6] holds two rows, one right; bin (0.9, 1] holds two rows, both right."""
    probs = np.array([[0.6, 0.4], [0.42, 0.58], [0.95, 0.05], [1.0, 0.0]])
    answer = np.array([0, 0, 0, 0])
    assert calibration_error(answer, probs) == pytest.approx(0.5 * abs(0.5 - 0.59) + 0.5 * abs(1 - 0.975))
    bins = confidence_bins(answer, probs)
    assert [b for b in bins if b[0]] == [(2, 1, pytest.approx(1.18)), (2, 2, pytest.approx(1.95))]


def test_calibration_error_of_honest_and_boastful_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1.0, 20000)
    answer = (rng.random(20000) > p).astype(int)
    honest = np.stack([p, 1 - p], axis=1)
    assert calibration_error(answer, honest) < 0.02
    boastful = np.stack([np.full(20000, 0.999), np.full(20000, 0.001)], axis=1)
    assert calibration_error(answer, boastful) == pytest.approx(0.999 - np.mean(p), abs=0.02)


def test_accuracy_of_the_certain_half() -> None:
    probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.45, 0.55]])
    assert certain_half_accuracy(np.array([0, 1, 0, 0]), probs) == 0.5
    # three rows tie for the two places, two of them are right
    tied = np.array([[0.7, 0.3]] * 3 + [[0.6, 0.4]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        assert certain_half_accuracy(np.array([0, 1, 0, 1])[[*order, 3]], tied) == pytest.approx(2 / 3)


def test_regression_figures() -> None:
    rng = np.random.default_rng(0)
    answer, mean = rng.standard_normal(50), rng.standard_normal(50)
    found = regression_metrics(answer, mean, np.ones(50), scale=3.0)
    assert found["mse"] == pytest.approx(9 * reference.mean_squared_error(answer, mean))
    assert found["r2"] == pytest.approx(reference.r2_score(answer, mean))
    inside = np.abs(answer - mean) <= norm.ppf(0.95)
    assert found["coverage90"] == pytest.approx(inside.mean())


def test_coverage_of_the_true_deviation_is_ninety_percent() -> None:
    answer = np.random.default_rng(1).normal(0, 2.0, 20000)
    found = regression_metrics(answer, np.zeros(20000), np.full(20000, 2.0))
    assert found["coverage90"] == pytest.approx(0.9, abs=0.01)


def test_constant_answer_has_no_r2() -> None:
    found = regression_metrics(np.ones(4), np.zeros(4), np.ones(4))
    assert np.isnan(found["r2"])
    assert found["mse"] == 1.0


def test_names_of_the_figures() -> None:
    answer, probs = drawn(0)
    assert tuple(classification_metrics(answer, probs)) == CLASSIFICATION_METRICS
    assert tuple(regression_metrics(np.arange(3.0), np.ones(3), np.ones(3))) == REGRESSION_METRICS
