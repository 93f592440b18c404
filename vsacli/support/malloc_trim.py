"""Memory that is free and still counts as the process's: the C library keeps it for itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back_free_memory() -> None:
    """Give the system what is free in the heap of glibc; elsewhere, do nothing. Takes some hundredths of a second.

    Batches of all sizes leave gaps there, and the more of them the longer a run takes.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library; Windows
        return None
