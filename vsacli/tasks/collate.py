"""Several episodes side by side as a padded batch of tensors, as the network and the loss read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vsacli.nn.batch import StructureBatch, TaskBatch
from vsacli.tasks.episode import Episode


@dataclass
class EpisodeBatch:
    """Padded episodes as the network and the loss read them.

    Attributes
    ----------
    tasks : TaskBatch
        The network's input.
    answer : Tensor, shape (B, U)
        Held-out classes (long) or targets (float); 0 where padded.
    scored : Tensor of bool, shape (B, U)
        Where ``answer`` counts.
    """

    tasks: TaskBatch
    answer: torch.Tensor
    scored: torch.Tensor

    def to(self, device: torch.device | str, non_blocking: bool = False) -> EpisodeBatch:
        """The same batch on another device."""
        return EpisodeBatch(
            self.tasks.to(device, non_blocking),
            self.answer.to(device, non_blocking=non_blocking),
            self.scored.to(device, non_blocking=non_blocking),
        )

    def pin_memory(self) -> EpisodeBatch:
        """The same batch in page-locked memory, from which copies to a GPU run in the background."""
        return EpisodeBatch(self.tasks.pin_memory(), self.answer.pin_memory(), self.scored.pin_memory())


def collate(episodes: Sequence[Episode]) -> EpisodeBatch:
    """Pad episodes of one kind to common sizes and stack them.

    Parameters
    ----------
    episodes : sequence of Episode
        At least one; all of the same kind.

    Returns
    -------
    EpisodeBatch
        With L, U, M, C the largest among the episodes.
    """
    b = len(episodes)
    n_l = max(e.n_labeled for e in episodes)
    n_u = max(e.n_unlabeled for e in episodes)
    m = max(e.x.shape[1] for e in episodes)
    c = max(e.n_classes for e in episodes)
    classes = episodes[0].kind == "classification"

    x = np.zeros((b, n_l + n_u, m), np.float32)
    observed = np.zeros((b, n_l + n_u, m), bool)
    rows = np.zeros((b, n_l + n_u), bool)
    attrs = np.zeros((b, m), bool)
    class_mask = np.zeros((b, c), bool)
    y = np.zeros((b, n_l), np.int64) if classes else np.zeros((b, n_l, 1), np.float32)
    answer = np.zeros((b, n_u), np.int64 if classes else np.float32)
    scored = np.zeros((b, n_u), bool)
    for i, e in enumerate(episodes):
        n, u, k = e.n_labeled, e.n_unlabeled, e.x.shape[1]
        for first, part in ((0, e.x[:n]), (n_l, e.x[n:])):
            seen = np.isfinite(part)
            at = slice(first, first + len(part))
            observed[i, at, :k] = seen
            x[i, at, :k] = np.where(seen, part, 0)
            rows[i, at] = True
        attrs[i, :k] = True
        class_mask[i, : e.n_classes] = True
        if classes:
            y[i, :n] = e.y[:n]
        else:
            y[i, :n, 0] = e.y[:n]
        scored[i, :u] = e.scored
        answer[i, :u] = np.where(e.scored, e.answer, 0)
    tasks = TaskBatch(
        x=torch.from_numpy(x),
        observed=torch.from_numpy(observed),
        n_labeled=n_l,
        y=torch.from_numpy(y),
        row_mask=torch.from_numpy(rows),
        attr_mask=torch.from_numpy(attrs),
        class_mask=torch.from_numpy(class_mask),
        structure=_collated_structure(episodes, n_l, n_u, c),
    )
    return EpisodeBatch(tasks, torch.from_numpy(answer), torch.from_numpy(scored))


def _collated_structure(
    episodes: Sequence[Episode], n_labeled: int, n_unlabeled: int, n_classes: int
) -> StructureBatch | None:
    """The structures of episodes, padded to common sizes; None if no episode has one."""
    known = [e.structure for e in episodes if e.structure is not None]
    if not known:
        return None
    b, n = len(episodes), n_labeled + n_unlabeled
    k = max(len(s.weights) for s in known)
    coordinates = np.zeros((b, n, k), np.float32)
    weights = np.zeros((b, k), np.float32)
    mask = np.zeros((b, k), bool)
    answers = np.zeros((b, n, n_classes, known[0].answers.shape[2]), np.float32)
    answered = np.zeros((b, n), bool)
    for i, e in enumerate(episodes):
        s = e.structure
        if s is None:
            continue
        own = len(s.weights)
        weights[i, :own] = s.weights
        mask[i, :own] = True
        for first, part in ((0, slice(0, e.n_labeled)), (n_labeled, slice(e.n_labeled, len(e.x)))):
            at = slice(first, first + len(s.coordinates[part]))
            coordinates[i, at, :own] = s.coordinates[part]
            answers[i, at, : e.n_classes] = np.nan_to_num(s.answers[part])
            answered[i, at] = s.answered[part]
    return StructureBatch(*map(torch.from_numpy, (coordinates, weights, mask, answers, answered)))
