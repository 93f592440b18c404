"""Where the network runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsacli.errors import UsageError

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> torch.device:
    """The device of a name; ``auto`` takes CUDA, then MPS, then the CPU.

    Raises
    ------
    UsageError
        If that device is not there.
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(d for d, ok in there.items() if ok))
    kind, _, index = name.partition(":")
    if kind not in there or (index and not index.isdecimal()) or name.endswith(":"):
        raise UsageError(f"unknown device {name!r}; use auto, cpu, cuda or mps")
    if not there[kind]:
        raise UsageError(f"device {name} is not available here; use cpu")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if index and int(index) >= count:
        raise UsageError(f"device {name} is not available here: there is {kind}:0 to {kind}:{count - 1}")
    return torch.device(name)
