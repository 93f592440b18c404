"""Signals that end a run: what they raise, and where they wait.

A signal raises an exception between two steps of Python, which unwinds, so that no temporary file stays. In a library
of C++ that is being loaded, that would abort the process, or come out as an error of the library: there signals wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # what a shell reports for a program that SIGINT ended
TERMINATED = 143


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived: unwind, so that temporary files are removed, and end."""


_holding = 0
_waiting: list[int] = []


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _holding and not _waiting:
        _waiting.append(number)
    elif _holding:  # the second one: whoever asks twice does not want to wait
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    else:
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated


@contextmanager
def held() -> Iterator[None]:
    """Within the block a first signal of those that `signals_unwind` treats waits for its end."""
    global _holding
    _holding += 1
    try:
        yield
    finally:
        _holding -= 1
        if not _holding and _waiting:
            number = _waiting[0]
            _waiting.clear()
            signal.raise_signal(number)  # whatever it means by now


@contextmanager
def signals_unwind() -> Iterator[None]:
    """Within the block SIGINT raises KeyboardInterrupt, SIGTERM and SIGHUP `Terminated`, unless they are held."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only the main thread may set handlers
    before = {}
    for number in numbers:  # under nohup SIGHUP is ignored, and stays so
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, _on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
