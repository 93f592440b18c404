"""`vsa label`: fill in the missing labels of a table."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.ask import Ask, ask_person, check_ask
from vsacli.cli.console import progress_shown, show_facts
from vsacli.cli.foresight import DryRun, Preview, Shown, say_next_step
from vsacli.cli.labeled import LabelSources, read_labeled
from vsacli.cli.look import Look, Report, Suggest, SuggestTo
from vsacli.cli.options import (
    CheckpointOption,
    Delimiter,
    Device,
    DeviceChoice,
    Encoding,
    Exclude,
    HeaderLine,
    Include,
    Labeled,
    NaTokens,
    NoDefaultNa,
    Quiet,
    Seed,
    Target,
    Task,
    TaskChoice,
)
from vsacli.cli.parts import EngineChoice, EngineOption, RayAddress, Workers, choose_engine, refuse_options_of_folders
from vsacli.cli.proportions import ProportionsFrom, ProportionsOption, known_proportions
from vsacli.cli.values import parse_share, reading_again
from vsacli.errors import UsageError

if TYPE_CHECKING:
    from vsacli.tables.table import Table

EPILOG = """\b
Examples:
  vsa label data.csv -t class --dry-run
  vsa label data.csv -t class > labeled.csv
  vsa label data.csv -t class --confidence --min-confidence 0.8 -o labeled.csv
  vsa label data.csv -t class -o labeled.csv --report report.html --suggest 20 --suggest-to next.csv
  vsa label data.csv -t disease --proportions yes=2%,no=98% -o labeled.csv
  vsa label new.parquet -t price --labeled old.parquet -o new.parquet
  vsa label million.csv -t class -o labeled.csv
  gzip -dc data.csv.gz | vsa label - -t class --json summary.json | gzip > labeled.csv.gz
"""


def label(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Table to label: delimited text such as CSV (also compressed) or Parquet; `-` reads standard input. "
            "Or a folder of Parquet parts of one table; then --output is also a folder.",
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
            help="Write here, not to standard output. A failed run leaves an older file as it is. If this is FILE "
            "itself, FILE.vsa remembers which labels were filled in, and the next run fills them in again.",
        ),
    ] = None,
    labeled: Labeled = None,
    na: NaTokens = None,
    no_default_na: NoDefaultNa = False,
    exclude: Exclude = None,
    include: Include = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header_line: HeaderLine = None,
    checkpoint: CheckpointOption = None,
    device: Device = DeviceChoice.auto,
    seed: Seed = 0,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Add a column <target>_confidence, in [0, 1]; for regression <target>_std."),
    ] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column <target>_proba_<class> for each class.")] = False,
    min_confidence: Annotated[
        str | None,
        typer.Option(
            metavar="P", show_default=False, help="Leave cells less certain than 0.8 or 80% as they are (classes only)."
        ),
    ] = None,
    proportions: ProportionsOption = None,
    proportions_from: ProportionsFrom = None,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="PATH",
            help="Write the summary as JSON; `-` means standard output and needs --output.",
        ),
    ] = None,
    ask: Ask = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Let the network itself answer every row. By default, of 32,768 different rows or more, a small "
            "network answers most, which has learned to answer as the large one does.",
        ),
    ] = False,
    report: Report = None,
    suggest: Suggest = None,
    suggest_to: SuggestTo = None,
    workers: Workers = None,
    engine: EngineOption = EngineChoice.local,
    ray_address: RayAddress = None,
    preview: Preview = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Fill in the missing labels of a table.

    The column --target is mostly empty and has a few labels; the same table comes back with every missing
    label filled in, and nothing else changed. It goes to standard output, a summary to standard error. If standard
    output is a terminal, the first rows that were filled are shown in place of the table; `-o -` prints all of it.
    """
    least = None if min_confidence is None else parse_share("--min-confidence", min_confidence)
    if [file, *(labeled or ()), proportions_from].count("-") > 1:
        raise UsageError("two inputs are both standard input; give one of them as a path")

    from vsacli.cli.outputs import sole_writer_of, write_all
    from vsacli.cli.summary import facts_of
    from vsacli.labeling.filled_record import remembered, without_filled
    from vsacli.labeling.run import LabelOptions
    from vsacli.tables.output import check_output
    from vsacli.tables.read import read_table

    options = LabelOptions(
        target=target,
        task=task.value,
        na=tuple(na or ()),
        default_na=not no_default_na,
        exclude=tuple(exclude or ()),
        include=tuple(include or ()),
        checkpoint=checkpoint,
        device=device.value,
        seed=seed,
        confidence=confidence,
        proba=proba,
        min_confidence=least,
        exact=exact,
    )
    options = replace(
        options,
        proportions=known_proportions(
            proportions, proportions_from, options, lambda path: read_labeled(path, target, delimiter, encoding)
        ),
    )
    find = partial(LabelSources.of, file, output, target, labeled, delimiter=delimiter, encoding=encoding)
    given = LabelSources(labeled or []) if ask is not None else find()
    inputs = [file, *given.paths]
    folder = os.path.isdir(file)
    if not folder:
        refuse_options_of_folders(file, engine, workers, ray_address)
        check_output(output, inputs=inputs)  # before the work, not after it
    elif header_line is not None:
        raise UsageError(f"--header-line is for a text file; the folder {file} is read as Parquet parts")
    if ask is not None:
        check_ask(file, folder=folder)
    _check_json(json, output, inputs)
    look = Look(report, suggest, suggest_to)
    look.check(output, json, inputs, folder=folder)
    look.spare_labels(target)
    shown = Shown.of(output, preview=preview, dry_run=dry_run, folder=folder, asked=ask is not None)
    more: list[tuple[str, bytes]] = []
    run = None
    with nullcontext() if folder or not shown.table else sole_writer_of(output):
        if folder:
            from vsacli.labeling.parts.run import label_folder

            how = choose_engine(engine, workers, ray_address)
            with progress_shown(quiet) as progress:
                sources = given.read(target, delimiter, encoding)
                account = label_folder(
                    file, output, options, labeled=sources, labeled_paths=given.paths, engine=how, progress=progress
                )
                account.notes += given.notes
        else:
            with progress_shown(quiet):
                table = read_table(file, delimiter=delimiter, encoding=encoding, header_line=header_line)
                if file != "-":
                    table = without_filled(table, file, target, table.notes)
                _check_format(table, output)
                sources = given.read(target, delimiter, encoding)
                table.notes.extend(given.notes)
            if dry_run:
                shown.what_would_be_done(table, options, sources, quiet)
                return
            if ask is not None:
                from vsacli.asking.answers_file import answers_path

                table, sources = ask_person(table, options, sources, ask, answers_path(file, output))
            with progress_shown(quiet) as progress:
                run = look.label(table, options, sources, inputs, progress)
                account = run.report
                if look.wanted:
                    more = look.files(run, facts_of(account), progress)
        written = run if shown.table else None
        with remembered(written, file) if written is not None and _in_place(file, output) else nullcontext():
            if json is not None:
                from vsacli.cli.summary import record_of

                more.append((json, record_of(account, seed=seed, output=output)))
            write_all(None if written is None else written.write, output, inputs, more, done=folder)
    if run is not None and shown.preview:
        shown.first_rows(run)
    if not quiet:
        show_facts("vsa", facts_of(account))
        given = given if ask is None else find()  # answers are kept by now
        reading = reading_again(
            options,
            {
                "--delimiter": delimiter,
                "--encoding": encoding,
                "--header-line": header_line,
                "--checkpoint": checkpoint,
                "--proportions": proportions,
                "--proportions-from": proportions_from,
            },
        )
        say_next_step(file, given, output, account, written=shown.table, reading=reading)


