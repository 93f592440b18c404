"""Checkpoints for tests: small networks with random weights, and a stand-in that records what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from vsacli.checkpoints.folder import Checkpoint
from vsacli.nn import ClassOutput, RegressionOutput, TaskBatch, VSAModel, preset


def tiny_model(kind: Any = "classification", **changes: Any) -> VSAModel:
    """One pair of blocks, all weights random (also in the readout, which starts at zero)."""
    torch.manual_seed(11)
    model = VSAModel(preset("small", kind, **{"layers": 1, **changes}))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.05 * torch.randn_like(p))
    return model.eval().requires_grad_(False)


def tiny_checkpoint(kind: Any = "classification", **changes: Any) -> Checkpoint:
    return Checkpoint(tiny_model(kind, **changes), name="tiny")


class Recorder:
    """A stand-in for a network: keeps every batch, and answers by the nearest class mean (or the mean target)."""

    def __init__(self, kind: Any = "classification", fails: Callable[[TaskBatch], Exception | None] | None = None):
        self.config = preset("small", kind)
        self.batches: list[TaskBatch] = []
        self.fails = fails

    def to(self, device: torch.device) -> Recorder:
        return self

    def __call__(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        error = self.fails(batch) if self.fails else None
        if error is not None:
            raise error
        self.batches.append(batch)
        n = batch.n_labeled
        if self.config.kind == "regression":
            mean = batch.y.mean(1, keepdim=True).expand(1, batch.x.shape[1] - n, 1)
            return RegressionOutput(mean, torch.ones_like(mean))
        one_hot = batch.one_hot()
        means = one_hot.transpose(1, 2) @ batch.x[:, :n] / one_hot.sum(1).unsqueeze(-1)
        return ClassOutput((-torch.cdist(batch.x[:, n:], means).square()).log_softmax(-1))

    def checkpoint(self, **meta: Any) -> Checkpoint:
        return Checkpoint(self, meta, "recorder")  # type: ignore[arg-type]
