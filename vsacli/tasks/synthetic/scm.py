"""Structural causal models: layers of nodes, each a noisy function of nodes before it; one of them is the target.

The idea is that of the priors of TabPFN and its kin (Müller et al., "Transformers can do Bayesian inference"; Hollmann
et al., "TabPFN"; for trees, TabForestPFN and TabICL): draw a random causal graph, let it generate rows, and ask for
one of its nodes. The weights, sizes and distributions here are our own. Attributes come from layers before and after
the target's, so that a task has causes and effects, correlated through ancestors that may stay hidden.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, pick_columns, standardise
from vsacli.tasks.synthetic.latents import Latents, TaskShape

MAX_DEPTH = 5
DEPTH_WEIGHTS = (4.0, 3.0, 2.0, 1.0, 1.0)


class NodeFunctions(Protocol):
    """Functions of one layer's nodes, drawn once a batch: values of the next layer before noise."""

    def __call__(self, parents: Tensor, is_parent: Tensor) -> Tensor:
        """From parents (b, N, H), of which is_parent (b, H) exist, to the next layer (b, N, H)."""
        ...


def sample_scm(draws: Draws, shape: TaskShape, node_functions: NodeFunctions) -> Latents:
    """Latents of b random causal models whose layers are computed by `node_functions`.

    Every task draws its depth (1 to 5 layers after the roots, shallow ones more often), width (log-uniform), noise of
    the nodes (none in 40 % of the tasks, else 0.01 to 0.4), the target's layer (the last one in half of the tasks), and
    which nodes may be seen: all of them (30 %), the roots only (20 %), each layer with probability one half (10 %), or
    the target's own layer and its neighbours (40 %). Random choices: seven a task, one noise scale a node, besides
    those of the functions.
    """
    b, n = shape.n_tasks, shape.n_rows
    narrowest = shape.n_scores + 1
    widest = max(narrowest + 1, min(32, max(12, shape.n_attributes + shape.n_scores)))
    width = draws.log_uniform(b, 1, low=narrowest, high=widest + 1).long()
    depth = 1 + draws.choice(DEPTH_WEIGHTS, b, 1)
    exists = torch.arange(widest, device=draws.device) < width
    noise = draws.noise_level(b, 1, 1, none=0.4, low=0.01, high=0.4)

    layers = [draws.columns(b, n, widest)]
    for _ in range(MAX_DEPTH):
        values = standardise(node_functions(layers[-1], exists))
        own_noise = noise * (0.7 * draws.normal(b, 1, widest)).exp()
        layers.append(standardise(values + own_noise * draws.normal(b, n, widest)))
    nodes = torch.cat(layers, dim=2)
    layer = torch.arange(MAX_DEPTH + 1, device=draws.device).repeat_interleave(widest).unsqueeze(0)
    real = exists.repeat(1, MAX_DEPTH + 1) & (layer <= depth)

    target_layer = torch.where(draws.chance(b, 1, p=0.5), depth, draws.integers(b, 1, low=1, high=depth))
    lively = nodes.square().mean(1) > 0.5  # a step function may come out constant: no target
    rank = draws.uniform(b, nodes.shape[2]) + (real & (layer == target_layer)) * 2.0 + lively * 1.0
    targets = rank.topk(shape.n_scores, dim=1).indices

    seen = draws.choice((0.3, 0.2, 0.1, 0.4), b, 1)
    near = (layer - target_layer).abs() <= 1
    layer_seen = draws.chance(b, MAX_DEPTH + 1, p=0.5).repeat_interleave(widest, dim=1)
    visible = real & ((seen == 0) | ((seen == 1) & (layer == 0)) | ((seen == 2) & layer_seen) | ((seen == 3) & near))
    visible = torch.where((visible & (layer != target_layer)).any(1, keepdim=True), visible, real)
    visible = visible.scatter(1, targets, False)
    return Latents(nodes, visible, pick_columns(nodes, targets))
