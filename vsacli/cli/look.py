"""`--report`, `--suggest` and `--suggest-to` of `vsa label`: where they may be written, and with which contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vsacli.errors import NoLabelError, UsageError, VsaError

if TYPE_CHECKING:
    from vsacli.labeling.job import LabelOptions
    from vsacli.labeling.run import LabelingRun
    from vsacli.support.progress import Progress
    from vsacli.tables.table import Table, WritableTable

SUGGESTED = 10

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="PATH",
        help="Write an HTML page: what was filled, how certain it is, and which rows to label next.",
    ),
]
Suggest = Annotated[
    int | None,
    typer.Option(
        "--suggest",
        metavar="N",
        min=1,
        max=500,
        show_default=False,
        help=f"Choose N rows to label next, for --suggest-to and --report. Default: {SUGGESTED}.",
    ),
]
SuggestTo = Annotated[
    str | None,
    typer.Option(
        "--suggest-to",
        metavar="PATH",
        help="Write the rows to label next as CSV; `-` means standard output and needs --output. "
        "Once filled in, give it back with --labeled. Of a table without any label: the rows to label first.",
    ),
]


@dataclass
class Look:
    """What was asked for besides the table."""

    report: str | None
    suggest: int | None
    suggest_to: str | None

    @property
    def wanted(self) -> bool:
        return self.report is not None or self.suggest_to is not None

    def check(self, output: str | None, json: str | None, inputs: Sequence[str], *, folder: bool) -> None:
        """Refuse, before the work, a path that cannot be written or would replace a file of this run."""
        from vsacli.tables.output import check_output

        if self.suggest is not None and not self.wanted:
            raise UsageError("--suggest chooses rows for a file: also give --suggest-to FILE or --report FILE")
        if self.wanted and folder:
            raise UsageError("--report and --suggest-to are for one file; give one part of the folder as FILE")
        if self.report is not None and _is_stdout(self.report):
            raise UsageError("--report - would mix a page with the table; give --report a file")
        to_stdout = self.suggest_to is not None and _is_stdout(self.suggest_to)
        if to_stdout and (output is None or _is_stdout(output) or (json is not None and _is_stdout(json))):
            raise UsageError(
                "--suggest-to - and another result would both go to standard output; give --output FILE, or "
                "--suggest-to FILE"
            )
        taken = [path for path in (*inputs, output, json) if path is not None and not _is_stdout(path)]
        for option, path in (("--report", self.report), ("--suggest-to", self.suggest_to)):
            if path is None or _is_stdout(path):
                continue
            check_output(path)
            for other in taken:
                if os.path.realpath(path) == os.path.realpath(other) or _same_file(path, other):
                    raise UsageError(
                        f"{option} {path} would replace {other}, which this run reads or writes; name another file"
                    )
            taken.append(path)

    def spare_labels(self, target: str) -> None:
        """Refuse to replace a file of suggested rows into which labels have been written.

        Raises
        ------
        UsageError
        """
        from vsacli.tables.read import read_table

        path = self.suggest_to
        if path is None or _is_stdout(path) or not os.path.isfile(path):
            return
        try:
            table = read_table(path)
        except VsaError:
            return  # not one of ours
        if list(table.columns[:2]) != [target, f"{target}_guess"]:
            return
        if any(str(cell or "").strip() for cell in table.column(0).to_pylist()):
            raise UsageError(
                f"--suggest-to {path} holds labels that you filled in: give them back with --labeled, "
                "and name another file"
            )

    def files(
        self, run: LabelingRun, summary: Sequence[tuple[str, str]], progress: Progress
    ) -> list[tuple[str, bytes]]:
        """What to write of a run, and where."""
        from vsacli.insight.study import StudyConfig, study

        config = StudyConfig(suggested=self.suggest or SUGGESTED, columns=self.report is not None)
        found = study(run, config, progress)
        out = []
        if self.suggest_to is not None:
            from vsacli.insight.suggestions_csv import suggestions_csv

            out.append((self.suggest_to, suggestions_csv(found)))
        if self.report is not None:
            from vsacli.insight.report import report_page

            out.append((self.report, report_page(found, summary)))
        return out

    def label(
        self,
        table: WritableTable,
        options: LabelOptions,
        labeled: Sequence[Table],
        inputs: Sequence[str],
        progress: Progress,
    ) -> LabelingRun:
        """Label a table with `label_table`, and keep what is needed to look at it.

        Raises
        ------
        NoLabelError
            No row has a label; `suggest_to`, if given, has got the rows to label first.
        """
        from vsacli.cli.outputs import write_all
        from vsacli.labeling.run import label_table

        try:
            return label_table(table, options, labeled=labeled, progress=progress, keep=self.wanted)
        except NoLabelError:
            if self.suggest_to is None or labeled:
                raise
            write_all(None, None, inputs, [(self.suggest_to, self._first_rows(table, options, progress))])
            place = "standard output" if _is_stdout(self.suggest_to) else self.suggest_to
            raise NoLabelError(
                f"column {options.target!r} has no label in any of its {table.n_rows} rows: label those in {place}, "
                "and give them back with --labeled"
            ) from None

    def _first_rows(self, table: WritableTable, options: LabelOptions, progress: Progress) -> bytes:
        from vsacli.asking.session import Asking
        from vsacli.insight.suggestions_csv import first_rows_csv

        rows = Asking(table, options, progress=progress).first_rows(self.suggest or SUGGESTED)
        column, classes = table.find(options.target), options.task != "regression"
        return first_rows_csv(table, column, options.target, rows, classes=classes)


def _is_stdout(path: str) -> bool:
    return path in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _same_file(a: str, b: str) -> bool:
    return Path(a).is_file() and Path(b).exists() and os.path.samefile(a, b)