def _in_place(file: str, output: str | None) -> bool:
    """Whether the table is written into the file that it came from."""
    return file != "-" and output not in (None, "-") and os.path.realpath(file) == os.path.realpath(output or "")


def _check_json(json: str | None, output: str | None, inputs: list[str]) -> None:
    """Refuse a place for the summary that would mix it with the table, or replace a file of this run."""
    from vsacli.labeling.parts.folder import ENDINGS
    from vsacli.tables.output import check_output

    if json is None:
        return
    if json == "-" and output in (None, "-"):
        raise UsageError("--json - and the table would both go to standard output; give --output FILE, or --json FILE")
    check_output(json)
    if json == "-":
        return
    place = Path(os.path.realpath(json))
    for other in [*inputs, *([output] if output is not None else [])]:
        at = os.path.realpath(other)
        a_part = place.name.lower().endswith(ENDINGS) and place.is_relative_to(at)
        if place == Path(at) or a_part or (place.is_file() and os.path.exists(at) and os.path.samefile(place, at)):
            raise UsageError(f"--json {json} would replace {other}, which this run reads or writes; name another file")


_NEVER_WRITTEN = (
    ".xlsx",
    ".xls",
    ".xlsm",
    ".ods",
    ".json",
    ".jsonl",
    ".feather",
    ".arrow",
    ".orc",
    ".avro",
    ".zip",
    ".sav",
)


def _check_format(table: Table, output: str | None) -> None:
    """The output has the format of the input: refuse names of another format, and Parquet on a terminal."""
    if output is None or output == "-":
        if output is not None and not table.is_text and sys.stdout is not None and sys.stdout.isatty():
            raise UsageError(f"{table.name} is Parquet, a binary format; give --output FILE or a pipe")
        return
    ending = PurePath(output).suffix.lower()
    if ending in _NEVER_WRITTEN:
        raise UsageError(
            f"--output {output}: vsa does not write {ending} files, the table keeps its own format; give another ending"
        )
    if table.is_text and ending in (".parquet", ".pq"):
        raise UsageError(f"--output {output}: {table.name} is text and comes back as text; give another ending")
    if not table.is_text and ending in (".csv", ".tsv", ".tab", ".txt", ".psv"):
        raise UsageError(f"--output {output}: {table.name} is Parquet and comes back as Parquet; give another ending")
