"""What a family of tasks hands on: latent columns, which of them may be seen, and what is to be predicted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, pick_columns, standardise


@dataclass(frozen=True)
class TaskShape:
    """What the tasks of one batch share.

    Attributes
    ----------
    n_tasks, n_rows, n_attributes : int
    n_classes : int
        0 for regression.
    min_per_class : int
        Rows that every class has at least (fewer only if n_rows / n_classes is less).
    """

    n_tasks: int
    n_rows: int
    n_attributes: int
    n_classes: int
    min_per_class: int

    @property
    def n_scores(self) -> int:
        """Columns from which the answer is derived: one per class, or one for regression."""
        return max(1, self.n_classes)


@dataclass(frozen=True)
class Latents:
    """Tasks before anybody measured them.

    Attributes
    ----------
    nodes : Tensor (b, N, K)
        Columns that can become attributes.
    visible : Tensor (b, K) bool
        Which nodes of each task may become attributes.
    scores : Tensor (b, N, C or 1)
        What the answer is derived from; its first column is the regression target.
    labels : Tensor (b, N) long, optional
        Classes, if the family draws them itself (then scores are not used for classification).
    """

    nodes: Tensor
    visible: Tensor
    scores: Tensor
    labels: Tensor | None = None


def choose_attributes(draws: Draws, latents: Latents, answer: Tensor, shape: TaskShape) -> Tensor:
    """Measure M columns of every task: nodes, noise, copies and combinations, in no particular order.

    Who makes a table collects what has to do with the question: a node's chance grows with its relevance to the answer
    (b, N), by a factor that each task draws (none in a fifth of the tasks). A task also draws how many attributes are
    irrelevant (none in half of the tasks, up to 50 % otherwise), how many repeat another one (none in 7 of 10, up to
    30 %), how many add several others up (likewise), and how strong the noise of measurement is (none in two of three).
    Where a task has fewer visible nodes than attributes, noise and copies fill the rest. Random choices: seven a task,
    four an attribute.

    Returns
    -------
    Tensor (b, N, M), standardised.
    """
    nodes, visible = latents.nodes, latents.visible
    y = torch.nn.functional.one_hot(answer, shape.n_classes).float() if shape.n_classes else answer.unsqueeze(2)
    if latents.labels is None or not shape.n_classes:
        nodes = add_effects(draws, nodes, y)
    b, n_rows, n_nodes = nodes.shape
    m = shape.n_attributes
    care = draws.sparse_level(b, 1, none=0.2, high=6.0)
    rank = (draws.uniform(b, n_nodes) + care * relevance(nodes, y)).masked_fill(~visible, -1.0)
    rank, index = rank.topk(min(m, n_nodes), dim=1)
    absent = torch.nn.functional.pad(rank < 0, (0, m - index.shape[1]), value=True)
    x = pick_columns(nodes, torch.nn.functional.pad(index, (0, m - index.shape[1])))

    # The first attribute always carries signal; absent nodes become copies of earlier ones or noise.
    irrelevant = draws.chance(b, m, p=draws.sparse_level(b, 1, none=0.5, high=0.5)) & ~absent
    repeated = draws.chance(b, m, p=draws.sparse_level(b, 1, none=0.7, high=0.3)) & ~absent
    added = draws.chance(b, m, p=draws.sparse_level(b, 1, none=0.7, high=0.3)) & ~absent
    fill_by_copy = draws.chance(b, m, p=draws.uniform(b, 1)) & absent
    irrelevant, repeated = irrelevant | (absent & ~fill_by_copy), repeated | fill_by_copy
    for slots in (irrelevant, repeated, added):
        slots[:, 0] = False

    x = torch.where(irrelevant.unsqueeze(1), draws.columns(b, n_rows, m), x)
    n_sources = (~absent).sum(1, keepdim=True).clamp(min=1)
    source = draws.integers(b, m, low=0, high=n_sources - 1)
    blur = draws.noise_level(b, 1, m, none=0.4, low=0.03, high=1.0)
    copies = pick_columns(x, source) * torch.where(draws.chance(b, 1, m, p=0.3), -1.0, 1.0)
    mixture = draws.normal(b, m, m) * draws.chance(b, m, m, p=min(1.0, 3.0 / m))
    sums = torch.bmm(x, mixture)
    x = torch.where(repeated.unsqueeze(1), copies + blur * draws.normal(b, n_rows, m), x)
    x = torch.where(added.unsqueeze(1), standardise(sums) + 0.3 * blur * draws.normal(b, n_rows, m), x)

    error = draws.noise_level(b, 1, 1, none=0.65, low=0.02, high=0.6)
    x = standardise(x) + error * draws.normal(b, n_rows, m)
    return standardise(pick_columns(x, draws.permutations(b, m)))


def add_effects(draws: Draws, nodes: Tensor, y: Tensor) -> Tensor:
    """Let the answer act on some nodes (b, N, K), as a species does on what is measured of it.

    None in half of the tasks; the others draw a strength (0.3 to 2 standard deviations, log-uniform) and the share of
    nodes concerned. A node has a random shift for each class, or for numbers a multiple, bent in half of the nodes.

    Parameters
    ----------
    y : Tensor (b, N, C) of 0 and 1, or (b, N, 1) of numbers
    """
    b, _, k = nodes.shape
    strength = draws.noise_level(b, 1, 1, none=0.5, low=0.3, high=2.0)
    size = strength * draws.chance(b, 1, k, p=draws.uniform(b, 1, 1)) * draws.normal(b, 1, k)
    if y.shape[2] > 1:
        effect = torch.bmm(y, draws.normal(b, y.shape[2], k))
    else:
        effect = torch.where(draws.chance(b, 1, k, p=0.5), y, (2 * y + draws.normal(b, 1, k)).tanh())
    return standardise(nodes + size * effect)


def relevance(nodes: Tensor, y: Tensor) -> Tensor:
    """Largest absolute correlation (b, K) of nodes (b, N, K) with a column of the answer (b, N, C or 1)."""
    return torch.bmm(standardise(nodes).transpose(1, 2), standardise(y)).abs().amax(2) / nodes.shape[1]
