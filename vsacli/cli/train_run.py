"""One run of `vsa meta-train`: tables read, facts shown, trained, and saved whatever signal arrives."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from vsacli.cli.console import progress_shown, say, show_facts
from vsacli.cli.training_view import TrainingView
from vsacli.errors import VsaError
from vsacli.support.signals import Terminated

if TYPE_CHECKING:
    import torch

    from vsacli.training.distributed import Group
    from vsacli.training.loop import Outcome, Trainer
    from vsacli.training.run import RunSpec


def run(spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool) -> None:
    """Train; raises `typer.Exit` with the code of the signal that ended the run."""
    from vsacli.training.distributed import join_group
    from vsacli.training.run import check_folder_is_free, sole_run

    group = join_group(device.type)
    quiet = quiet or not group.main
    new = group.main and not resumed and not output.exists()
    try:
        with sole_run(output) if group.main else nullcontext():
            if group.main and not resumed:
                check_folder_is_free(output)
            _train(spec, output, device, resumed, quiet, group)
    except VsaError:
        if new:
            with suppress(OSError):  # what was written into it stays
                output.rmdir()
        raise
    finally:
        group.leave()


def _train(spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool, group: Group) -> None:
    from vsacli.training.assemble import assemble
    from vsacli.training.hardware import leave_cores_to

    config = spec.config
    leave_cores_to(config.workers)
    with progress_shown(quiet) as progress:
        assembled = assemble(spec, output, device, group=group, resumed=resumed, progress=progress)
    for note in assembled.notes if not quiet else ():
        say(f"vsa: note: {note}")
    show_facts("vsa", assembled.facts, quiet)
    trainer = assembled.trainer
    metric = "accuracy" if spec.kind == "classification" else "mse"
    view = TrainingView(
        steps=config.steps, max_time=config.max_time, metric=metric, patience=config.patience, quiet=quiet
    )
    trainer.report = view
    with _saved_on_signals(trainer, quiet) as received, view:
        outcome = trainer.run()
    if group.main:
        _tell_end(trainer, outcome, output, quiet)
    if received:
        raise typer.Exit(128 + received[0])


def _tell_end(trainer: Trainer, outcome: Outcome, output: Path, quiet: bool) -> None:
    from vsacli.training.curves import write_curves

    curves = write_curves(output)
    if outcome == "stopped":
        say(
            f"vsa: stopped at step {trainer.step:,}, which is saved; resume with: "
            f"{shlex.join(['vsa', 'meta-train', '--resume', '--output', os.fspath(output)])}"
        )
    if quiet:
        return
    best = "not validated" if trainer.best is None else f"validation loss {trainer.best:.4f}"
    facts = [
        ("end", "validation has not improved" if outcome == "no better" else outcome),
        ("trained", f"{trainer.step:,} steps, {trainer.tasks_seen:,} tasks, {trainer.clock.elapsed:,.0f} s"),
        ("checkpoint", f"{output} ({best})"),
        ("use it", shlex.join(["vsa", "label", "FILE", "--target", "COL", "--checkpoint", os.fspath(output)])),
    ]
    if curves is not None:
        facts.insert(3, ("curves", os.fspath(curves)))
    show_facts("vsa", facts, quiet)


@contextmanager
def _saved_on_signals(trainer: Trainer, quiet: bool) -> Iterator[list[int]]:
    """Within the block a first SIGINT, SIGTERM or SIGHUP asks the trainer to stop; a second one ends it at once."""
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated
        received.append(number)
        trainer.ask_to_stop()
        if not quiet:  # straight to the descriptor: the signal may have come in the middle of a print
            os.write(2, b"\nvsa: finishing the step and saving; once more to stop at once\n")

    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, on_signal)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
