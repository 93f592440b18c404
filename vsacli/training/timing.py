"""Time in a run: how much has passed, what is due, and what happened since the last report."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch


@dataclass
class Clock:
    """Time spent training, over all the pieces of a resumed run."""

    before: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Start or resume counting."""
        self.started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return self.before + time.monotonic() - self.started


@dataclass
class Every:
    """Something that is due again after so many seconds, or every so many steps if ``steps`` is set."""

    seconds: float
    steps: int | None
    last: float = 0.0

    def due(self, step: int, now: float) -> bool:
        """Whether it is due after ``step``; by steps, a resumed run has the same answer."""
        return now - self.last > self.seconds if self.steps is None else step % self.steps == 0


@dataclass
class Interval:
    """What happened since the last report."""

    since: float = 0.0
    tasks: int = 0
    waited: float = 0.0
    losses: list[torch.Tensor] = field(default_factory=list)
