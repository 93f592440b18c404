"""Numerical libraries held to one thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_LIBRARIES = ("numpy", "scipy.linalg", "torch", "sklearn", "lightgbm")
"""Each brings a pool of threads of its own."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep numeric libraries to one thread: for a handful of rows, starting more costs more than it saves."""
    with _thread_pools().limit(limits=1):
        yield


@contextmanager
def numpy_on_one_thread() -> Iterator[None]:
    """Keep the products of NumPy and SciPy (OpenBLAS) to one thread, and leave PyTorch's threads alone."""
    with _thread_pools().select(internal_api="openblas").limit(limits=1):
        yield


def _thread_pools() -> ThreadpoolController:
    return _found_when(tuple(library in sys.modules for library in _LIBRARIES))


@lru_cache
def _found_when(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """The pools of the libraries that are loaded, which are not looked for again before there are more."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
