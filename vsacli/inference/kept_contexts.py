"""What was read for rows that are asked about, kept for the next ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from vsacli.inference.passes import Runner
    from vsacli.nn.model import Context

Key = tuple[int, int, int]
"""A group of attributes, a context of labeled rows, a view."""

Read = tuple["np.ndarray", "Context"]
"""The answers for the rows that were read, and what these leave for others."""


class KeptContexts:
    """What was read, by a network on a device, for the rows that are asked about beside it.

    Whoever wants something first reads it, and other threads wait for that. A pickle or copy is empty.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: dict[Key, Future[Read]] = {}
        self._by: tuple[object, object] | None = None

    def get(self, key: Key, read: Callable[[], Read], *, by: Runner, most: int) -> Read:
        """What is kept under ``key``, or else what ``read`` gives, which is then kept with at most ``most`` in all.

        What another network has read, or one on another device, is forgotten.
        """
        with self._lock:
            if self._by is None or self._by[0] is not by.model or self._by[1] != by.device:
                self._by, self._read = (by.model, by.device), {}
            mine = key not in self._read
            if mine:
                for old in list(self._read)[: max(0, len(self._read) + 1 - most)]:
                    del self._read[old]
                self._read[key] = Future()
            found = self._read[key]
        if mine:
            try:
                found.set_result(read())
            except BaseException as e:
                with self._lock:
                    if self._read.get(key) is found:  # the next one tries again
                        del self._read[key]
                found.set_exception(e)
        return found.result()

    def __reduce__(self) -> Any:
        return KeptContexts, ()
