"""`vsa meta-train`: learn from many tables how to fill in labels."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from vsacli.cli.options import Device, DeviceChoice
from vsacli.cli.registry import OnceCommand
from vsacli.cli.train_run import run
from vsacli.cli.values import parse_duration, parse_interval, parse_range, parse_weights
from vsacli.errors import UsageError

PAPER_SELECTION = "paper"


class KindChoice(StrEnum):
    classification = "classification"
    regression = "regression"


class PresetChoice(StrEnum):
    default = "default"
    small = "small"
    paper = "paper"


class MethodChoice(StrEnum):
    vsa = "vsa"
    meta_rbf_gp = "meta-rbf-gp"
    lp = "lp"
    maml = "maml"
    proto = "proto"
    hml = "hml"
    atthml = "atthml"
    semiproto = "semiproto"
    metalp = "metalp"
    atthmllp = "atthmllp"
    metagp = "metagp"
    semimetagp = "semimetagp"


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
    """Allow ``--openml-suite`` without a value, for the paper's own selection."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give the option its value if the next word is another option or nothing."""
        full: list[str] = []
        for word, following in zip(args, [*args, "--"][1:], strict=True):
            alone = word == "--openml-suite" and following.startswith("-")
            full.append(f"--openml-suite={PAPER_SELECTION}" if alone else word)
        return super().parse_args(ctx, full)


def meta_train(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", show_default=False, help="Folder of the run; created if it does not exist."
        ),
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
        typer.Option(
            "--synthetic", metavar="NAME", help="Learn from synthetic data: prior or circle-spiral. Repeatable."
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="SOURCE=W",
            help="Relative share of episodes from data, openml, prior or circle-spiral. Default: 1. Repeatable.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COL", help="Label column of tables without a manifest. Default: target.")
    ] = None,
    tables: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Learn from only N of the training tables, drawn with --seed, from different families if possible; "
            "validation tables stay the same.",
        ),
    ] = None,
    kind: Annotated[
        KindChoice | None, typer.Option(metavar="KIND", help="classification (default) or regression.")
    ] = None,
    method: Annotated[
        MethodChoice | None,
        typer.Option(
            metavar="NAME",
            help=f"What to train: vsa (default), or a method to compare it with: {', '.join(list(MethodChoice)[1:])}.",
        ),
    ] = None,
    preset: Annotated[
        PresetChoice | None,
        typer.Option(
            metavar="NAME",
            help="Network and recipe: default, small or paper (Adam at 1e-4, 8 plain tasks a batch, early stopping).",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="FIELD=VALUE", help="Change the network, for example layers=4 or width=48. Repeatable."
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
        str | None, typer.Option(metavar="RANGE", help="Labeled rows per class (regression: in all), such as 1-10.")
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="Unlabeled rows per class (regression: in all), such as 5-40."),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Range of the attribute limit of a varied batch, such as 3-64.")
    ] = None,
    natural: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Share of episodes with a table's own class proportions."),
    ] = None,
    batch: Annotated[int | None, typer.Option(metavar="N", min=1, help="Tasks per batch, instead of --cells.")] = None,
    cells: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rows x columns per batch; sets the number of tasks.")
    ] = None,
    optimizer: Annotated[OptimizerChoice | None, typer.Option(metavar="NAME", help="muon, adamw or adam.")] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="R", help="Rate of Adam and AdamW; with muon, of all weights except matrices."),
    ] = None,
    muon_rate: Annotated[float | None, typer.Option(metavar="R", help="Rate of the matrices, with muon.")] = None,
    schedule: Annotated[
        ScheduleChoice | None, typer.Option(metavar="NAME", help="Learning rate after the warm-up: cosine or constant.")
    ] = None,
    warmup: Annotated[
        float | None, typer.Option(metavar="P", min=0, max=0.9, help="Share of the run in which the rate rises.")
    ] = None,
    average: Annotated[
        float | None,
        typer.Option(metavar="D", min=0, max=0.9999, help="Decay of the averaged weights; 0: no averaging."),
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="End after N steps.")] = None,
    max_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="End after this training time, such as 30m or 2h.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End after N validations without improvement.")
    ] = None,
    validate_every: Annotated[
        str | None,
        typer.Option(metavar="TIME|N", help="Time or steps between validations. Default: 2m, or a 20th of --steps."),
    ] = None,
    save_every: Annotated[
        str | None, typer.Option(metavar="TIME|N", help="Time or steps between saved states. Default: 1m.")
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|REPO",
            help="Start from the weights of this checkpoint, of either kind of task, instead of random ones.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the run in --output from its last saved state.")
    ] = False,
    device: Device = DeviceChoice.auto,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Processes that prepare batches; 0: none. Default: 1.")
    ] = None,
    precision: Annotated[
        PrecisionChoice | None,
        typer.Option(metavar="NAME", help="float32, tf32 or bfloat16. Default: bfloat16 if it is fast, else float32."),
    ] = None,
    compile: Annotated[
        bool, typer.Option("--compile", help="Compile the network; worthwhile in long runs on CUDA.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Seed of weights and episodes. Default: 0.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Learn from many tables how to fill in the labels of any table.

    The best network so far is kept in --output; `vsa label` takes that folder as its --checkpoint. Ctrl-C saves
    and stops; `vsa meta-train --resume --output DIR` resumes the run.

    Example: vsa meta-train --data tables/ --max-time 30m -o runs/mine

    To see how much the number of tables matters: vsa meta-train --data tables/ --tables 8 --max-time 30m -o runs/few
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
        "init": init,
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

    from vsacli.inference.device import choose_device
    from vsacli.training.request import Request

    where = choose_device(device.value)
    asked = Request(
        data=data,
        openml=openml_suite,
        synthetic=_values(synthetic),
        weights=None if weight is None else parse_weights("--weight", weight),
        target=target,
        tables=tables,
        kind=None if kind is None else kind.value,
        preset=preset and preset.value,
        method=method and method.value,
        model=model,
        ablations=_values(ablation),
        episodes=drawn,
        training=training,
    )
    spec = asked.resumed_run(output) if resume else asked.new_run(where, shlex.join(["vsa", *sys.argv[1:]]))
    run(spec, output, where, resume, quiet)


meta_train.command_class = SuiteCommand  # type: ignore[attr-defined]


def _values(choices: Sequence[StrEnum] | None) -> list[str] | None:
    return None if choices is None else [choice.value for choice in choices]


def _positive(option: str, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"{option} is {value:g}; it is a number above 0")
    return value
