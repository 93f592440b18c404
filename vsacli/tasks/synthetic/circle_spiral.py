"""The paper's Circle-Spiral data (section 4.1): two shapes in the plane, hidden among noise attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vsacli.errors import UsageError
from vsacli.tasks.store import EncodedTable

N_ARMS = 5
RADII = (0.5, 1.0)
CIRCLE_NOISE = 0.05
SPIRAL_NOISE = 0.02
SPIRAL_START = 0.2
SPIRAL_TURN = 0.5


@dataclass(frozen=True)
class CircleSpiralTask:
    """One task of the Circle-Spiral data.

    Attributes
    ----------
    name : str
        For example ``circle-007``.
    shape : "circle" or "spiral"
    x : ndarray of float32, shape (N, M)
    y : ndarray of int64, shape (N,)
        0 and 1 for the two circles, 0 to 4 for the five arms.
    place : tuple of int
        The attributes that hold the two coordinates (for plots and tests).
    """

    name: str
    shape: Literal["circle", "spiral"]
    x: np.ndarray
    y: np.ndarray
    place: tuple[int, int]

    @property
    def n_classes(self) -> int:
        """2 for a circle task, 5 for a spiral task."""
        return len(RADII) if self.shape == "circle" else N_ARMS


def circle_spiral(n_tasks: int = 100, seed: int = 0, n_examples: int = 100) -> list[CircleSpiralTask]:
    """Draw Circle and Spiral tasks as the paper describes them.

    From the paper: 100 tasks of 100 examples; two concentric circles of different radius, or five spiral arms, in two
    dimensions; attributes of standard Gaussian noise added up to two to ten attributes in all; attributes permuted
    in each task. Where it is silent, we chose:

    - circle and spiral tasks are equally many (a random half), the number of attributes is uniform from 2 to 10;
    - classes have equally many examples (50 each of two, 20 each of five): arms have 20, so an episode of 20 unlabeled
      examples per class needs `n_examples` of 125 at 5 shots, or takes what is left;
    - circles have radii 0.5 and 1, the angle is uniform, both coordinates have Gaussian noise of 0.05;
    - arm k is r = 0.2 + 0.8 t at the angle 2π (k / 5 + t / 2), that is half a turn, t uniform in [0, 1]; noise 0.02;
    - the two coordinates are then scaled to unit variance, as the noise attributes have it, so that scale does not give
      them away. The radii of circles and the arms' place are the same in all tasks.

    Parameters
    ----------
    n_tasks, seed, n_examples : int

    Raises
    ------
    UsageError
        If there is no task, or fewer than one example for each of the five arms.
    """
    if n_tasks < 1 or n_examples < N_ARMS:
        raise UsageError(f"Circle-Spiral needs a task and {N_ARMS} examples, not {n_tasks} and {n_examples}")
    rng = np.random.default_rng([seed, 20231105])
    is_circle = rng.permutation(n_tasks) < n_tasks / 2
    tasks: list[CircleSpiralTask] = []
    for number, circle in enumerate(is_circle):
        y = rng.permutation(np.arange(n_examples) % (len(RADII) if circle else N_ARMS))
        plane = circle_points(rng, y) if circle else spiral_points(rng, y)
        n_attributes = int(rng.integers(2, 11))
        noise = rng.standard_normal((n_examples, n_attributes - 2))
        order = rng.permutation(n_attributes)
        x = np.concatenate([plane, noise], axis=1)[:, order].astype(np.float32)
        place = (int(np.flatnonzero(order == 0)[0]), int(np.flatnonzero(order == 1)[0]))
        shape = "circle" if circle else "spiral"
        tasks.append(CircleSpiralTask(f"{shape}-{number:03d}", shape, x, y.astype(np.int64), place))
    return tasks


def as_tables(tasks: Sequence[CircleSpiralTask], splits: Sequence[str]) -> list[EncodedTable]:
    """The tasks as tables of one family each, in the splits given."""
    return [
        EncodedTable(
            name=task.name,
            family=task.name,
            kind="classification",
            x=task.x,
            column=np.arange(task.x.shape[1], dtype=np.int32),
            y=task.y,
            n_classes=task.n_classes,
            split=split,
        )
        for task, split in zip(tasks, splits, strict=True)
    ]


def circle_points(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Points (N, 2) on the circle of each class, divided by the coordinates' population standard deviation."""
    angle = rng.uniform(0, 2 * math.pi, len(y))
    plane = np.asarray(RADII)[y][:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    variance = np.mean(np.square(RADII)) / 2 + CIRCLE_NOISE**2
    return (plane + rng.normal(0, CIRCLE_NOISE, plane.shape)) / math.sqrt(variance)


def spiral_points(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Points (N, 2) on the arm of each class, divided by the coordinates' population standard deviation."""
    t = rng.uniform(0, 1, len(y))
    radius = SPIRAL_START + (1 - SPIRAL_START) * t
    angle = 2 * math.pi * (y / N_ARMS + SPIRAL_TURN * t)
    plane = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # E[r²] for r uniform in [s, 1]; five arms at equal angles share it equally between the coordinates.
    variance = (1 + SPIRAL_START + SPIRAL_START**2) / 3 / 2 + SPIRAL_NOISE**2
    return (plane + rng.normal(0, SPIRAL_NOISE, plane.shape)) / math.sqrt(variance)
