"""`--preview` and `--dry-run` of `vsa label`, what a terminal is shown in place of the table, and what to do next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.cli.console import on_terminal, progress_shown, say, show_facts
from vsacli.cli.layout import GAP, Section, shortened, width_of
from vsacli.cli.sections import show, width
from vsacli.errors import UsageError
from vsacli.support.wording import number_of, rounded

if TYPE_CHECKING:
    from vsacli.cli.labeled import LabelSources
    from vsacli.labeling.job import LabelOptions, LabelReport
    from vsacli.labeling.run import LabelingRun
    from vsacli.tables.table import Table, WritableTable

SHOWN_ROWS = 10
LONGEST_CELL = 24
MOST_COLUMNS = 8  # beside the label

Preview = Annotated[
    bool,
    typer.Option(
        "--preview",
        help=f"Print the first {SHOWN_ROWS} filled rows in place of the table, or beside --output.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say what would be read and learned from, and how long it takes; write nothing. For one file.",
    ),
]


@dataclass(frozen=True)
class Shown:
    """What a run writes: the table, a preview of it on standard output, or both."""

    table: bool
    preview: bool

    @classmethod
    def of(cls, output: str | None, *, preview: bool, dry_run: bool, folder: bool, asked: bool) -> Shown:
        """What the options ask for; a terminal gets the preview in place of a table that would scroll by.

        Raises
        ------
        UsageError
            Options that do not go together.
        """
        if folder and (preview or dry_run):
            option = "--preview" if preview else "--dry-run"
            raise UsageError(f"{option} is for one file; give one part of the folder as FILE")
        if preview and output == "-":
            raise UsageError("--preview and the table would both go to standard output; give --output FILE")
        if dry_run and (preview or asked):
            raise UsageError("--dry-run fills in nothing; leave out " + ("--preview" if preview else "--ask"))
        if output is None and not folder and (preview or (sys.stdout is not None and sys.stdout.isatty())):
            return cls(table=False, preview=True)
        return cls(table=True, preview=preview)

    def what_would_be_done(
        self, table: WritableTable, options: LabelOptions, sources: Sequence[Table], quiet: bool
    ) -> None:
        """Print the summary of a run that is not made."""
        from vsacli.cli.summary import facts_of
        from vsacli.labeling.foreseen import foresee

        with progress_shown(quiet) as progress:
            report, seconds = foresee(table, options, sources, progress)
        facts = [fact for fact in facts_of(report) if fact[0] != "filled"]
        what = f"about {max(1, round(seconds))} s" if report.missing else "nothing to fill in"
        show_facts("vsa", [*facts, ("time", what), ("dry run", "nothing was filled in or written")])

    def first_rows(self, run: LabelingRun) -> None:
        """Print the first rows whose label was missing."""
        note = "" if self.table else "the table was not written: give --output FILE or a pipe; -o - prints it here"
        show([_preview(run, note)])


def _preview(run: LabelingRun, note: str) -> Section:
    """The first rows without a label as they are filled, beside the columns by which a person knows them."""
    import numpy as np

    from vsacli.insight.row_cells import RowCells
    from vsacli.insight.told_columns import telling_columns

    missing = np.flatnonzero(run.target.missing[run.n_above :])
    places = np.arange(min(SHOWN_ROWS, len(missing)))
    rows = missing[places]
    labels = ["" if label is None else str(label) for label in run.spelled(places)]
    classes = run.target.kind == "classification"
    sure = run.certainty[places]
    least = run.options.min_confidence
    if least is not None:
        labels = [label if p >= least else "(left empty)" for label, p in zip(labels, sure, strict=True)]
    columns = ["row", run.options.target, "confidence" if classes else "± std"]
    told = [f"{p:.2f}" if classes else rounded(p) for p in sure]
    grid = [
        [f"{row + 1:,}", shortened(label, LONGEST_CELL), p] for row, label, p in zip(rows, labels, told, strict=True)
    ]
    names = {1}
    taken = sum(max(map(width_of, [columns[j], *(row[j] for row in grid)])) + GAP for j in range(3))
    shown = telling_columns(run.table, run.column, [j for j, _ in run.columns])[:MOST_COLUMNS]
    cells = RowCells(run).take(rows + run.n_above, shown)
    for k, j in enumerate(shown):
        header = shortened(run.table.columns[j], LONGEST_CELL)
        values = [shortened("" if row[k] is None else str(row[k]), LONGEST_CELL) for row in cells]
        room = max(map(width_of, [header, *values])) + GAP
        if taken + room - GAP > width():
            break
        taken += room
        names.add(len(columns))
        columns.append(header)
        for line, value in zip(grid, values, strict=True):
            line.append(value)
    filled = sum(run.report.filled.values())
    title = f"{run.table.name}: {filled:,} of {run.report.missing:,} missing labels filled in"
    more = f"and {number_of(len(missing) - len(rows), 'more row')}" if len(missing) > len(rows) else ""
    return Section(title, columns, grid, [text for text in (more, note) if text], names=names)


def say_next_step(
    file: str, given: LabelSources, output: str | None, report: LabelReport, *, written: bool, reading: Sequence[str]
) -> None:
    """Tell a person on a terminal the command to run next, in a line of its own; nothing if none helps.

    The command also has the options that say how the table is to be read, `reading`.
    """
    if not on_terminal() or file == "-" or "-" in given.paths or not report.missing or report.checkpoint is None:
        return
    labeled = [*(word for path in given.named_for(file) for word in ("--labeled", path)), *reading]
    command = ["vsa", "label", file, "-t", report.target, *labeled]
    if not written:
        why, command = "write the table", [*command, "-o", "FILE"]
    elif any(n > 1 for n in report.given.values()):
        why, command = "how many of these labels are right?", ["vsa", "eval", file, "-t", report.target, *labeled]
    else:
        why = "which rows to label for better answers?"
        command = [*command, "-o", output or "FILE", "--suggest-to", "next.csv"]
    say(f"Next: {why}\n  {shlex.join(command)}")
