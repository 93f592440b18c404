"""The network's input: a padded batch of tasks.

Shape legend, used all over ``vsacli.nn``::

    B tasks    L labeled rows    U unlabeled rows    N = L + U rows, labeled first
    M attributes    C classes (or targets)    S = M + C slots of the second mode
    H width of the third mode    R heads    H_K, H_V width of a head's keys and values
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass
class StructureBatch:
    """The structure of a task's whole table, for the task's rows (:class:`vsacli.structure.RowStructure`), padded.

    Attributes
    ----------
    coordinates : Tensor, shape (B, N, K)
        Diffusion coordinates.
    weights : Tensor, shape (B, K)
        How much each counts, from 0 to 1.
    mask : Tensor of bool, shape (B, K)
        False where a task has no such coordinate.
    answers : Tensor, shape (B, N, C, A)
        Answers along the graph; for numbers, the first A - 1 are in the units of the targets.
    answered : Tensor of bool, shape (B, N)
        False where a row has no answers.
    """

    coordinates: Tensor
    weights: Tensor
    mask: Tensor
    answers: Tensor
    answered: Tensor

    def map(self, f: Callable[[Tensor], Tensor]) -> StructureBatch:
        """The same with each tensor replaced by ``f`` of it."""
        return StructureBatch(*(f(getattr(self, field.name)) for field in fields(self)))


@dataclass
class TaskBatch:
    """Tasks of different sizes, padded to common ones.

    Attributes
    ----------
    x : Tensor, shape (B, N, M)
        Attribute values; anything finite where not observed.
    observed : Tensor of bool, shape (B, N, M)
        False where the value is missing or padding.
    n_labeled : int
        L: rows below it are labeled (or padding), rows from it on are unlabeled (or padding).
    y : Tensor, shape (B, L) of long or (B, L, T) of float
        Classes, or targets, of the labeled rows.
    row_mask : Tensor of bool, shape (B, N)
        False where the row is padding.
    attr_mask : Tensor of bool, shape (B, M)
        False where the attribute is padding.
    class_mask : Tensor of bool, shape (B, C)
        False where the class (or target) is padding.
    structure : StructureBatch, optional
        The structure of the whole tables, for these rows; None if it is not known.
    """

    x: Tensor
    observed: Tensor
    n_labeled: int
    y: Tensor
    row_mask: Tensor
    attr_mask: Tensor
    class_mask: Tensor
    structure: StructureBatch | None = None

    def to(self, device: torch.device | str, non_blocking: bool = False) -> TaskBatch:
        """The same tasks on another device."""
        return self.map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> TaskBatch:
        """The same tasks in page-locked memory."""
        return self.map(lambda t: t.pin_memory())

    def double(self) -> TaskBatch:
        """The same tasks with values in float64, for exact tests."""
        return self.map(lambda t: t.double() if t.is_floating_point() else t)

    def map(self, f: Callable[[Tensor], Tensor]) -> TaskBatch:
        """The same tasks with each tensor replaced by ``f`` of it."""
        return TaskBatch(
            x=f(self.x),
            observed=f(self.observed),
            n_labeled=self.n_labeled,
            y=f(self.y),
            row_mask=f(self.row_mask),
            attr_mask=f(self.attr_mask),
            class_mask=f(self.class_mask),
            structure=None if self.structure is None else self.structure.map(f),
        )

    @property
    def labeled_mask(self) -> Tensor:
        """(B, L) bool: labeled rows, without padding."""
        return self.row_mask[:, : self.n_labeled]

    def apart(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """What (B, N, ...) holds of the labeled rows and of the unlabeled ones."""
        return rows[:, : self.n_labeled], rows[:, self.n_labeled :]

    def one_hot(self) -> Tensor:
        """(B, L, C): labels as one-hot rows, zero in padded rows; targets are returned masked."""
        seen = self.labeled_mask.unsqueeze(-1)
        if self.y.is_floating_point():
            return torch.where(seen, self.y, torch.zeros_like(self.y))
        # one_hot() of the whole batch needs a host sync on a GPU; a comparison does not
        classes = torch.arange(self.class_mask.shape[1], device=self.y.device)
        return ((self.y.unsqueeze(-1) == classes) & seen).to(self.x.dtype)
