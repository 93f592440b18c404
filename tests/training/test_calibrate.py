"""Confidence is fitted: a network that is off by a known law is set right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from vsacli.checkpoints.calibration import decades, std_factor, temperature
from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.nn.batch import TaskBatch
from vsacli.nn.config import preset
from vsacli.tasks.episode import Episode
from vsacli.training.calibrate import calibrate


class Told(nn.Module):
    """Says what stands in the attributes: two log odds, or mean and deviation, each times a factor."""

    def __init__(self, kind: Any, factor: Any) -> None:
        super().__init__()
        self.config = preset("small", kind)
        self.factor = factor

    def forward(self, batch: TaskBatch) -> Any:
        told = batch.x[:, batch.n_labeled :]  # (B, U, 2)
        if self.config.kind == "classification":
            per_class = batch.labeled_mask.sum(1) / batch.class_mask.sum(1)  # (B,)
            factors = torch.tensor([self.factor(float(n)) for n in per_class])
            return ClassOutput((told * factors[:, None, None]).log_softmax(-1))
        return RegressionOutput(told[..., :1], (told[..., 1:] * self.factor).square())


def class_episodes(shots: int, n: int, rng: np.random.Generator) -> list[Episode]:
    """Rows whose class is drawn with the odds that their attributes state."""
    out = []
    for i in range(n):
        odds = rng.normal(0, 1.5, (100, 2)).astype(np.float32)
        chance = 1 / (1 + np.exp(odds[:, 0] - odds[:, 1]))
        y = np.r_[[0] * shots, [1] * shots, rng.random(100) < chance].astype(np.int64)
        x = np.concatenate([np.zeros((2 * shots, 2), np.float32), odds])
        out.append(Episode(x, 2 * shots, y, "classification", 2, np.ones(100, bool), family=str(i)))
    return out


def test_a_confidence_that_changes_with_the_number_of_labels_is_set_right() -> None:
    rng = np.random.default_rng(0)
    episodes = {s: class_episodes(s, 60, rng) for s in (1, 3, 10)}
    # Log odds 2 times too large with one label per class, and right with ten: T is 2, then 1.
    found = calibrate(Told("classification", lambda n: 2.0 / n ** math.log10(2)), episodes)  # type: ignore[arg-type]
    assert temperature(found, 2, 2) == pytest.approx(2.0, rel=0.06)
    assert temperature(found, 20, 2) == pytest.approx(1.0, rel=0.06)


def test_one_number_of_labels_gives_one_temperature() -> None:
    episodes = {5: class_episodes(5, 80, np.random.default_rng(1))}
    found = calibrate(Told("classification", lambda n: 0.5), episodes)  # type: ignore[arg-type]
    assert found["temperature"] == pytest.approx(0.5, rel=0.06)
    assert found["temperature_tenfold"] == 1.0


def test_deviations_are_scaled_until_90_percent_lie_within() -> None:
    rng = np.random.default_rng(2)
    mean, std = rng.normal(size=4000), rng.uniform(0.5, 2, 4000)
    y = np.r_[0.0, rng.normal(mean, std)].astype(np.float32)
    x = np.r_[np.zeros((1, 2)), np.c_[mean, std]].astype(np.float32)
    episode = Episode(x, 1, y, "regression", 1, np.ones(4000, bool))
    found = calibrate(Told("regression", 0.25), {1: [episode]})  # type: ignore[arg-type]
    assert std_factor(found) == pytest.approx(4.0, rel=0.05)


def test_no_episodes_no_calibration() -> None:
    assert calibrate(Told("classification", lambda n: 1.0), {1: []}) == {}  # type: ignore[arg-type]


def test_the_law_is_held_at_both_ends_and_old_checkpoints_have_one_temperature() -> None:
    law = {"temperature": 1.2, "temperature_tenfold": 0.5}
    assert temperature(law, 1, 2) == 1.2  # a class without a label: as with one per class
    assert temperature(law, 3000, 3) == temperature(law, 90, 3) == pytest.approx(1.2 * 0.5 ** math.log10(30))
    assert temperature({"temperature": 1.2}, 500, 2) == 1.2
    assert temperature({}, 500, 2) == std_factor({}) == 1.0
    assert decades(20, 2) == 1.0
