"""The loss against a plain loop over tasks and rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vsacli.nn.model import ClassOutput, RegressionOutput
from vsacli.tasks.collate import EpisodeBatch, collate
from vsacli.tasks.episode import Episode
from vsacli.training.loss import episode_loss


def batch_of(kind: str, unlabeled: list[int], seed: int = 0) -> tuple[EpisodeBatch, list[Episode]]:
    rng = np.random.default_rng(seed)
    episodes = []
    for u in unlabeled:
        n = 4 + u
        y = np.arange(n) % 3 if kind == "classification" else rng.normal(0, 1, n).astype(np.float32)
        scored = np.ones(u, bool)
        scored[-1] = False  # a row without a label
        x = rng.normal(0, 1, (n, 2)).astype(np.float32)
        episodes.append(Episode(x, 4, y, kind, 3 if kind == "classification" else 1, scored))  # type: ignore[arg-type]
    return collate(episodes), episodes


def test_classes_are_averaged_over_rows_then_tasks():
    batch, episodes = batch_of("classification", [6, 3, 9])
    log_probs = torch.randn(3, 9, 3, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    expected = np.mean(
        [
            np.mean([-float(log_probs[i, j, e.answer[j]]) for j in range(e.n_unlabeled - 1)])
            for i, e in enumerate(episodes)
        ]
    )
    assert float(episode_loss(ClassOutput(log_probs), batch, 0.5)) == pytest.approx(expected, rel=1e-6)


def test_rows_that_do_not_count_may_hold_anything():
    batch, _ = batch_of("classification", [6, 3])
    log_probs = torch.full((2, 6, 3), -math.log(3))
    log_probs[0, 5] = float("nan")  # not scored
    log_probs[1, 3:] = float("inf")  # padding
    log_probs.requires_grad_()
    loss = episode_loss(ClassOutput(log_probs), batch, 0.5)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3))
    assert log_probs.grad is not None
    assert float(log_probs.grad[1, 3:].abs().sum()) == 0


def test_numbers_have_a_gaussian_likelihood_bent_for_wild_tasks():
    batch, episodes = batch_of("regression", [4, 4])
    mean = torch.zeros(2, 4, 1)
    mean[1] = 1000.0
    var = torch.full((2, 4, 1), 0.5)
    per_task = []
    for m, e in zip((0.0, 1000.0), episodes, strict=True):
        error = [(float(y) - m) ** 2 for y in e.answer[:3]]
        plain = np.mean([0.5 * (s / 0.5 + math.log(0.5) + math.log(2 * math.pi)) + 0.3 * s for s in error])
        per_task.append(5 * math.asinh(plain / 5))
    assert float(episode_loss(RegressionOutput(mean, var), batch, 0.3)) == pytest.approx(np.mean(per_task), rel=1e-5)
    assert per_task[1] < 100
