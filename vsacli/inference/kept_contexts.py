"""What was read for rows that are asked about, kept for the next ones."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vsacli.support.once import Once

if TYPE_CHECKING:
    from vsacli.inference.passes import Left, Runner

Key = tuple[int, int, int]
"""A group of attributes, a context of labeled rows, a view."""

Read = tuple["np.ndarray", "Left"]
"""The answers for the rows that were read, and what these leave for others."""


class KeptContexts:
    """What was read, by a network on a device, for the rows that are asked about beside it. A copy is empty."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: Once[Key, Read] = Once()
        self._by: tuple[object, object] | None = None

    def get(self, key: Key, read: Callable[[], Read], *, by: Runner, most: int) -> Read:
        """What is kept under ``key``, or else what ``read`` gives, which is then kept with at most ``most`` in all.

        What another network has read, or one on another device, is forgotten.
        """
        with self._lock:
            if self._by is None or self._by[0] is not by.model or self._by[1] != by.device:
                self._by, self._read = (by.model, by.device), Once()
            kept = self._read
        return kept.get(key, read, most)

    def __reduce__(self) -> Any:
        return KeptContexts, ()
