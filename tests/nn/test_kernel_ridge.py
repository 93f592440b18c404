"""Kernel ridge answers against scikit-learn, refitted without each labeled row in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.preprocessing import KernelCenterer

from tests.nn.tasks import batch_of, episode
from vsacli.attributes.scaling import LIMIT, RobustScale
from vsacli.nn import kernel_ridge, ridge
from vsacli.nn.batch import TaskBatch
from vsacli.nn.kernel_ridge import (
    ALL,
    BEYOND,
    CAUTION,
    FEW,
    FLOOR,
    MODELS,
    MORE_CHANNELS,
    MORE_MODELS,
    NOT_FAR,
    VERY_FAR,
    WEIGHTED,
    kernel_ridge_answers,
)
from vsacli.nn.scales import SOFT_LIMIT, VALUE_LIMIT, unlimited
from vsacli.tasks.episode import Episode

LABELED, UNLABELED, ATTRIBUTES = 9, 6, 3


@pytest.fixture
def one_of_each(monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """One ridge, one length: nothing is averaged, nothing limited."""
    monkeypatch.setattr(ridge, "RIDGES", (0.05,))
    monkeypatch.setattr(kernel_ridge, "LENGTHS", (0.7,))
    monkeypatch.setattr(kernel_ridge, "BEYOND", 1e9)
    return 0.05, 0.7


def numbers(seed: int = 0, missing: float = 0.0) -> Episode:
    rng = np.random.default_rng(seed)
    return episode(rng, "regression", LABELED, UNLABELED, ATTRIBUTES, missing=missing)


def z_scores(e: Episode) -> np.ndarray:
    x = e.x.astype(np.float64)
    return (x - x.mean(0)) / x.std(0)


def straight(e: Episode, most: float = NOT_FAR) -> np.ndarray:
    """Z-scores of values before their smooth clip."""
    x, end = e.x.astype(np.float64), most / np.sqrt(1 + (most / LIMIT) ** 2)
    near = np.clip(x, -end, end)
    return z_scores(replace(e, x=near / np.sqrt(1 - (near / LIMIT) ** 2) + x - near))


def kernels(e: Episode, length: float) -> list[np.ndarray]:
    """Linear, RBF and Laplace, between all rows."""
    z, lines = z_scores(e), straight(e)
    soft = z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2)
    apart = soft[:, None] - soft[None]
    return [
        lines @ lines.T / ATTRIBUTES,
        np.exp(-(apart**2).sum(-1) / (2 * length * ATTRIBUTES)),
        np.exp(-np.abs(apart).sum(-1) / (length * ATTRIBUTES)),
    ]


def fitted(kernel: np.ndarray, y: np.ndarray, rows: np.ndarray, asked: np.ndarray, ridge: float) -> np.ndarray:
    """Answers of scikit-learn's kernel ridge regression with an intercept."""
    centre = KernelCenterer().fit(kernel[np.ix_(rows, rows)])
    model = KernelRidge(alpha=ridge, kernel="precomputed")
    model.fit(centre.transform(kernel[np.ix_(rows, rows)]), y[rows] - y[rows].mean())
    return model.predict(centre.transform(kernel[np.ix_(asked, rows)])) + y[rows].mean()


@pytest.mark.parametrize("which", range(3), ids=["linear", "rbf", "laplace"])
def test_unlabeled_rows_are_answered_as_by_scikit_learn(one_of_each: tuple[float, float], which: int) -> None:
    e = numbers()
    y, rows = e.y[:LABELED].astype(np.float64), np.arange(LABELED)
    asked = np.arange(LABELED, LABELED + UNLABELED)
    got = kernel_ridge_answers(batch_of(e))[0, LABELED:, 0, which].numpy() + y.mean()
    expected = fitted(kernels(e, one_of_each[1])[which], y, rows, asked, one_of_each[0])
    np.testing.assert_allclose(got, expected, rtol=1e-8)


@pytest.mark.parametrize("which", range(3), ids=["linear", "rbf", "laplace"])
def test_labeled_rows_are_answered_by_a_fit_without_them(one_of_each: tuple[float, float], which: int) -> None:
    e = numbers(1)
    y = e.y[:LABELED].astype(np.float64)
    kernel = kernels(e, one_of_each[1])[which]
    expected = [
        fitted(kernel, y, np.delete(np.arange(LABELED), i), np.array([i]), one_of_each[0])[0] for i in range(LABELED)
    ]
    got = kernel_ridge_answers(batch_of(e))[0, :LABELED, 0, which].numpy() + y.mean()
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_linear_model_is_ridge_regression(one_of_each: tuple[float, float]) -> None:
    e = numbers(2)
    z, y = straight(e), e.y[:LABELED].astype(np.float64)
    expected = Ridge(alpha=one_of_each[0] * ATTRIBUTES).fit(z[:LABELED], y).predict(z[LABELED:])
    got = kernel_ridge_answers(batch_of(e))[0, LABELED:, 0, 0].numpy() + y.mean()
    np.testing.assert_allclose(got, expected, rtol=1e-8)


