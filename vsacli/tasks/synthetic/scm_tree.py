"""Node functions of the second kind: random oblivious trees and sums of random threshold rules."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, pick_columns
from vsacli.tasks.synthetic.latents import Latents, TaskShape
from vsacli.tasks.synthetic.scm import sample_scm

N_RULES = 4


def sample_tree_scm(draws: Draws, shape: TaskShape) -> Latents:
    """Latents of structural causal models whose nodes are piecewise constant.

    A node asks up to four rules "parent > threshold", the threshold being the parent's value in a random row. An
    oblivious tree looks the answers up in a table of 2⁴ random leaf values; a threshold ensemble adds up a random
    amount for each rule. Some tasks add the first parent itself (a linear leaf). Random choices besides those of
    `sample_scm`: two a task; per node the number of rules, tree or ensemble, 16 leaves, and per rule parent, row,
    amount.
    """
    b, n = shape.n_tasks, shape.n_rows
    tree_share = draws.uniform(b, 1, 1)
    slope = draws.sparse_level(b, 1, 1, none=0.6, high=1.0)

    def layer(parents: Tensor, is_parent: Tensor) -> Tensor:
        h = parents.shape[2]
        n_parents = is_parent.sum(1, keepdim=True)
        parent = draws.integers(b, h * N_RULES, low=0, high=n_parents - 1)
        asked = pick_columns(parents, parent)
        row = draws.integers(b, 1, h * N_RULES, low=0, high=n - 1)
        answers = (asked > asked.gather(1, row)).view(b, n, h, N_RULES)
        n_rules = 1 + draws.choice((0.35, 0.3, 0.2, 0.15), b, 1, h, 1)
        answers = answers & (torch.arange(N_RULES, device=draws.device) < n_rules)
        powers = 2 ** torch.arange(N_RULES, device=draws.device)
        leaf = (answers * powers).sum(3)
        tree = draws.normal(b, 2**N_RULES, h).gather(1, leaf)
        ensemble = (answers * draws.normal(b, 1, h, N_RULES)).sum(3)
        is_tree = draws.chance(b, 1, h, p=tree_share)
        linear = asked.view(b, n, h, N_RULES)[..., 0]
        return torch.where(is_tree, tree, ensemble) + slope * linear

    return sample_scm(draws, shape, layer)
