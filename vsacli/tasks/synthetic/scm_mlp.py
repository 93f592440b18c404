"""Node functions of the first kind: a random activation of a sparse weighted sum, as in a multilayer perceptron."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws
from vsacli.tasks.synthetic.latents import Latents, TaskShape
from vsacli.tasks.synthetic.scm import sample_scm

N_ACTIVATIONS = 9


def sample_mlp_scm(draws: Draws, shape: TaskShape) -> Latents:
    """Latents of structural causal models whose nodes are perceptron units.

    Besides what `sample_scm` draws: per task the gain of the weights (0.3 to 2.5, log-uniform: from nearly linear to
    strongly bent), the share of weights kept (20 to 100 %) and whether all nodes share one activation (4 of 10 tasks);
    per node the activation, a bias, and H weights.
    """
    b = shape.n_tasks
    gain = draws.log_uniform(b, 1, 1, low=0.3, high=2.5)
    density = draws.uniform(b, 1, 1, low=0.2, high=1.0)
    one_kind = draws.chance(b, 1, 1, p=0.4)
    shared_kind = draws.integers(b, 1, 1, low=0, high=N_ACTIVATIONS - 1)

    def layer(parents: Tensor, is_parent: Tensor) -> Tensor:
        h = parents.shape[2]
        weights = draws.normal(b, h, h) * draws.chance(b, h, h, p=density) * is_parent.unsqueeze(2)
        size = weights.square().sum(1, keepdim=True).sqrt()
        kind = torch.where(one_kind, shared_kind, draws.integers(b, 1, h, low=0, high=N_ACTIVATIONS - 1))
        # A node that lost all its parents is a new root, that is, noise.
        orphan = size < 0.05
        values = torch.bmm(parents, gain * weights / size.clamp(min=0.05)) + 0.7 * gain * draws.normal(b, 1, h)
        return torch.where(orphan, draws.normal(*values.shape), activate(values, kind))

    return sample_scm(draws, shape, layer)


def activate(x: Tensor, kind: Tensor) -> Tensor:
    """Activation number `kind` (broadcasts against x) of x: identity, tanh, ReLU, sine, modulus, step, square, bump,
    softplus."""
    out = torch.where(kind == 0, x, x.tanh())
    out = torch.where(kind == 2, x.clamp(min=0.0), out)
    out = torch.where(kind == 3, (2.0 * x).sin(), out)
    out = torch.where(kind == 4, x.abs(), out)
    out = torch.where(kind == 5, (x > 0).float(), out)
    out = torch.where(kind == 6, x.square(), out)
    out = torch.where(kind == 7, (-x.square()).exp(), out)
    return torch.where(kind == 8, torch.nn.functional.softplus(2.0 * x), out)
