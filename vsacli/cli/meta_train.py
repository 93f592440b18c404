"""`vsa meta-train`: learn from many tables how to fill in labels."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vsacli.cli.console import progress_shown, say, show_facts
from vsacli.cli.label import DeviceChoice
from vsacli.cli.registry import OnceCommand
from vsacli.cli.signals import Terminated
from vsacli.cli.training_view import TrainingView
from vsacli.cli.values import parse_duration, parse_interval, parse_range, parse_weights
from vsacli.errors import UsageError

if TYPE_CHECKING:
    import torch

    from vsacli.training.config import TrainConfig
    from vsacli.training.distributed import Group
    from vsacli.training.loop import Outcome, Trainer
    from vsacli.training.run import RunSpec

PAPER_SELECTION = "paper"
MAY_CHANGE = (
    "steps",
    "max_time",
    "patience",
    "validate_every",
    "validate_steps",
    "save_every",
    "save_steps",
    "workers",
)


class KindChoice(StrEnum):
    classification = "classification"
    regression = "regression"


class PresetChoice(StrEnum):
    default = "default"
    small = "small"
    paper = "paper"


class SyntheticChoice(StrEnum):
    prior = "prior"
    circle_spiral = "circle-spiral"


class AblationChoice(StrEnum):
    example = "ExampleAttn"
    attribute = "AttributeAttn"
    observed = "w/oObsInd"
    kinds = "w/oAttLabInd"
    residual = "w/oRes"
    norm = "w/oLN"


class EpisodeChoice(StrEnum):
    varied = "varied"
    plain = "plain"


class OptimizerChoice(StrEnum):
    muon = "muon"
    adamw = "adamw"
    adam = "adam"


class ScheduleChoice(StrEnum):
    cosine = "cosine"
    constant = "constant"


class PrecisionChoice(StrEnum):
    float32 = "float32"
    tf32 = "tf32"
    bfloat16 = "bfloat16"


class SuiteCommand(OnceCommand):
    """Lets ``--openml-suite`` stand alone, for the paper's own selection."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give the option its value where the next word is another option or nothing."""
        full: list[str] = []
        for word, following in zip(args, [*args[1:], "--"], strict=True):
            alone = word == "--openml-suite" and following.startswith("-")
            full.append(f"--openml-suite={PAPER_SELECTION}" if alone else word)
        return super().parse_args(ctx, full)


