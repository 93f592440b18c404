"""Curves and surfaces: classes that lie along a shape, so that unlabeled rows show where it runs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from vsacli.tasks.synthetic.draws import Draws, exact_labels, standardise
from vsacli.tasks.synthetic.latents import Latents, TaskShape

N_SHAPES = 7
N_COORDINATES = 3


def sample_manifolds(draws: Draws, shape: TaskShape) -> Latents:
    """Latents of b tasks on curves in two or three dimensions.

    Per task: the shape (concentric circles or spheres, arcs, spiral arms, a roll cut into segments, waves above each
    other, interlocked rings, braided strands), its extent (turns, frequency), thickness of the noise (0.01 to 0.3),
    class proportions, whether it lies along the axes or rotated, and whether one sees its coordinates, random linear
    maps of them, or bent maps. For regression the target is a wave along the curve plus a level for each strand.
    Random choices: about fifteen a task, five an embedded coordinate.
    """
    b, n = shape.n_tasks, shape.n_rows
    n_strands = max(2, shape.n_classes) if shape.n_classes else 2
    labels = exact_labels(draws, draws.proportions(b, n_strands), n, shape.min_per_class)
    along, across = draws.uniform(b, n), draws.normal(b, n)
    points = place_on_shape(draws, labels, n_strands, along, across)
    thickness = draws.log_uniform(b, 1, 1, low=0.01, high=0.3)
    points = standardise(points) + thickness * draws.normal(b, n, N_COORDINATES)

    flat = draws.chance(b, 1, p=0.7)  # the third coordinate is for the shapes that need it, else a nuisance
    rotated = draws.chance(b, 1, 1, p=0.5)
    points = torch.where(rotated, torch.bmm(points, rotations(draws, b)), points)

    k = max(4, min(16, shape.n_attributes))
    maps = draws.normal(b, N_COORDINATES, k)
    linear = standardise(points @ maps)
    bend = draws.log_uniform(b, 1, k, low=0.5, high=2.0)
    bent = standardise((bend * linear + draws.normal(b, 1, k)).tanh())
    embedded = torch.where(draws.chance(b, 1, 1, p=0.5), linear, bent)
    nodes = torch.cat([points, embedded], dim=2)
    direct = draws.chance(b, 1, p=0.6)
    column = torch.arange(N_COORDINATES + k, device=draws.device).unsqueeze(0)
    is_coordinate = column < N_COORDINATES
    planar = flat & ~rotated.view(b, 1)
    visible = torch.where(direct, is_coordinate & ~(planar & (column == 2)), ~is_coordinate)

    frequency = draws.uniform(b, 1, low=0.2, high=2.0) * 2 * math.pi
    wave = (frequency * along + draws.uniform(b, 1, high=2 * math.pi)).sin()
    scores = wave + draws.sparse_level(b, 1, none=0.3, high=1.5) * labels
    return Latents(nodes, visible, standardise(scores.unsqueeze(2)), labels)


def rotations(draws: Draws, n_tasks: int) -> Tensor:
    """Random rotations (b, 3, 3), by orthogonalising two normal vectors and completing them."""
    first, second = draws.normal(n_tasks, 2, N_COORDINATES).unbind(1)
    first = torch.nn.functional.normalize(first, dim=1)
    second = torch.nn.functional.normalize(second - (first * second).sum(1, keepdim=True) * first, dim=1)
    return torch.stack([first, second, torch.linalg.cross(first, second)], 1)


def place_on_shape(draws: Draws, strand: Tensor, n_strands: int, along: Tensor, across: Tensor) -> Tensor:
    """Points (b, N, 3) of rows at `along` in [0, 1) on their strand; `across` is a standard normal number per row.

    All shapes are computed and each task picks one: that is cheaper than splitting the batch.
    """
    b = strand.shape[0]
    share = strand / n_strands
    turns = draws.uniform(b, 1, low=0.4, high=1.5)
    angle = 2 * math.pi * along
    z = torch.zeros_like(along)

    radius = (strand + 1.0) / n_strands
    height = (2 * draws.uniform(*along.shape) - 1) * draws.chance(b, 1, p=0.4)  # sphere instead of circle
    level = (1 - height.square()).sqrt()
    circles = torch.stack([radius * level * angle.cos(), radius * level * angle.sin(), radius * height], 2)

    flip = 1.0 - 2.0 * (strand % 2)
    half = math.pi * along
    arcs = torch.stack([half.cos() * flip + strand, half.sin() * flip + 0.4 * (strand % 2), z], 2)

    reach = 0.15 + along
    swirl = 2 * math.pi * (turns * along + share)
    spirals = torch.stack([reach * swirl.cos(), reach * swirl.sin(), z], 2)

    place = share + along / n_strands
    roll_angle = 2 * math.pi * (0.5 + turns * place)
    roll = torch.stack([roll_angle * roll_angle.cos(), roll_angle * roll_angle.sin(), 3 * across], 2)

    wave = (2 * math.pi * turns * along).sin()
    waves = torch.stack([2 * along, 0.6 * wave + 1.2 * share * draws.uniform(b, 1, low=0.5, high=1.5), across], 2)

    even = (strand % 2 == 0).float()
    x, y = angle.cos(), angle.sin()
    rings = torch.stack([x + strand, y * even, y * (1 - even)], 2)

    phase = 2 * math.pi * (1.5 * turns * along + share)
    braids = torch.stack([phase.cos(), phase.sin(), 3 * along], 2)

    kind = draws.integers(b, 1, 1, low=0, high=N_SHAPES - 1)
    out = circles
    for number, points in enumerate((arcs, spirals, roll, waves, rings, braids), start=1):
        out = torch.where(kind == number, points, out)
    return out