def test_of_several_ridges_the_one_that_serves_is_followed() -> None:
    e = numbers(3)
    exact = (straight(e) @ np.array([1.0, -0.5, 0.2])).astype(np.float32)
    answers = kernel_ridge_answers(batch_of(replace(e, y=exact)))[0, :, 0, 0].numpy()
    assert np.abs(answers + exact[:LABELED].mean() - exact).max() < 0.05 * exact.std()
    noise = numbers(4)
    answers = kernel_ridge_answers(batch_of(noise))[0, LABELED:, 0].numpy()
    assert answers.std(0).max() < 0.7 * noise.y.std()  # where there is nothing to learn they keep to the mean


def test_the_smooth_clip_of_attributes_is_undone() -> None:
    assert VALUE_LIMIT == LIMIT
    z = np.linspace(-4, 4, 101)
    clipped = RobustScale(0.0, 1.0).apply(z)
    np.testing.assert_allclose(unlimited(torch.from_numpy(clipped), 4.0).numpy(), z, atol=1e-5)
    further = RobustScale(0.0, 1.0).apply(np.array([4.0, 10, 1e9]))
    beyond = unlimited(torch.from_numpy(further), 4.0).numpy()
    np.testing.assert_allclose(np.diff(beyond), np.diff(further), atol=1e-5)
    large = RobustScale(0.0, 1.0).apply(np.array([-90.0, 30.0, 99.0]))
    np.testing.assert_allclose(unlimited(torch.from_numpy(large), VERY_FAR).numpy(), [-90, 30, 99], rtol=0.01)


def test_attributes_that_say_nothing_leave_the_mean_of_the_other_labels() -> None:
    e = numbers(5)
    y = e.y[:LABELED]
    without = (y.sum() - y) / (LABELED - 1) - y.mean()
    for x in (np.ones_like(e.x), np.full_like(e.x, np.nan)):
        answers = kernel_ridge_answers(batch_of(replace(e, x=x)), more=True)[0, :, 0, : MODELS + MORE_MODELS].numpy()
        np.testing.assert_allclose(answers[:LABELED], np.repeat(without[:, None], 6, 1), atol=1e-5)
        np.testing.assert_allclose(answers[LABELED:], 0, atol=1e-5)


def test_no_answer_is_far_beyond_the_labels() -> None:
    e = numbers(6)
    e.x[-1] = 1e30
    y = np.arange(LABELED + UNLABELED, dtype=np.float32)
    answers = kernel_ridge_answers(batch_of(replace(e, x=e.x + y[:, None], y=y)), more=True)[
        ..., : MODELS + MORE_MODELS
    ]
    labeled = y[:LABELED] - y[:LABELED].mean()
    assert answers.isfinite().all()
    assert answers.max() <= labeled.max() + BEYOND * np.ptp(labeled)
    assert answers.min() >= labeled.min() - BEYOND * np.ptp(labeled)


def test_classes_are_one_hot_targets() -> None:
    e = episode(np.random.default_rng(0), "classification", 6, 5, 4, 3)
    batch = batch_of(e)
    as_numbers: TaskBatch = replace(batch, y=batch.one_hot())
    torch.testing.assert_close(kernel_ridge_answers(batch), kernel_ridge_answers(as_numbers))
    # Centred targets sum to 0 over the classes, and so do answers where none is limited.
    assert kernel_ridge_answers(batch)[..., 2].sum(2).abs().max() < 1e-6


def told(e: Episode) -> np.ndarray:
    """Squared correlations of the attributes with the labels."""
    z = z_scores(e)[:LABELED]
    soft = z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2)
    return np.array([np.corrcoef(column, e.y[:LABELED])[0, 1] ** 2 for column in soft.T])


def weighted_laplace(e: Episode, weights: np.ndarray, length: float) -> np.ndarray:
    z = z_scores(e)
    soft = z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2)
    return np.exp(-(np.abs(soft[:, None] - soft[None]) * weights / weights.sum()).sum(-1) / length)


