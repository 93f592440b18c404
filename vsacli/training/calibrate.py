"""Fitting the confidence of a trained network on validation episodes; the answers stay the same.

Classification: one temperature T, with p = softmax(log p / T) (Guo et al. 2017). Regression: one
factor on the standard deviation, so that the central 90% interval covers 90% of the answers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import torch

from vsacli.nn.answers import ClassOutput
from vsacli.nn.network import Network
from vsacli.tasks.episode import Episode, collate
from vsacli.training.validate import batches_by_size

COVERAGE = 0.9
NORMAL_QUANTILE = 1.6448536269514722  # of the standard normal, at 0.95: half the width of a central 90% interval


@torch.no_grad()
def calibrate(model: Network[Any], episodes: dict[int, list[Episode]], cells: int = 60_000) -> dict[str, float]:
    """What to record as ``calibration`` in a checkpoint.

    Every family weighs the same, as in validation.

    Parameters
    ----------
    model : Network
        On the CPU.
    episodes : dict of int to list of Episode
        As :func:`vsacli.training.validate.validation_episodes` gives them.

    Returns
    -------
    dict
        ``{"temperature": T}`` or ``{"std_factor": f}``; empty where there are no episodes.
    """
    everything = [e for group in episodes.values() for e in group]
    if not everything:
        return {}
    model = model.eval()
    per_family = defaultdict(int)
    for e in everything:
        per_family[e.family] += int(e.scored.sum())
    logs, hits, errors, weights = [], [], [], []
    for batch in batches_by_size(everything, cells):
        tasks = collate(batch)
        output = model(tasks.tasks)
        for i, e in enumerate(batch):
            rows = np.flatnonzero(e.scored)
            weights.append(np.full(len(rows), 1 / per_family[e.family]))
            if isinstance(output, ClassOutput):
                logs.extend(output.log_probs[i, : e.n_unlabeled, : e.n_classes].double().numpy()[rows])
                hits.extend(e.answer[rows])
            else:
                mean, var = (v[i, : e.n_unlabeled, 0].double().numpy()[rows] for v in (output.mean, output.var))
                errors.append(np.abs(e.answer[rows] - mean) / np.sqrt(np.maximum(var, 1e-12)))
    weight = np.concatenate(weights)
    if model.config.kind == "classification":
        return {"temperature": round(_best_temperature(logs, np.asarray(hits), weight), 4)}
    return {"std_factor": round(_weighted_quantile(np.concatenate(errors), weight, COVERAGE) / NORMAL_QUANTILE, 4)}


def _best_temperature(logs: list[np.ndarray], answers: np.ndarray, weight: np.ndarray) -> float:
    """The temperature of the least weighted negative log likelihood, between 1/4 and 4."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    width = max(len(row) for row in logs)
    padded = np.full((len(logs), width), -np.inf)
    for i, row in enumerate(logs):
        padded[i, : len(row)] = row

    def loss(log_t: float) -> float:
        picked = log_softmax(padded / np.exp(log_t), axis=1)[np.arange(len(answers)), answers]
        return float(-(weight * picked).sum())

    best = minimize_scalar(loss, bounds=(-np.log(4), np.log(4)), method="bounded")
    return float(np.exp(best.x))


def _weighted_quantile(values: np.ndarray, weight: np.ndarray, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][np.searchsorted(reached, level)])
