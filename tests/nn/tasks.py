"""Small random tasks for the tests of the networks, in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from vsacli.methods.registry import NETWORKS, build_network, config_class
from vsacli.nn import TaskBatch, preset
from vsacli.nn.config import NetworkConfig
from vsacli.nn.model import ClassOutput
from vsacli.nn.network import Network
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode

CLASS_CONFIGS = {
    "default": preset("default", layers=2, width=16, heads=2, head_width=8, ff_width=24, channels=3),
    "paper": preset("paper"),
    "kernel_ridge": preset(
        "default", layers=2, width=16, heads=2, head_width=8, ff_width=24, channels=3, kernel_ridge=True
    ),
    "more_kernels": preset("small", layers=1, kernel_ridge=True, more_kernels=True),
    "label_propagation": preset("small", layers=1, head="label_propagation"),
}
REGRESSION_CONFIGS = {
    "default": preset("default", "regression", layers=2, width=16, heads=2, head_width=8, ff_width=24, channels=3),
    "kernel_ridge": preset("small", "regression", layers=1, kernel_ridge=True),
    "more_kernels": preset("small", "regression", layers=1, kernel_ridge=True, more_kernels=True),
    "paper": preset("paper", "regression"),
}
CONFIGS = {**CLASS_CONFIGS, **{f"regression-{k}": v for k, v in REGRESSION_CONFIGS.items()}}

METHOD_CONFIGS = {
    f"{name}-{kind}": config_class(name)(kind=kind)
    for name, info in NETWORKS.items()
    for kind in info.kinds
    if name != "vsa"
}
EVERY_CONFIG = {**CONFIGS, **METHOD_CONFIGS}


def model_of(config: NetworkConfig, seed: int = 0) -> Any:  # of the class that the config names
    """A network with random weights everywhere (also in the readout, which starts at zero)."""
    torch.manual_seed(seed)
    model = build_network(config).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model


def episode(
    rng: np.random.Generator,
    kind: str = "classification",
    labeled: int = 6,
    unlabeled: int = 5,
    attributes: int = 4,
    classes: int = 3,
    missing: float = 0.2,
) -> Episode:
    """A random episode in which every class is labeled and some values are missing."""
    n = labeled + unlabeled
    x = rng.normal(size=(n, attributes)).astype(np.float32)
    x[rng.random(x.shape) < missing] = np.nan
    if kind == "classification":
        y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
        return Episode(x, labeled, y, "classification", classes, np.ones(unlabeled, bool))
    return Episode(x, labeled, rng.normal(size=n).astype(np.float32), "regression", 1, np.ones(unlabeled, bool))


def batch_of(*episodes: Episode) -> TaskBatch:
    """The episodes as a padded batch in float64."""
    return collate(episodes).tasks.double()


@torch.no_grad()
def answers(model: Network, batch: TaskBatch) -> torch.Tensor:
    """Probabilities (B, U, C), or mean and variance side by side (B, U, 2T)."""
    out = model(batch)
    if isinstance(out, ClassOutput):
        return out.log_probs.exp()
    return torch.cat([out.mean, out.var], -1)


def permute_rows(e: Episode, order: np.ndarray) -> Episode:
    """The episode with its rows in another order."""
    return replace(e, x=e.x[order], y=e.y[order])