def averaged(e: Episode, kernels: list[np.ndarray], ridges: tuple[float, ...], caution: float) -> np.ndarray:
    """Answers for the unlabeled rows by scikit-learn, averaged by the likelihood of refits without each row."""
    y, rows = e.y[:LABELED].astype(np.float64), np.arange(LABELED)
    asked = np.arange(LABELED, LABELED + UNLABELED)
    found, logs = [], []
    for kernel in kernels:
        for r in ridges:
            without = [fitted(kernel, y, np.delete(rows, i), np.array([i]), r)[0] for i in rows]
            logs.append(-0.5 * caution * LABELED * np.log(np.mean((without - y) ** 2)))
            found.append(fitted(kernel, y, rows, asked, r))
    share = np.exp(np.array(logs) - max(logs))
    return share @ np.array(found) / share.sum() - y.mean()


def test_further_answers_are_of_kernels_that_weigh_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    ridges = (0.01, 0.3)
    for module, values in (
        (ridge, {"RIDGES": ridges}),
        (kernel_ridge, {"BEYOND": 1e9, "LENGTHS": (0.7,), "LONG": (6.0,), "WEIGHTED_LENGTHS": (1.5,)}),
        (kernel_ridge, {"FEWEST": (1, 2), "FEW_LENGTHS": (1.2,)}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    e = numbers(9)
    z, r2 = z_scores(e), told(e)
    soft = z / np.sqrt(1 + (z / SOFT_LIMIT) ** 2)
    w = (r2 + FLOOR) / (r2 + FLOOR).sum()
    squared = ((soft[:, None] - soft[None]) ** 2 * w).sum(-1)
    lines = straight(e)
    weighted = [(lines * w) @ lines.T, np.exp(-0.5 * squared / 1.5), weighted_laplace(e, w, 1.5)]
    few = [weighted_laplace(e, (r2 >= np.sort(r2)[-n]).astype(float), 1.2) for n in (1, 2)]
    far = straight(e, VERY_FAR)
    plain = [*kernels(e, 0.7), *kernels(e, 6.0)[1:], far @ far.T / ATTRIBUTES]
    got = kernel_ridge_answers(batch_of(e), more=True)[0, LABELED:, 0].numpy()
    assert got.shape == (UNLABELED, MODELS + MORE_CHANNELS)
    np.testing.assert_allclose(got[:, WEIGHTED], averaged(e, weighted, ridges, 1.0), rtol=1e-6)
    np.testing.assert_allclose(got[:, FEW], averaged(e, few, ridges, 1.0), rtol=1e-6)
    np.testing.assert_allclose(got[:, ALL], averaged(e, [*plain, *weighted, *few], ridges, CAUTION), rtol=1e-6)


def test_the_first_answers_are_the_same_with_the_further_ones() -> None:
    batch = batch_of(numbers(10, missing=0.2))
    first, all_of_them = kernel_ridge_answers(batch), kernel_ridge_answers(batch, more=True)
    assert torch.equal(first, all_of_them[..., :MODELS])


def test_how_wrong_each_model_is_stands_beside_its_answers() -> None:
    e = numbers(11)
    y = e.y[:LABELED] - e.y[:LABELED].mean()
    answers = kernel_ridge_answers(batch_of(e), more=True)[0, :, 0].numpy()
    models, logs = np.split(answers, [MODELS + MORE_MODELS], 1)
    expected = 0.5 * np.log(np.mean((models[:LABELED] - y[:, None]) ** 2, axis=0))
    np.testing.assert_allclose(logs, np.repeat(expected[None], LABELED + UNLABELED, 0), rtol=1e-6)


def test_padding_of_attributes_changes_no_answer() -> None:
    e = numbers(12)
    alone = batch_of(e)
    padded = replace(
        alone,
        x=torch.cat([alone.x, torch.randn(1, LABELED + UNLABELED, 2, dtype=alone.x.dtype)], 2),
        observed=torch.cat([alone.observed, torch.ones_like(alone.observed[..., :2])], 2),
        attr_mask=torch.cat([alone.attr_mask, torch.zeros_like(alone.attr_mask[:, :2])], 1),
    )
    torch.testing.assert_close(kernel_ridge_answers(padded, more=True), kernel_ridge_answers(alone, more=True))


def test_a_device_without_a_solver_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meta device stands in for Apple's: whatever were computed there would have no values, and fail here."""
    batch = batch_of(numbers(8))
    moved: list[str] = []

    def to(self: TaskBatch, device: str) -> TaskBatch:
        moved.append(device)
        return batch

    monkeypatch.setattr(kernel_ridge, "WITHOUT_SOLVER", ("meta",))
    monkeypatch.setattr(TaskBatch, "to", to)
    elsewhere = replace(batch, x=batch.x.to("meta"))
    answers = kernel_ridge_answers(elsewhere)
    assert moved == ["cpu"]
    assert (answers.device.type, answers.shape) == ("meta", kernel_ridge_answers(batch).shape)