def meta_train(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", show_default=False, help="Folder of the run; made if absent."),
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Learn from a folder of CSV or Parquet tables, or one with manifest.csv. Repeatable.",
        ),
    ] = None,
    openml_suite: Annotated[
        list[str] | None,
        typer.Option(
            "--openml-suite",
            metavar="[ID|ALIAS]",
            help="Learn from an OpenML suite; alone: the paper's selection. Repeatable.",
        ),
    ] = None,
    synthetic: Annotated[
        list[SyntheticChoice] | None,
        typer.Option("--synthetic", metavar="NAME", help="Learn from made data: prior or circle-spiral. Repeatable."),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="SOURCE=W",
            help="Share of episodes from data, openml, prior or circle-spiral, beside the others' 1. Repeatable.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Label column of tables without manifest. Default: target.")
    ] = None,
    kind: Annotated[
        KindChoice | None, typer.Option(metavar="KIND", help="classification (default) or regression.")
    ] = None,
    preset: Annotated[
        PresetChoice | None,
        typer.Option(
            metavar="NAME",
            help="Network and recipe: default, small, or paper (Adam 1e-4, 8 plain tasks, early stopping).",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="FIELD=VALUE", help="Change the network, as in layers=4 or width=48. Repeatable."
        ),
    ] = None,
    ablation: Annotated[
        list[AblationChoice] | None,
        typer.Option(
            "--ablation",
            metavar="NAME",
            case_sensitive=False,
            help="As in the paper: ExampleAttn, AttributeAttn, w/oObsInd, w/oAttLabInd, w/oRes, w/oLN. Repeatable.",
        ),
    ] = None,
    episodes: Annotated[
        EpisodeChoice | None,
        typer.Option(
            metavar="HOW", help="varied (default): column and class subsets, other targets; plain: whole tables."
        ),
    ] = None,
    shots: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Labeled rows per class (of a regression: in all), as in 1-10.")
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="Unlabeled rows per class (of a regression: in all), as in 5-40."),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Most attributes of a varied batch, as in 3-64.")
    ] = None,
    natural: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Share of episodes in a table's own class proportions."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Tasks of a batch, in place of --cells.")
    ] = None,
    cells: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rows x columns of a batch, which set its number of tasks.")
    ] = None,
    optimizer: Annotated[OptimizerChoice | None, typer.Option(metavar="NAME", help="muon, adamw or adam.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(metavar="R", help="Of Adam and AdamW; with muon, of all but the matrices.")
    ] = None,
    muon_rate: Annotated[float | None, typer.Option(metavar="R", help="Of the matrices, with muon.")] = None,
    schedule: Annotated[
        ScheduleChoice | None, typer.Option(metavar="NAME", help="Of the rate: cosine or constant, after a warm-up.")
    ] = None,
    warmup: Annotated[
        float | None, typer.Option(metavar="P", min=0, max=0.9, help="Share of the run in which the rate rises.")
    ] = None,
    average: Annotated[
        float | None, typer.Option(metavar="D", min=0, max=0.9999, help="Decay of averaged weights; 0: none.")
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="End after so many steps.")] = None,
    max_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="End after this time of training, as in 30m or 2h.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End after N validations that are not better.")
    ] = None,
    validate_every: Annotated[
        str | None,
        typer.Option(metavar="TIME|N", help="Time or steps between validations. Default: 2m, or a 20th of --steps."),
    ] = None,
    save_every: Annotated[
        str | None, typer.Option(metavar="TIME|N", help="Time or steps between saved states. Default: 1m.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --output, where it was saved.")
    ] = False,
    device: Annotated[DeviceChoice, typer.Option(metavar="NAME", help="auto, cpu, cuda or mps.")] = DeviceChoice.auto,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Processes that prepare batches; 0: none. Default: 1.")
    ] = None,
    precision: Annotated[
        PrecisionChoice | None,
        typer.Option(metavar="NAME", help="float32, tf32 or bfloat16. Default: bfloat16 on CUDA, float32 elsewhere."),
    ] = None,
    compile: Annotated[
        bool, typer.Option("--compile", help="Compile the network; worth it on CUDA in long runs.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Of weights, episodes and splits. Default: 0.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Learn from many tables how to fill in the labels of any table.

    The network is written to --output as it gets better, and `vsa label --checkpoint DIR` uses it. Ctrl-C
    saves and stops; `vsa meta-train --resume --output DIR` goes on.

    Example: vsa meta-train --data tables/ --synthetic prior --max-time 30m --output runs/mine
    """
    if batch is not None and cells is not None:
        raise UsageError("--batch and --cells both set the number of tasks in a batch; give one")
    training: dict[str, Any] = {
        "steps": steps,
        "max_time": None if max_time is None else parse_duration("--max-time", max_time),
        "patience": patience,
        "optimizer": optimizer and optimizer.value,
        "learning_rate": _positive("--learning-rate", learning_rate),
        "muon_rate": _positive("--muon-rate", muon_rate),
        "schedule": schedule and schedule.value,
        "warmup": warmup,
        "average": average,
        "precision": precision and precision.value,
        "workers": workers,
        "compile": compile or None,
        "seed": seed,
        "plain": None if episodes is None else episodes is EpisodeChoice.plain,
    }
    for name, text in (("validate", validate_every), ("save", save_every)):
        if text is not None:
            seconds, count = parse_interval(f"--{name}-every", text)
            training |= {f"{name}_every": seconds, f"{name}_steps": count}
    training = {k: v for k, v in training.items() if v is not None}
    regression = kind is KindChoice.regression
    drawn: dict[str, Any] = {"natural": natural, "cells": cells, "tasks": batch and (batch, batch)}
    for option, text, names in (
        ("--shots", shots, ("shots", "labeled_rows")),
        ("--unlabeled", unlabeled, ("unlabeled", "unlabeled_rows")),
        ("--attributes", attributes, ("attributes", "attributes")),
    ):
        if text is not None:
            drawn[names[regression]] = parse_range(option, text, least=2 if regression and names[0] == "shots" else 1)
    drawn = {k: v for k, v in drawn.items() if v is not None}

    from vsacli.inference import choose_device
    from vsacli.training.recipe import make_config
    from vsacli.training.run import RunSpec, check_folder_is_free
    from vsacli.training.sources import SourceSpec

    where = choose_device(device.value)
    if resume:
        fixed = {k: v for k, v in training.items() if k not in MAY_CHANGE} | drawn
        given = [data, openml_suite, synthetic, weight, target, kind, preset, model, ablation]
        if fixed or any(g is not None for g in given):
            raise UsageError(
                "a resumed run keeps its sources, network and recipe; with --resume give only --output, --steps, "
                "--max-time, --patience, --validate-every, --save-every, --workers and --device"
            )
        spec = _resumed(RunSpec.load(output), training)
    else:
        sources = SourceSpec(
            folders=tuple(os.fspath(d) for d in data or ()),
            openml=tuple(openml_suite or ()),
            synthetic=tuple(s.value for s in synthetic or ()),
            weights=parse_weights("--weight", weight or []),
            target=target or "target",
            seed=seed or 0,
        )
        name = (preset or PresetChoice.default).value
        if name != "paper":
            training = {"precision": "bfloat16" if where.type == "cuda" else "float32"} | training
        if steps is None and max_time is None:
            raise UsageError("a run needs an end: give --steps or --max-time")
        config = make_config(
            "regression" if regression else "classification",
            name,
            model=model or [],
            ablations=[a.value for a in ablation or []],
            episodes=drawn,
            training=training,
        )
        spec = RunSpec(sources, config, shlex.join(["vsa", *sys.argv[1:]]))
    _run(spec, output, where, resume, quiet, check_folder_is_free)


meta_train.command_class = SuiteCommand  # type: ignore[attr-defined]


def _run(
    spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool, check: Callable[[Path], None]
) -> None:
    from vsacli.training.distributed import join_group

    group = join_group(device.type)
    quiet = quiet or not group.main
    try:
        if group.main and not resumed:
            check(output)
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
    finally:
        group.leave()


def _prepared(spec: RunSpec, output: Path, device: torch.device, resumed: bool, quiet: bool, group: Group) -> Trainer:
    """Tables read, facts shown, and a trainer ready to run."""
    import torch

    from vsacli.evaluation.suites import cache_folder
    from vsacli.training.loop import Trainer
    from vsacli.training.profile import profile
    from vsacli.training.run import record_split, validation_of
    from vsacli.training.sources import collect

    if not group.main:
        group.wait()  # until the first process has filled the cache
    with progress_shown(quiet) as progress:

        def told(done: int, total: int, name: str) -> None:
            progress(f"reading {name}", done, total)

        collection = collect(spec.sources, spec.kind, cache=cache_folder(), record=output, progress=told)
    config = spec.config
    if group.main:
        record_split(output, collection.tables, resumed)
        spec.save(output)
        group.wait()
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


def _resumed(spec: RunSpec, training: dict[str, Any]) -> RunSpec:
    from dataclasses import replace

    config: TrainConfig = replace(spec.config, **{k: v for k, v in training.items() if k in MAY_CHANGE})
    return replace(spec, config=config)


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


def _positive(option: str, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"{option} is {value:g}; it is a number above 0")
    return value


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values))


def _data_line(facts: list[tuple[str, str]]) -> str:
    return "; ".join(f"{what}: {value}" for what, value in facts if "skipped" not in what and what != "validation")


def _device_name(device: torch.device) -> str:
    if device.type != "cuda":
        return device.type
    import torch

    return torch.cuda.get_device_name(device)
