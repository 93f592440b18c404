"""Mixtures of clusters: each class is one or several clouds of points, apart or overlapping."""

from __future__ import annotations

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, exact_labels, standardise
from vsacli.tasks.synthetic.latents import Latents, TaskShape

MAX_CLUSTERS_A_CLASS = 4
RANK = 2


def sample_clusters(draws: Draws, shape: TaskShape) -> Latents:
    """Latents of b cluster mixtures.

    Per task: class proportions, 1 to 4 clusters per class, the distance between centres (1 to 10 within-cluster
    standard deviations, log-uniform), how many dimensions tell clusters apart (the others have one common
    centre), centres that are normal or corners of a cube (then classes are often not linearly separable), tails (normal
    or a scale mixture), and whether clusters share their covariance. Per cluster: a weight, a centre, a diagonal scale
    and a covariance of rank two. For regression a cluster has a level and a slope. Random choices: ten or so a task; a
    cluster has one weight, d centres, d scales and 2 d loadings in d = 2 to 16 dimensions.
    """
    b, n = shape.n_tasks, shape.n_rows
    n_groups = max(2, shape.n_classes)
    d = max(2, min(16, shape.n_attributes))
    labels = exact_labels(draws, draws.proportions(b, n_groups), n, shape.min_per_class)

    per_class = 1 + draws.choice((0.45, 0.25, 0.2, 0.1), b, 1, 1)
    weights = (0.7 * draws.normal(b, n_groups, MAX_CLUSTERS_A_CLASS)).exp()
    weights = weights * (torch.arange(MAX_CLUSTERS_A_CLASS, device=draws.device) < per_class)
    edges = (weights / weights.sum(2, keepdim=True)).cumsum(2)
    edges = edges.gather(1, labels.unsqueeze(2).expand(-1, -1, MAX_CLUSTERS_A_CLASS))
    within = (draws.uniform(b, n, 1) >= edges[..., :-1]).sum(2)
    cluster = labels * MAX_CLUSTERS_A_CLASS + within

    g = n_groups * MAX_CLUSTERS_A_CLASS
    normal = draws.normal(b, g, d)
    telling = draws.chance(b, 1, d, p=draws.uniform(b, 1, 1, low=0.1, high=1.0))
    telling[:, :, 0] = True
    distance = draws.log_uniform(b, 1, 1, low=1.0, high=10.0) / telling.sum(2, keepdim=True).sqrt()
    corners = draws.chance(b, 1, 1, p=0.3)
    centres = distance * torch.where(corners, normal.sign(), normal) * telling
    common = draws.chance(b, 1, 1, p=0.4)
    scales = (0.5 * torch.where(common, draws.normal(b, 1, d), draws.normal(b, g, d))).exp()
    axes = torch.where(common, draws.normal(b, 1, RANK * d), draws.normal(b, g, RANK * d))
    axes = axes * draws.sparse_level(b, 1, 1, none=0.4, high=1.0)

    tails = draws.sparse_level(b, 1, 1, none=0.6, high=0.8)
    cloud = of_row(scales, cluster) * draws.normal(b, n, d)
    factors = draws.normal(b, n, RANK, 1)
    cloud = cloud + (of_row(axes, cluster).view(b, n, RANK, d) * factors).sum(2)
    offset = cloud * (tails * draws.normal(b, n, 1)).exp()
    nodes = standardise(of_row(centres, cluster) + offset)

    level = of_row(2.0 * draws.normal(b, g, 1), cluster)
    slope = of_row(draws.normal(b, g, d) * telling, cluster)
    steepness = draws.sparse_level(b, 1, 1, none=0.3, high=1.0)
    scores = level + steepness * (slope * offset).sum(2, keepdim=True)
    visible = torch.ones(b, d, dtype=torch.bool, device=draws.device)
    return Latents(nodes, visible, standardise(scores), labels)


def of_row(values: Tensor, cluster: Tensor) -> Tensor:
    """The values (b, G or 1, d) of each row's cluster (b, N): (b, N, d)."""
    if values.shape[1] == 1:
        return values.expand(-1, cluster.shape[1], -1)
    return values.gather(1, cluster.unsqueeze(2).expand(-1, -1, values.shape[2]))
