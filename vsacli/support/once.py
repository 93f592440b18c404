"""Values that several threads want, each made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Once(Generic[Key, Value]):
    """Values by key. Whoever wants one first makes it, and other threads wait for that."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: dict[Key, Future[Value]] = {}

    def get(self, key: Key, make: Callable[[], Value], most: int | None = None) -> Value:
        """The value that was made for ``key``, or else what ``make`` gives, which is then kept.

        Parameters
        ----------
        most : int, optional
            Keep at most so many, this one included, and forget the oldest ones.
        """
        with self._lock:
            mine = key not in self._made
            if mine:
                for old in list(self._made)[: 0 if most is None else max(0, len(self._made) + 1 - most)]:
                    del self._made[old]
                self._made[key] = Future()
            found = self._made[key]
        if mine:
            try:
                found.set_result(make())
            except BaseException as e:
                with self._lock:
                    if self._made.get(key) is found:  # the next one tries again
                        del self._made[key]
                found.set_exception(e)
        return found.result()
