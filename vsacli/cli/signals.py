"""How `vsa` treats signals and the warnings of the libraries it calls."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived: unwind, so that temporary files are removed, and end."""


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def termination_unwinds() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise `Terminated` instead of ending the process on the spot."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only the main thread may set handlers
    before = {}
    for number in numbers:
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup SIGHUP is ignored, and stays so
            before[number] = signal.signal(number, _raise_terminated)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def library_warnings_silenced() -> Iterator[None]:
    """Within the block Python warnings are not shown, unless Python was started with -W or PYTHONWARNINGS."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        yield
