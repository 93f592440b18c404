"""The prior: random tabular tasks in batches, for meta-training.

A batch is a mixture over tasks of families (each in its own file), measured as a table would be (`observe`). All of it
is batched torch code that runs on the device given: no loop over tasks, a few over families, layers and classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from vsacli.errors import UsageError
from vsacli.tasks.synthetic.clusters import sample_clusters
from vsacli.tasks.synthetic.draws import Draws
from vsacli.tasks.synthetic.latents import Latents, TaskShape, choose_attributes
from vsacli.tasks.synthetic.manifolds import sample_manifolds
from vsacli.tasks.synthetic.observe import observe
from vsacli.tasks.synthetic.scm_mlp import sample_mlp_scm
from vsacli.tasks.synthetic.scm_tree import sample_tree_scm
from vsacli.tasks.synthetic.smooth import sample_smooth
from vsacli.tasks.synthetic.targets import make_classes, make_numbers

FAMILIES: dict[str, tuple[float, Callable[[Draws, TaskShape], Latents]]] = {
    "mlp": (0.30, sample_mlp_scm),
    "tree": (0.20, sample_tree_scm),
    "clusters": (0.20, sample_clusters),
    "manifolds": (0.12, sample_manifolds),
    "smooth": (0.18, sample_smooth),
}


@dataclass(frozen=True)
class PriorBatch:
    """Tasks of one size, with all answers.

    Attributes
    ----------
    x : Tensor (B, N, M) float32
        Attributes, scaled and softly bounded as the columns of a file are (`observe.scale_known`); 0 where unknown.
    observed : Tensor (B, N, M) bool
        False where a value is missing.
    y : Tensor (B, N)
        Classes (long, 0…C-1) or targets (float32, standardised over rows).
    """

    x: Tensor
    observed: Tensor
    y: Tensor


def sample_prior(
    n_tasks: int,
    n_rows: int,
    n_attributes: int,
    *,
    kind: Literal["classification", "regression"],
    n_classes: int = 2,
    generator: torch.Generator,
    min_per_class: int = 2,
    families: dict[str, float] | None = None,
) -> PriorBatch:
    """Draw B random tasks that share their sizes and nothing else.

    Parameters
    ----------
    n_tasks, n_rows, n_attributes : int
        B, N and M.
    kind : "classification" or "regression"
    n_classes : int
        C, at least 2; not used for regression.
    generator : torch.Generator
        Of the device that the tasks are to be on. Its state decides them: the same state gives the same tasks (on
        one device and one version of torch), and it is advanced.
    min_per_class : int
        Rows that every class has at least; if N / C is smaller, that many.
    families : dict, optional
        Weight of each family, by name (keys of `FAMILIES`), in place of the usual mixture.

    Raises
    ------
    UsageError
        If a size is too small or a family is unknown.
    """
    if kind not in ("classification", "regression"):
        raise UsageError(f"kind {kind!r} is neither classification nor regression")
    if n_tasks < 1 or n_attributes < 1:
        raise UsageError(f"a batch needs a task and an attribute, not {n_tasks} and {n_attributes}")
    if n_rows < 4 or (kind == "classification" and not 2 <= n_classes <= n_rows):
        raise UsageError(f"{n_rows} rows are too few for a task" + f" of {n_classes} classes" * (kind != "regression"))
    weights = {name: weight for name, (weight, _) in FAMILIES.items()} if families is None else families
    unknown = sorted(set(weights) - set(FAMILIES))
    if unknown:
        raise UsageError(f"no family {unknown[0]!r} in the prior; there are {', '.join(FAMILIES)}")

    draws = Draws(generator, generator.device)
    n_classes = n_classes if kind == "classification" else 0
    names = list(weights)
    family = draws.choice([weights[name] for name in names], n_tasks)
    parts: list[tuple[Tensor, Tensor]] = []
    for name, count in zip(names, torch.bincount(family, minlength=len(names)).tolist(), strict=True):
        if count == 0:
            continue
        shape = TaskShape(count, n_rows, n_attributes, n_classes, min_per_class)
        latents = FAMILIES[name][1](draws, shape)
        y = make_classes(draws, latents, shape) if n_classes else make_numbers(draws, latents)
        parts.append((choose_attributes(draws, latents, y, shape), y))

    back = family.argsort(stable=True).argsort()  # the parts lie family by family
    x, observed = observe(draws, torch.cat([x for x, _ in parts])[back])
    return PriorBatch(x, observed, torch.cat([y for _, y in parts])[back])
