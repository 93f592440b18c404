"""The batches of a run in the order of its steps, made in worker processes while the model computes."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from vsacli.errors import VsaError
from vsacli.tasks.collate import EpisodeBatch, collate
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import BatchSampler
from vsacli.training.config import TrainConfig

PREFETCH = 4  # batches that a worker has ready
ENDLESS = 1 << 40
OVERHEAD = {"cpu": 400}  # of a part, in cells: what launching its operations takes
OVERHEAD_OF_ACCELERATORS = 30_000


@dataclass
class Part:
    """Episodes of about one size, side by side.

    Attributes
    ----------
    batch : EpisodeBatch
    names : list of str
        The table of each task.
    """

    batch: EpisodeBatch
    names: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def to(self, device: torch.device) -> Part:
        """The same on another device; from page-locked memory in the background."""
        return Part(self.batch.to(device, non_blocking=True), self.names)

    def pin_memory(self) -> Part:
        """The same in page-locked memory."""
        return Part(self.batch.pin_memory(), self.names)

    @property
    def cells(self) -> int:
        """Rows times slots of one task, padding included."""
        _, rows, attributes = self.batch.tasks.x.shape
        return rows * (attributes + self.batch.tasks.class_mask.shape[1])

    def at_most(self, tasks: int) -> list[Part]:
        """The same tasks in parts of at most so many."""
        if len(self) <= tasks:
            return [self]
        return [
            Part(_some(self.batch, slice(i, i + tasks)), self.names[i : i + tasks]) for i in range(0, len(self), tasks)
        ]


class StepBatches(Dataset["list[Part] | VsaError"]):
    """The batch of each step, a function of the step number alone, in parts of similar tasks.

    Parameters
    ----------
    sampler : BatchSampler
    world, rank : int
        Of ``world`` processes, number ``rank`` takes the sampler's batch ``world * step + rank``.
    join : int
        So many batches make one: what ``join`` processes would take in one step.
    overhead : int
        What a part costs beside its cells, in cells.
    """

    def __init__(self, sampler: BatchSampler, world: int = 1, rank: int = 0, join: int = 1, overhead: int = 0) -> None:
        self.sampler = sampler
        self.world = world
        self.rank = rank
        self.join = join
        self.overhead = overhead

    def episodes(self, step: int) -> list[Episode]:
        """The episodes of this process in a step."""
        first = (self.world * step + self.rank) * self.join
        return [e for i in range(self.join) for e in self.sampler(first + i)]

    def __getitem__(self, step: int) -> list[Part] | VsaError:
        try:
            episodes = self.episodes(step)
        except VsaError as e:  # raised in a worker, it would come out as the text of a traceback
            return e
        groups = [[episodes[i] for i in group] for group in group_by_size(episodes, self.overhead)]
        return [Part(collate(group), [e.name for e in group]) for group in groups]


def group_by_size(episodes: Sequence[Episode], overhead: int) -> list[list[int]]:
    """Part episodes so that little is padded: a batch of random tables is three quarters padding otherwise.

    Parameters
    ----------
    episodes : sequence of Episode
    overhead : int
        What a group costs beside its cells, in cells.

    Returns
    -------
    list of list of int
        Of all ways to part the episodes, ordered by size, the one of least padded cells and overheads.
    """
    sizes = np.array([(e.n_labeled, e.n_unlabeled, e.x.shape[1], e.n_classes) for e in episodes])
    order = np.argsort((sizes[:, 0] + sizes[:, 1]) * (sizes[:, 2] + sizes[:, 3]), kind="stable")
    sizes = sizes[order]
    best, start = [0.0], [0]
    for j in range(1, len(sizes) + 1):
        # Groups i..j-1 for all i at once: their sizes are the largest ones among their members.
        labeled, unlabeled, attributes, classes = np.maximum.accumulate(sizes[:j][::-1])[::-1].T
        cost = np.array(best) + overhead + np.arange(j, 0, -1) * (labeled + unlabeled) * (attributes + classes)
        start.append(int(cost.argmin()))
        best.append(float(cost.min()))
    groups, end = [], len(sizes)
    while end:
        groups.append(order[start[end] : end].tolist())
        end = start[end]
    return groups[::-1]


def batches_from(step: int, made: StepBatches, config: TrainConfig, device: torch.device) -> Iterator[list[Part]]:
    """Batches from a step on, to the last one that the config names.

    Raises
    ------
    TrainingError
        While iterating: if no episode can be drawn.
    RuntimeError
        At any moment: if a worker process dies; the text begins with "DataLoader worker".
    """
    loader = DataLoader(
        made,
        batch_size=None,
        sampler=range(step, ENDLESS if config.steps is None else config.steps),
        num_workers=config.workers,
        prefetch_factor=PREFETCH if config.workers else None,
        pin_memory=device.type == "cuda",
        worker_init_fn=_ignore_signals,
    )
    for batch in loader:
        if isinstance(batch, VsaError):
            raise batch
        yield batch


def _ignore_signals(worker: int) -> None:
    """Ctrl-C reaches every process of a terminal; the main one decides and ends the workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _some(batch: EpisodeBatch, at: slice) -> EpisodeBatch:
    return EpisodeBatch(batch.tasks.map(lambda t: t[at]), batch.answer[at], batch.scored[at])
