"""The batches of a run in the order of its steps, made in worker processes while the model computes."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch.utils.data import DataLoader, Dataset

from vsacli.errors import VsaError
from vsacli.tasks.episode import Episode, EpisodeBatch, collate
from vsacli.tasks.sampler import BatchSampler
from vsacli.training.config import TrainConfig

PREFETCH = 4  # batches that a worker has ready
ENDLESS = 1 << 40


class StepBatches(Dataset["EpisodeBatch | VsaError"]):
    """The batch of each step, a function of the step number alone.

    Parameters
    ----------
    sampler : BatchSampler
    world, rank : int
        Of ``world`` processes, number ``rank`` takes the sampler's batch ``world * step + rank``.
    join : int
        So many batches make one: what ``join`` processes would take in one step.
    """

    def __init__(self, sampler: BatchSampler, world: int = 1, rank: int = 0, join: int = 1) -> None:
        self.sampler = sampler
        self.world = world
        self.rank = rank
        self.join = join

    def episodes(self, step: int) -> list[Episode]:
        """The episodes of this process in a step."""
        first = (self.world * step + self.rank) * self.join
        return [e for i in range(self.join) for e in self.sampler(first + i)]

    def __getitem__(self, step: int) -> EpisodeBatch | VsaError:
        try:
            return collate(self.episodes(step))
        except VsaError as e:  # raised in a worker, it would come out as the text of a traceback
            return e


def batches_from(step: int, made: StepBatches, config: TrainConfig, device: torch.device) -> Iterator[EpisodeBatch]:
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


def cells_of_task(batch: EpisodeBatch) -> int:
    """Rows times slots of one task of a padded batch."""
    _, rows, attributes = batch.tasks.x.shape
    return rows * (attributes + batch.tasks.class_mask.shape[1])


def part_of(batch: EpisodeBatch, tasks: Sequence[int]) -> EpisodeBatch:
    """Some tasks of a batch."""
    if len(tasks) == len(batch.answer):
        return batch
    at = torch.as_tensor(tasks, device=batch.answer.device)
    t = batch.tasks
    chosen = replace(
        t,
        x=t.x[at],
        observed=t.observed[at],
        y=t.y[at],
        row_mask=t.row_mask[at],
        attr_mask=t.attr_mask[at],
        class_mask=t.class_mask[at],
    )
    return EpisodeBatch(chosen, batch.answer[at], batch.scored[at])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory, of the host or of an accelerator, is not enough."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory")
    )
