"""Passes of the network side by side, one thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

    from vsacli.inference.config import InferenceConfig

Found = TypeVar("Found")


def side_by_side(ask: Callable[[int], Found], n: int, device: torch.device, config: InferenceConfig) -> Iterator[Found]:
    """``ask(0)``, ..., ``ask(n - 1)``, in order; on a CPU as many at a time as torch has threads.

    A pass is made of many small operations. One thread for each of two passes is a third faster than
    two threads for each operation, and does not suffer when the machine has other work, since no
    thread waits for another within an operation. The answers are the same: each pass has its thread.
    """
    import torch

    threads, at_a_time = torch.get_num_threads(), config.at_a_time
    if device.type != "cpu" or (at_a_time is None and (threads < 2 or n < 2 * threads)):
        yield from map(ask, range(n))
        return
    pool = ThreadPoolExecutor(at_a_time or threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(ask, range(n))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
