"""Progress of long work, for those who wait for it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a step ("reading columns"), how much of it is done, and how much there is."""


def silent(step: str, done: int, total: int) -> None:
    """The progress that does nothing."""
