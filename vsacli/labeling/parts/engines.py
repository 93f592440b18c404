"""Ways of labeling parts: here, or in worker processes. Each gives the reports of parts as they are finished."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for

from vsacli.errors import ResourceError
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.plan import Plan
from vsacli.labeling.parts.work import PartReport, label_part
from vsacli.support.progress import Progress

Engine = Callable[[Plan, Sequence[Part], str, Progress], Iterator[PartReport]]


def here(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
    """Label the parts one after the other in this process, with as many threads as torch would take."""
    import torch

    for part in parts:
        yield label_part(plan, part, output, at_a_time=torch.get_num_threads(), progress=progress)


def in_processes(workers: int) -> Engine:
    """Label parts in that many processes, one thread each; those of a small folder, whose answers are known, here."""

    def run(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        if plan.network is None or plan.network.whole is not None:  # parts are only written
            yield from here(plan, parts, output, progress)
            return
        pool = ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(plan, output)
        )
        waiting: dict[Future[PartReport], Part] = {}
        todo = iter(parts)
        try:
            while True:
                # No more than one part ahead of the workers: so little is left to cancel after a failure.
                while len(waiting) <= workers and (part := next(todo, None)) is not None:
                    waiting[pool.submit(_work, part)] = part
                if not waiting:
                    return
                for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield done.result()
                    del waiting[done]
        except BrokenProcessPool:
            lost = ", ".join(part.path for part in waiting.values())
            raise ResourceError(
                f"a worker process ended unexpectedly (killed, or out of memory) at {lost}; "
                f"run it again to resume, with fewer --workers"
            ) from None
        finally:
            _stop(pool)

    return run


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers, also in the middle of a part: a part is complete or not there."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


_job: tuple[Plan, str] | None = None  # of a worker process


def _start_worker(plan: Plan, output: str) -> None:
    import torch

    global _job
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    _job = plan, output


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _work(part: Part) -> PartReport:
    assert _job is not None
    return label_part(_job[0], part, _job[1])
