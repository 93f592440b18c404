"""How the network reads the structure of a whole table: coordinates as slots, answers in the label slots.

x (B, N, M) and coordinates (B, N, K) --> slots (B, N, M + K + C), with channels that say which is which
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from vsacli.nn.batch import TaskBatch
from vsacli.nn.config import VSAConfig
from vsacli.structure.answers import CLASS_ANSWERS, CLASS_CHANNELS, NUMBER_ANSWERS, NUMBER_CHANNELS, SPACE_ANSWERS

MARKS = 3
"""Channels beside the answers: whether a slot is a coordinate, how much it counts, and whether a row is answered."""

FOLLOWED_AT_FIRST = {"classification": 0.1, "regression": 0.02}
"""Share of each answer along the graph that an untrained network adds to its own."""

SPACE_FOLLOWED_AT_FIRST = 0.02
"""The same of answers in the space of the classes."""


def structure_answers(kind: str) -> int:
    """Answers along the graph that may be followed."""
    return CLASS_ANSWERS if kind == "classification" else NUMBER_ANSWERS


def structure_width(config: VSAConfig) -> int:
    """Channels that structure adds to the input tensor."""
    if not config.structure:
        return 0
    if config.kind == "regression":
        return MARKS + NUMBER_CHANNELS
    return MARKS + CLASS_CHANNELS + (SPACE_ANSWERS if config.class_space else 0)


def with_coordinates(batch: TaskBatch) -> TaskBatch:
    """The tasks with their coordinates as K further attributes after the others; observed in every row."""
    structure = batch.structure
    if structure is None:
        return batch
    shown = structure.mask.unsqueeze(1).expand(structure.coordinates.shape)
    return replace(
        batch,
        x=torch.cat([batch.x, structure.coordinates.to(batch.x.dtype)], 2),
        observed=torch.cat([batch.observed, shown], 2),
        attr_mask=torch.cat([batch.attr_mask, structure.mask], 1),
    )


def structure_channels(batch: TaskBatch, width: int) -> Tensor:
    """Channels (B, N, M + K + C, width) to append to those of the input tensor; 0 where nothing is known.

    Parameters
    ----------
    batch : TaskBatch
        As :func:`with_coordinates` gives it.
    width : int
        :func:`structure_width`.
    """
    b, n, m = batch.x.shape
    z = batch.x.new_zeros(b, n, m + batch.class_mask.shape[1], width)
    structure = batch.structure
    if structure is None:
        return z
    k = structure.mask.shape[1]
    mask = structure.mask.to(z.dtype)
    z[:, :, m - k : m, 0] = mask.unsqueeze(1)
    z[:, :, m - k : m, 1] = (mask * structure.weights).unsqueeze(1)
    answered = structure.answered[:, :, None] & batch.class_mask.unsqueeze(1)  # (B, N, C)
    z[:, :, m:, 2] = answered.to(z.dtype)
    z[:, :, m:, MARKS:] = known_answers(batch)[..., : width - MARKS].to(z.dtype)
    return z


def known_answers(batch: TaskBatch) -> Tensor:
    """Answers of the structure (B, N, C, A), 0 where there are none; the batch has a structure."""
    structure = batch.structure
    assert structure is not None
    known = (structure.answered[:, :, None] & batch.class_mask.unsqueeze(1)).unsqueeze(-1)
    return torch.where(known, structure.answers, torch.zeros_like(structure.answers))
