"""`vsa label`: fill in the missing labels of a table."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.console import progress_shown, show_facts
from vsacli.cli.options import (
    CheckpointOption,
    Delimiter,
    Device,
    DeviceChoice,
    Encoding,
    Exclude,
    NaTokens,
    NoDefaultNa,
    Quiet,
    Seed,
    Target,
    Task,
    TaskChoice,
)
from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.tables.table import Table


def label(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Table to label: CSV, TSV or other delimited text (gzip, too) or Parquet; `-` reads standard input.",
        ),
    ],
    target: Target,
    task: Task = TaskChoice.auto,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Write here, not to standard output; may be FILE itself. A failed run leaves an older file as it is.",
        ),
    ] = None,
    labeled: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take labels also from this table, which has the same columns."),
    ] = None,
    na: NaTokens = None,
    no_default_na: NoDefaultNa = False,
    exclude: Exclude = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    checkpoint: CheckpointOption = None,
    device: Device = DeviceChoice.auto,
    seed: Seed = 0,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Add a column <target>_confidence, in [0, 1]; for regression <target>_std."),
    ] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column <target>_proba_<class> for each class.")] = False,
    min_confidence: Annotated[
        float | None, typer.Option(metavar="P", min=0, max=1, help="Leave cells empty that are less certain.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Fill in the missing labels of a table.

    The column --target is mostly empty and has a few labels; the same table comes back with every missing
    label filled in, and nothing else changed.
    """
    if min_confidence is not None and min_confidence != min_confidence:
        raise UsageError("--min-confidence is not a number; give one from 0 to 1")
    if file == "-" and labeled == "-":
        raise UsageError("FILE and --labeled are both standard input; give one of them as a path")

    from vsacli.labeling import LabelOptions, label_table
    from vsacli.tables.output import check_output, open_output
    from vsacli.tables.table import read_table

    options = LabelOptions(
        target=target,
        task=task.value,
        na=tuple(na or ()),
        default_na=not no_default_na,
        exclude=tuple(exclude or ()),
        checkpoint=checkpoint,
        device=device.value,
        seed=seed,
        confidence=confidence,
        proba=proba,
        min_confidence=min_confidence,
    )
    inputs = [path for path in (file, labeled) if path is not None]
    check_output(output, inputs=inputs)  # before the work, not after it
    with progress_shown(quiet) as progress:
        table = read_table(file, delimiter=delimiter, encoding=encoding)
        _check_format(table, output)
        source = read_table(labeled, delimiter=delimiter, encoding=encoding) if labeled is not None else None
        labels = label_table(table, options, labeled=source, progress=progress)
        with open_output(output, inputs=inputs) as sink:
            table.write(sink, labels.column, labels.rows, labels.values, labels.extra)
    if not quiet:
        from vsacli.cli.summary import facts_of

        show_facts("vsa", facts_of(labels.report))


def _check_format(table: Table, output: str | None) -> None:
    """The output has the format of the input: refuse names that promise another, and Parquet on a screen."""
    if output is None or output == "-":
        if not table.is_text and sys.stdout is not None and sys.stdout.isatty():
            raise UsageError(f"{table.name} is Parquet, which is nothing for a terminal; give --output FILE or a pipe")
        return
    ending = PurePath(output).suffix.lower()
    if table.is_text and ending in (".parquet", ".pq"):
        raise UsageError(f"--output {output}: {table.name} is text and comes back as text; give another ending")
    if not table.is_text and ending in (".csv", ".tsv", ".tab", ".txt", ".psv"):
        raise UsageError(f"--output {output}: {table.name} is Parquet and comes back as Parquet; give another ending")
