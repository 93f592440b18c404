"""Optimizers and the learning-rate schedule."""

from __future__ import annotations

import math

import torch
from torch import nn

from vsacli.training.config import TrainConfig


def build_optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """The optimizers of a run; every parameter belongs to exactly one.

    ``muon`` moves the matrices of the blocks by orthogonalised momentum (Jordan et al. 2024) and
    everything else, all of a network without blocks, by AdamW; ``adamw`` and ``adam`` (the
    paper's) move everything alike. Each group remembers its full rate as ``base_lr`` for the schedule.
    """
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    optimizers: list[torch.optim.Optimizer] = []
    if config.optimizer == "muon":
        hidden = [p for n, p in named if p.ndim == 2 and "blocks." in n]
        rest = [p for n, p in named if not (p.ndim == 2 and "blocks." in n)]
        if hidden:
            optimizers.append(
                torch.optim.Muon(hidden, lr=config.muon_rate, weight_decay=config.weight_decay, momentum=0.95)
            )
        optimizers.append(torch.optim.AdamW(rest, lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.0))
    elif config.optimizer == "adamw":
        decay = [p for _, p in named if p.ndim >= 2]
        rest = [p for _, p in named if p.ndim < 2]
        groups = [{"params": decay, "weight_decay": config.weight_decay}, {"params": rest, "weight_decay": 0.0}]
        optimizers.append(torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98)))
    else:
        optimizers.append(torch.optim.Adam([p for _, p in named], lr=config.learning_rate))
    for o in optimizers:
        for group in o.param_groups:
            group["base_lr"] = group["lr"]
    return optimizers


def rate_factor(progress: float, config: TrainConfig) -> float:
    """Share of the full learning rate at ``progress`` (0 to 1) of the run.

    Linear warm-up over the first ``warmup`` of the run, then, with ``schedule="cosine"``, half a
    cosine down to 0.
    """
    if progress < config.warmup:
        return max(progress, 1e-4) / config.warmup
    if config.schedule == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (progress - config.warmup) / (1 - config.warmup)))
