"""One run at a time in a place: a lock that the system gives up when its process ends, however it ends.

The lock is the kernel's, on an open file, so that neither `kill -9` nor a power cut leaves one behind; the file itself
may stay, and means nothing. Where there are no such locks (Windows, some network file systems) nothing is locked.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from vsacli.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_held: set[int] = set()


def _let_go() -> None:
    """In a forked child: a copy of the lock would outlive a parent that is killed."""
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def locked(path: Path, busy: str = "", *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a file that is made for it, and removed at the end.

    Parameters
    ----------
    path : Path
        In a folder that is there.
    busy : str
        What another process that holds it is doing, and what to do then; `{holder}` in it becomes "process 123".
    wait : bool
        Wait for another process rather than refuse.

    Raises
    ------
    UsageError
        With the text of `busy`, if another process holds the lock.
    """
    descriptor = _take(path, busy, wait)
    try:
        yield
    finally:
        if descriptor in _held:  # not in a forked child
            _held.discard(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(path)  # before it is given up: nobody else can have taken it
            os.close(descriptor)


def _take(path: Path, busy: str, wait: bool) -> int:
    """The open file that is locked; -1 where nothing can be locked."""
    if fcntl is None:
        return -1
    while True:
        descriptor = _opened(path)
        if descriptor < 0:
            return -1
        _held.add(descriptor)
        keep = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            # The one that had it may have removed the file meanwhile: then the lock is of no file.
            keep = os.path.samestat(os.fstat(descriptor), os.stat(path))
            if keep:
                _sign(descriptor)
                return descriptor
        except BlockingIOError:
            raise UsageError(busy.replace("{holder}", _holder(descriptor))) from None
        except FileNotFoundError:
            continue
        except OSError:  # no locks here
            with contextlib.suppress(OSError):
                os.unlink(path)
            return -1
        finally:
            if not keep:
                _held.discard(descriptor)
                os.close(descriptor)


def _opened(path: Path) -> int:
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):  # the second for the file of another user
        with contextlib.suppress(OSError):
            return os.open(path, flags, 0o666)
    return -1  # a folder that cannot be written: whoever writes there will say so


def _sign(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)


def _holder(descriptor: int) -> str:
    """The process that holds a lock, as it signed."""
    process, _, host = os.pread(descriptor, 300, 0).decode(errors="replace").strip().partition(" ")
    if not process.isdigit():
        return "another process"
    return f"process {process}" + (f" on {host}" if host != socket.gethostname() else "")
