"""Smooth functions: linear ones and draws from a Gaussian process, by random Fourier features."""

from __future__ import annotations

import math

import torch

from vsacli.tasks.synthetic.draws import Draws, standardise
from vsacli.tasks.synthetic.latents import Latents, TaskShape

N_FEATURES = 64


def sample_smooth(draws: Draws, shape: TaskShape) -> Latents:
    """Latents of b regressions of C (or one) outputs on correlated inputs.

    An output is a linear function, or a sum of 64 random cosines (Rahimi & Recht's features of the RBF kernel, hence a
    Gaussian process draw), or both. Per task: the share of the linear part (all in 35 % of the tasks), the length scale
    (0.7 to 7, log-uniform), how many inputs matter, and how correlated inputs are. Per output: its weights. Random
    choices: five a task, two for each of d inputs besides d² for their mixing, 64 phases and 64 d frequencies; per
    output d slopes and 64 amplitudes.
    """
    b, n, s = shape.n_tasks, shape.n_rows, shape.n_scores
    d = max(2, min(16, shape.n_attributes))
    mixing = draws.normal(b, d, d) * draws.sparse_level(b, 1, 1, none=0.4, high=1.0)
    nodes = draws.columns(b, n, d)
    nodes = standardise(nodes + nodes @ mixing)

    matters = draws.chance(b, d, 1, p=draws.uniform(b, 1, 1, low=0.2, high=1.0))
    matters[:, 0] = True
    slopes = draws.normal(b, d, s) * matters
    linear = standardise(nodes @ slopes)
    relevance = draws.log_uniform(b, d, 1, low=0.3, high=1.5) * matters
    length = draws.log_uniform(b, 1, 1, low=0.7, high=7.0) * matters.sum(1, keepdim=True).sqrt()
    waves = draws.normal(b, d, N_FEATURES) * relevance / length
    features = (nodes @ waves * 2 + draws.uniform(b, 1, N_FEATURES, high=2 * math.pi)).cos()
    bent = standardise(features @ draws.normal(b, N_FEATURES, s))
    share = torch.where(draws.chance(b, 1, 1, p=0.35), 1.0, draws.sparse_level(b, 1, 1, none=0.5, high=1.0))
    scores = standardise(share * linear + (1 - share) * bent)
    visible = torch.ones(b, d, dtype=torch.bool, device=draws.device)
    return Latents(nodes, visible, scores)
