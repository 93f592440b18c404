"""Fitting the confidence of a trained network on validation episodes; the answers stay the same.

Classification: a temperature that changes with the number of labels (`vsacli.checkpoints.calibration`), of the
least negative log likelihood. Regression: one factor on the standard deviation, so that the central 90% interval
covers 90% of the answers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import torch

from vsacli.checkpoints.calibration import STD_FACTOR, TEMPERATURE, TENFOLD, decades
from vsacli.nn.answers import ClassOutput
from vsacli.nn.network import Network
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode
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
        ``temperature`` and ``temperature_tenfold``, or ``std_factor``; empty if there are no episodes.
    """
    everything = [e for group in episodes.values() for e in group]
    if not everything:
        return {}
    model = model.eval()
    per_family = defaultdict(int)
    for e in everything:
        per_family[e.family] += int(e.scored.sum())
    logs, hits, errors, weights, more = [], [], [], [], []
    for batch in batches_by_size(everything, cells):
        tasks = collate(batch)
        output = model(tasks.tasks)
        for i, e in enumerate(batch):
            rows = np.flatnonzero(e.scored)
            weights.append(np.full(len(rows), 1 / per_family[e.family]))
            if isinstance(output, ClassOutput):
                logs.extend(output.log_probs[i, : e.n_unlabeled, : e.n_classes].double().numpy()[rows])
                hits.extend(e.answer[rows])
                more.append(np.full(len(rows), decades(e.n_labeled, e.n_classes)))
            else:
                mean, var = (v[i, : e.n_unlabeled, 0].double().numpy()[rows] for v in (output.mean, output.var))
                errors.append(np.abs(e.answer[rows] - mean) / np.sqrt(np.maximum(var, 1e-12)))
    weight = np.concatenate(weights)
    if model.config.kind == "classification":
        first, tenfold = _best_temperature(logs, np.asarray(hits), np.concatenate(more), weight)
        return {TEMPERATURE: round(first, 4), TENFOLD: round(tenfold, 4)}
    return {STD_FACTOR: round(_weighted_quantile(np.concatenate(errors), weight, COVERAGE) / NORMAL_QUANTILE, 4)}


def _best_temperature(
    logs: list[np.ndarray], answers: np.ndarray, more: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """T at one label per class (between 1/4 and 4) and its factor for ten times as many (between 1/2 and 2).

    They have the least weighted negative log likelihood; ``more`` is log10 of the labels per class of each answer.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    width = max(len(row) for row in logs)
    padded = np.full((len(logs), width), -np.inf)
    for i, row in enumerate(logs):
        padded[i, : len(row)] = row
    varied = np.ptp(more) > 0

    def loss(logs_of_both: np.ndarray) -> float:
        t = np.exp(logs_of_both[0] + logs_of_both[1] * more * varied)
        picked = log_softmax(padded / t[:, None], axis=1)[np.arange(len(answers)), answers]
        return float(-(weight * picked).sum())

    limits = [(-np.log(4), np.log(4)), (-np.log(2), np.log(2))]
    first, tenfold = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=limits).x
    return float(np.exp(first)), float(np.exp(tenfold if varied else 0.0))


def _weighted_quantile(values: np.ndarray, weight: np.ndarray, level: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][np.searchsorted(reached, level)])
