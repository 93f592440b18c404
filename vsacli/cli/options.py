"""Options that several commands share, each declared once: ``def label(na: NaTokens = None, ...)``.

Those that say how a table is read mean the same in every command, so their names, help texts, environment
variables and completion are here.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from vsacli.cli.completers import complete_checkpoints, complete_columns
from vsacli.cli.values import restored

CHECKPOINT_VARIABLE = "VSA_CHECKPOINT"


class TaskChoice(StrEnum):
    auto = "auto"
    classification = "classification"
    regression = "regression"


class DeviceChoice(StrEnum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"
    mps = "mps"


class ShellChoice(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


TARGET = typer.Option(
    "--target",
    "-t",
    metavar="COL",
    show_default=False,
    help="The column with the labels.",
    callback=restored,
    autocompletion=complete_columns,
)
Target = Annotated[str, TARGET]
OptionalTarget = Annotated[str | None, TARGET]

Task = Annotated[TaskChoice, typer.Option("--task", metavar="KIND", help="auto, classification or regression.")]
NaTokens = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TOKEN|COL=TOKEN",
        help="Treat target cells with this content as missing, or cells of the column COL. Repeatable. A TOKEN with "
        "an equals sign is given as COL=TOKEN, also for the target.",
        callback=restored,
    ),
]
Labeled = Annotated[
    list[str] | None,
    typer.Option(
        "--labeled",
        metavar="FILE",
        help="Also take labels from this table, which has the same columns. Repeatable; the last label of a row "
        "counts. Answers kept by --ask are always read.",
    ),
]
NoDefaultNa = Annotated[
    bool,
    typer.Option(
        "--no-default-na", help="Treat only empty cells and --na tokens as missing; NA, null, ... are labels."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="COL",
        help="Do not learn from this column. Repeatable.",
        callback=restored,
        autocompletion=complete_columns,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="COL",
        help="Learn from this column even if it looks like an id. Repeatable.",
        callback=restored,
        autocompletion=complete_columns,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHAR", help="Text files: a character, or comma, semicolon, tab, bar. Default: detected."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Text files: utf-8, utf-16, latin-1, cp1252, ... Default: UTF-8."),
]
HeaderLine = Annotated[
    int | None,
    typer.Option(
        "--header-line",
        metavar="N",
        min=1,
        help="Text files: the header is in line N; lines above are kept. Default: the first that is not a # comment.",
    ),
]

CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="PATH|REPO",
        help="The trained network: a folder or a Hub repository. Default: bundled.",
        envvar=CHECKPOINT_VARIABLE,
        autocompletion=complete_checkpoints,
    ),
]
Checkpoints = Annotated[
    list[str] | None,
    typer.Option(
        "--checkpoint",
        metavar="PATH|REPO",
        help="The trained network. Repeatable, to compare several. Default: VSA_CHECKPOINT, else bundled.",
        autocompletion=complete_checkpoints,
    ),
]


def checkpoints_given(checkpoints: list[str] | None) -> list[str]:
    """The value of `Checkpoints`, or that of the environment, which Typer would split at spaces."""
    named = os.environ.get(CHECKPOINT_VARIABLE)
    return checkpoints or ([named] if named else [])


Device = Annotated[
    DeviceChoice,
    typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or mps.", envvar="VSA_DEVICE"),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same input and seed give the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
