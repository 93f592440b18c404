"""How large libraries are loaded: signals wait meanwhile, and they are not begun in less memory than they take.

Both are faults that a library answers with an abort of the process, or with an error that says nothing of the cause.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from vsacli.errors import ResourceError
from vsacli.support.free_memory import free_addresses, spelled
from vsacli.support.signals import held

_THREADS, _MOST_THREADS = "OMP_NUM_THREADS", 4096
_MB = 1_000_000
_TAKES = {
    "numpy": 150 * _MB,
    "pyarrow": 250 * _MB,
    "scipy": 150 * _MB,
    "torch": 700 * _MB,
    **dict.fromkeys(("pandas", "sklearn", "safetensors", "matplotlib", "openml", "huggingface_hub"), 0),
}
"""Addresses that a library takes to be loaded, and torch for a small table as well; measured, rounded up."""


@contextmanager
def careful_loading() -> Iterator[None]:
    """Within the block the libraries of `_TAKES` are loaded so.

    A library for which there is not room enough raises ResourceError.
    """
    if free_addresses() is not None:  # Arrow's own allocator would reserve a gigabyte of them
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname not in _TAKES:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(Loader):
    """Another loader, called with care; the module comes out as if that one had been called itself."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        name, free = module.__name__, free_addresses()
        if free is not None and free < _TAKES[name]:
            raise ResourceError(
                f"{spelled(free)} of memory are not enough for {name}, which takes {spelled(_TAKES[name])}; raise the "
                f"limit of this shell (ulimit -v unlimited)"
            )
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._own
        with held(), _stderr_silent(_openmp_is_set()):
            self._own.exec_module(module)


def drop_unusable_thread_count() -> None:
    """Take `OMP_NUM_THREADS` out of the environment if it is not a number of threads that a machine can have."""
    count = os.environ.get(_THREADS)
    if count is not None and (re.fullmatch(r"\s*\d+\s*", count) is None or not 1 <= int(count) <= _MOST_THREADS):
        del os.environ[_THREADS]


def _openmp_is_set() -> bool:
    """Whether OpenMP's library has something to read, of which it prints what it does not understand."""
    return any(name.startswith(("OMP_", "GOMP_")) and name != _THREADS for name in os.environ)


@contextmanager
def _stderr_silent(silent: bool) -> Iterator[None]:
    """Within the block nothing that libraries of C++ print reaches the standard error, if asked for."""
    if not silent:
        yield
        return
    try:
        kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # it is closed
        yield
        return
    os.dup2(null, 2)
    os.close(null)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
