"""A clock for runs of one process that other work on the machine must not shorten."""

from __future__ import annotations

import time

from vsacli.training.timing import Clock


class ProcessorClock(Clock):
    """Processor seconds of this process, but for those in which it is stopped."""

    def start(self) -> None:
        """Start counting."""
        self.started = time.process_time()

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return self.before + time.process_time() - self.started
