"""Parts labeled with Ray: on a cluster, or in processes that Ray starts here.

A part is a task. Ray starts it again if a worker or a machine is lost; since a part is written complete or
not at all, and its answers depend on the plan alone, the files come out the same.
"""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import find_spec

from vsacli.errors import ResourceError, UsageError, VsaError
from vsacli.labeling.parts.engines import Engine
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.plan import Plan
from vsacli.labeling.parts.work import PartReport, label_part
from vsacli.support.progress import Progress

RETRIES = 3  # of a part whose worker was lost


def on_ray(address: str | None = None, workers: int | None = None) -> Engine:
    """Label parts as Ray tasks of one core each.

    Parameters
    ----------
    address : str, optional
        Of a cluster (`host:6379`, `ray://host:10001`, `auto`). None: that of the variable RAY_ADDRESS; without it
        Ray is started here and ended with the run.
    workers : int, optional
        Most parts at a time. None: as many as there are cores.

    Raises
    ------
    UsageError
        Ray is not installed.
    """
    if find_spec("ray") is None:
        raise UsageError("--engine ray needs Ray, which is not installed: pip install 'vsacli[ray]'")

    def run(plan: Plan, parts: Sequence[Part], output: str, progress: Progress) -> Iterator[PartReport]:
        import ray  # pyright: ignore[reportMissingImports]

        at = address or os.environ.get("RAY_ADDRESS")
        with redirect_stdout(io.StringIO()):  # where Ray says which workers it has lost
            _connect(at, workers)
            try:
                yield from _run_tasks(plan, parts, output, workers)
            finally:
                ray.shutdown()

    return run


def _connect(address: str | None, workers: int | None) -> None:
    import logging

    import ray  # pyright: ignore[reportMissingImports]

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    here = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.CRITICAL, **here)
    except Exception as error:  # Ray also raises plain ones: "The current node timed out during startup"
        where = f"the cluster at {address} cannot be reached" if address else "Ray cannot be started here"
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ResourceError(f"{where} ({reason}); see --ray-address") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray's own handler would end the run with another exit code


def _run_tasks(plan: Plan, parts: Sequence[Part], output: str, workers: int | None) -> Iterator[PartReport]:
    import ray  # pyright: ignore[reportMissingImports]
    from ray.exceptions import RayError, RayTaskError  # pyright: ignore[reportMissingImports]

    task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
    shared = ray.put(plan)
    # More tasks than workers wait at Ray; not all, so that a failure leaves little to cancel.
    ahead = 2 * (workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    waiting: dict[ray.ObjectRef, Part] = {}
    todo = iter(parts)
    while True:
        while len(waiting) < ahead and (part := next(todo, None)) is not None:
            there = replace(part, path=os.path.abspath(part.path))
            waiting[task.remote(shared, there, os.path.abspath(output))] = part
        if not waiting:
            return
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        part = waiting.pop(done)
        try:
            yield ray.get(done)
        except RayTaskError as error:
            cause = error.cause
            raise cause if isinstance(cause, VsaError) else error from None
        except RayError as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ResourceError(
                f"{part.path}: Ray lost its worker {RETRIES + 1} times ({type(error).__name__}: {reason}); "
                f"run it again to resume"
            ) from None


def _work(plan: Plan, part: Part, output: str) -> PartReport:
    import torch

    torch.set_num_threads(1)
    return label_part(plan, part, output)
