"""One run of `vsa meta-train`: tables read, facts shown, trained, and saved whatever signal arrives."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from vsacli.cli.console import progress_shown, say, show_facts
from vsacli.cli.signals import Terminated
from vsacli.cli.training_view import TrainingView

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
    try:
        with sole_run(output) if group.main else nullcontext():
            if group.main and not resumed:
                check_folder_is_free(output)
            _train(spec, output, device, resumed, quiet, group)
    finally:
        group.leave()


def _train(spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool, group: Group) -> None:
    trainer = _prepared(spec, output, device, resumed, quiet, group)
    config = spec.config
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


def _prepared(spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool, group: Group) -> Trainer:
    """Tables read, facts shown, and a trainer ready to run."""
    import torch

    from vsacli.tasks.cache import cache_folder
    from vsacli.training.loop import Trainer
    from vsacli.training.profile import profile
    from vsacli.training.run import record_split, validation_of
    from vsacli.training.sources import collect

    config = spec.config
    if not group.main:
        group.wait()  # until the first process has filled the cache
    with progress_shown(quiet) as progress:
        collection = collect(
            spec.sources, spec.kind, cache=cache_folder(), plain=config.plain, record=output, progress=progress
        )
    if group.main:
        record_split(output, collection.tables, resumed)
        spec.save(output)
        group.wait()
    for note in collection.notes if not quiet else ():
        say(f"vsa: note: {note}")
    facts = profile(collection, spec.kind)
    sampler = collection.sampler(spec.kind, config.episodes, config.seed, config.plain)
    validation = validation_of(collection, config) if group.main else {}
    count = sum(len(v) for v in validation.values())
    facts.append(("validation", f"{count} episodes at {_listed(list(validation))} labels" if count else "none"))
    if group.main and config.patience is not None and not count:
        say("vsa: note: without validation tables the run does not end early")
    # Explicit on every device: TF32 has ten bits where float32 has 23.
    tf32 = device.type == "cuda" and config.precision != "float32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    if device.type == "cuda":
        device = torch.device("cuda", group.local_rank)
        torch.cuda.set_device(device)
    meta = {"command": spec.command, "device": _device_name(device), "data": _data_line(facts)}
    trainer = Trainer(config, sampler, validation, output, device, meta=meta, group=group)
    size = sum(p.numel() for p in trainer.model.parameters())
    facts.append(("network", f"{size:,} weights, {config.optimizer}, {config.precision} on {_device_name(device)}"))
    if group.world > 1:
        facts.append(("processes", str(group.world)))
    if resumed:
        trainer.resume()
        facts.append(("resumed", f"from step {trainer.step:,}"))
    show_facts("vsa", facts, quiet)
    return trainer


def _tell_end(trainer: Trainer, outcome: Outcome, output: Path, quiet: bool) -> None:
    from vsacli.training.curves import write_curves

    curves = write_curves(output)
    if outcome == "stopped":
        say(
            f"vsa: stopped at step {trainer.step:,}, which is saved; go on with: "
            f"{shlex.join(['vsa', 'meta-train', '--resume', '--output', os.fspath(output)])}"
        )
    if quiet:
        return
    best = "not validated" if trainer.best is None else f"validation loss {trainer.best:.4f}"
    facts = [
        ("end", "validation has not got better" if outcome == "no better" else outcome),
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


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values))


def _data_line(facts: list[tuple[str, str]]) -> str:
    return "; ".join(f"{what}: {value}" for what, value in facts if "skipped" not in what and what != "validation")


def _device_name(device: torch.device) -> str:
    if device.type != "cuda":
        return device.type
    import torch

    return torch.cuda.get_device_name(device)
