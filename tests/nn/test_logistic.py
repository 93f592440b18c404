"""Logistic regression of several strengths against scikit-learn, which solves one problem at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from vsacli.nn import logistic
from vsacli.nn.logistic import FOLDS, Logistic

CLASSES, ATTRIBUTES = 3, 4


@pytest.fixture
def long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic, "STEPS", 2000)
    monkeypatch.setattr(logistic, "SETTLED", 1e-9)


def task(rows: int = 24, attributes: int = ATTRIBUTES, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labeled rows, their classes, other rows."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, attributes))
    y = (z @ rng.normal(size=(attributes, CLASSES)) + rng.gumbel(size=(rows, CLASSES))).argmax(1)
    y[: 2 * CLASSES] = np.arange(2 * CLASSES) % CLASSES
    return z, y, rng.normal(size=(10, attributes))


def learned(z: np.ndarray, y: np.ndarray) -> Logistic:
    return Logistic.of(torch.from_numpy(z), torch.from_numpy(y), CLASSES, torch.ones(len(y), dtype=torch.float64))


def reference(z: np.ndarray, y: np.ndarray, at: np.ndarray, strength: float) -> np.ndarray:
    model = LogisticRegression(C=strength, max_iter=10_000, tol=1e-9).fit(z, y)
    found = np.zeros((len(at), CLASSES))
    found[:, model.classes_] = model.predict_proba(at)
    return found


@pytest.mark.parametrize("attributes", [ATTRIBUTES, 40], ids=["few attributes", "more than rows"])
@pytest.mark.parametrize("strength", [0.1, 2.0])
def test_one_strength_is_what_scikit_learn_finds(
    strength: float, attributes: int, monkeypatch: pytest.MonkeyPatch, long_enough: None
) -> None:
    monkeypatch.setattr(logistic, "STRENGTHS", (strength,))
    z, y, others = task(attributes=attributes)
    found = learned(z, y)
    np.testing.assert_allclose(found.answers(torch.from_numpy(others)), reference(z, y, others, strength), atol=1e-4)
    turn = np.array([np.sum(y[:i] == y[i]) for i in range(len(y))]) % FOLDS
    for fold in range(FOLDS):
        out = turn == fold
        np.testing.assert_allclose(found.left_out[out], reference(z[~out], y[~out], z[out], strength), atol=1e-4)


def test_strengths_are_averaged_by_labels_left_out(long_enough: None) -> None:
    z, y, others = task(60)
    found = learned(z, y)
    each = [reference(z, y, others, strength) for strength in logistic.STRENGTHS]
    np.testing.assert_allclose(
        found.answers(torch.from_numpy(others)), np.average(each, 0, found.shares.numpy()), atol=1e-3
    )
    assert found.shares.argmax() not in (0, len(each) - 1)  # neither shrunk to nothing nor fitted to every label


def test_steps_suffice_for_the_strengths_that_are_chosen() -> None:
    z, y, others = task(60)
    found = learned(z, y)
    each = [reference(z, y, others, strength) for strength in logistic.STRENGTHS]
    np.testing.assert_allclose(
        found.answers(torch.from_numpy(others)), np.average(each, 0, found.shares.numpy()), atol=0.01
    )


def test_other_orders_of_attributes_give_the_same_answers() -> None:
    z, y, others = task()
    order = np.random.default_rng(1).permutation(ATTRIBUTES)
    np.testing.assert_allclose(
        learned(z, y).answers(torch.from_numpy(others)),
        learned(z[:, order], y).answers(torch.from_numpy(others[:, order])),
        atol=1e-9,
    )


def test_equal_rows_are_left_out_together() -> None:
    """A row says nothing of what its copy would be answered without it: labels by chance stay hard to tell."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(12, 8)), rng.permutation(12) % CLASSES
    twice = np.concatenate([z, z])
    found = learned(twice, np.concatenate([y, y])).left_out.numpy()
    np.testing.assert_allclose(found[:12], found[12:], atol=1e-9)
    assert -np.log(found[np.arange(12), y]).mean() > 0.9 * np.log(CLASSES)
