"""Several processes that train one model, as torchrun starts them; one process is a group of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from vsacli.errors import UsageError

PATIENCE = timedelta(hours=6)  # the others wait while the first process reads tables or validates


@dataclass(frozen=True)
class Group:
    """The processes of a run.

    Attributes
    ----------
    rank, world : int
        Number of this process, and how many there are.
    local_rank : int
        Number of this process on its host: the GPU that it takes.
    control : process group or None
        For a few numbers at each step, over the CPU, so that the accelerator is not waited for.
    """

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    control: Any = None

    @property
    def main(self) -> bool:
        """Whether this process is the one that validates, saves and reports."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Sums over all processes; each of them must call this."""
        if self.world == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(shared, group=self.control)
        return shared.tolist()

    def wait(self) -> None:
        """Until all processes are here."""
        self.sums([0.0])

    def wrap(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model with gradients averaged over the processes after each backward pass."""
        if self.world == 1:
            return model
        ids = [device.index] if device.type == "cuda" else None
        # Gates are not used by tasks without structure, and each process has tasks of its own.
        return DistributedDataParallel(model, device_ids=ids, find_unused_parameters=True)

    def leave(self) -> None:
        """End the group."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


def join_group(device_type: str) -> Group:
    """The group that torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK) name.

    Parameters
    ----------
    device_type : str
        ``cuda`` exchanges gradients over NCCL, anything else over gloo.

    Raises
    ------
    UsageError
        If the variables are not those of torchrun.
    """
    world = os.environ.get("WORLD_SIZE", "1")
    if world == "1":
        return Group()
    try:
        rank, local = int(os.environ["RANK"]), int(os.environ.get("LOCAL_RANK", "0"))
        size = int(world)
    except (KeyError, ValueError) as e:
        raise UsageError(f"WORLD_SIZE is {world!r}, but RANK is not set; unset it, or start with torchrun") from e
    dist.init_process_group("nccl" if device_type == "cuda" else "gloo", timeout=PATIENCE)
    return Group(rank, size, local, dist.new_group(backend="gloo", timeout=PATIENCE))
