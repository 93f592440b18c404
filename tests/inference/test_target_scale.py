"""Numbers are answered as they stand, or as logarithms where these fit the labeled rows better."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inference.inference_tasks import CPU
from tests.tiny import tiny_checkpoint
from vsacli.baselines.trained import Trained
from vsacli.evaluation.episodes import make_episode
from vsacli.inference.predict import predict
from vsacli.inference.reading import Known, Reading
from vsacli.inference.target_scale import TargetScale, logarithms_fit_better
from vsacli.tasks.store import EncodedTable


def table(n: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Attributes, and a line through them with a little noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 3)).astype(np.float32)
    return x, x @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", range(5))
def test_what_multiplies_is_told_from_what_adds_up(seed: int) -> None:
    x, line = table(seed=seed)
    assert logarithms_fit_better(x, np.exp(line))
    assert not logarithms_fit_better(x, line - line.min() + 0.1)
    assert logarithms_fit_better(x, 1e-300 * np.exp(line))


def test_noise_few_labels_and_what_is_not_positive_stay_as_they_are() -> None:
    x, line = table()
    rng = np.random.default_rng(1)
    assert not any(logarithms_fit_better(x, 4 + rng.normal(size=20)) for _ in range(20))
    assert not logarithms_fit_better(x[:7], np.exp(line[:7]))
    assert not logarithms_fit_better(x, np.exp(line) - np.exp(line).min())
    assert not logarithms_fit_better(x, 100 + 0.1 * line)
    assert logarithms_fit_better(x, np.exp(300 * line / np.abs(line).max())[::-1]) in (
        True,
        False,
    )  # beyond float64 when divided


def test_logarithms_and_back() -> None:
    y = np.array([0.001, 1.0, 1000.0])
    scale = TargetScale.of(y, logarithms=True)
    np.testing.assert_allclose(scale.apply(y), [-np.sqrt(1.5), 0, np.sqrt(1.5)], rtol=1e-6)
    mean, std = scale.undo(scale.apply(y), np.full(3, np.float32((0.5 / scale.spread) ** 2)))
    np.testing.assert_allclose(mean, y, rtol=1e-5)
    np.testing.assert_allclose(std, y * (np.exp(0.5) - np.exp(-0.5)) / 2, rtol=1e-5)
    far = scale.undo(np.float32([1e6, -1e6]), np.float32([1e6, 1e6]))
    assert np.isfinite(far).all()


def test_the_choice_is_that_of_the_labeled_rows_in_any_order() -> None:
    x, line = table(60)
    labeled = np.arange(60) < 20
    y = np.exp(3 * line)
    task = {"labeled": labeled, "n_classes": 0, "config": CPU}
    found = predict(tiny_checkpoint("regression"), x, y=y[labeled], **task)
    assert found.logarithms
    assert found.mean is not None
    assert (found.mean > 0).all()
    order = np.r_[np.random.default_rng(0).permutation(20), 20:60]
    again = predict(tiny_checkpoint("regression"), x[order], y=y[order][labeled], **task)
    np.testing.assert_allclose(again.mean, found.mean, rtol=1e-4)
    assert not predict(tiny_checkpoint("regression"), x, y=y[labeled], known=Known(logarithms=False), **task).logarithms


def test_many_labels_are_compared_by_some_of_them() -> None:
    x, line = table(1000)
    reading = Reading(tiny_checkpoint("regression"), x, np.arange(1000) < 900, np.exp(line[:900]), 0, CPU)
    assert reading.scale is not None
    assert reading.scale.logarithms


def test_new_rows_are_answered_on_the_scale_of_fit() -> None:
    from vsacli import VSARegressor

    x, line = table(60)
    y = np.where(np.arange(60) < 20, np.exp(3 * line), np.nan)
    model = VSARegressor(device="cpu").fit(x, y)
    assert model._scale is not None
    assert model._scale.logarithms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vsacli.inference.reading.logarithms_fit_better", lambda x, y: pytest.fail("chosen already"))
        assert np.min(model.predict(x[20:25])) > 0


def test_evaluation_answers_numbers_of_many_sizes_as_labeling_does() -> None:
    x, line = table(120)
    y = np.exp(3 * line)
    encoded = EncodedTable("t", "t", "regression", x, np.arange(3, dtype=np.int32), y, 1)
    rows = np.arange(120)
    drawn = make_episode(encoded, rows[:40], rows[40:])
    answer = Trained().fit_predict(drawn.episode, np.random.default_rng(0))
    mean = answer.mean * drawn.spread + drawn.center
    assert np.median(np.abs(np.log(np.maximum(mean, 1e-30)) - 3 * line[40:])) < 1
