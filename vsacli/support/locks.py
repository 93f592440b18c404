"""One run at a time in a place: a lock that the system gives up when its process ends, however it ends.

The lock is the system's, on an open file (`filelock`), so that neither `kill -9` nor a power cut leaves one behind, and
a forked child does not hold it; the file itself may stay, and means nothing. If the file system has no such locks, as
some network file systems, nothing is locked.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vsacli.errors import UsageError

if TYPE_CHECKING:
    from filelock import BaseFileLock


def lock_beside(path: Path) -> Path:
    """The lock of a file that is replaced as a whole; of a link, that of the file which it leads to."""
    real = path.resolve()
    return real.with_name(f".{real.name}.lock")


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
    lock, process = _take(path, busy, wait), os.getpid()
    try:
        yield
    finally:
        if lock is not None and os.getpid() == process:  # not in a forked child
            with contextlib.suppress(OSError):  # Windows removes no open file
                path.unlink()  # before it is given up: nobody else can have taken it
            lock.release()


def sole_writer(path: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the lock in an output folder, for the one run that writes there.

    Raises
    ------
    UsageError
        When it is entered, if another run holds it.
    """
    folder = path.parent
    busy = f"{folder}: another run is writing there ({{holder}}); wait for its end or stop it, or give another --output"
    return locked(path, busy)


def _take(path: Path, busy: str, wait: bool) -> BaseFileLock | None:
    """The lock that is held; None if nothing can be locked."""
    from filelock import FileLock, Timeout

    if not path.parent.is_dir():
        return None  # whoever writes there will say so
    there = path.exists()
    try:
        lock = FileLock(path, timeout=-1 if wait else 0, fallback_to_soft=False)
        lock.acquire()
    except Timeout:
        raise UsageError(busy.replace("{holder}", _holder(path))) from None
    except (OSError, NotImplementedError):  # no locks here, or no right to write
        if not there:
            with contextlib.suppress(OSError):
                path.unlink()
        return None
    with contextlib.suppress(OSError):  # Windows lets nobody write to it
        path.write_text(f"{os.getpid()} {socket.gethostname()}\n")
    return lock


def _holder(path: Path) -> str:
    """The process that holds a lock, as it signed."""
    try:
        process, _, host = path.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    except OSError:
        return "another process"
    if not process.isdigit():
        return "another process"
    return f"process {process}" + (f" on {host}" if host != socket.gethostname() else "")
