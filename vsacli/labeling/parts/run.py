"""Label a folder of Parquet parts: `vsa label FOLDER`."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from vsacli.errors import OutputError, VsaError
from vsacli.labeling.job import LabelOptions, LabelReport
from vsacli.labeling.parts.engines import Engine, here
from vsacli.labeling.parts.folder import Part, check_folders, check_parts, find_parts
from vsacli.labeling.parts.plan import Plan, make_plan
from vsacli.labeling.parts.record import LOCK, Record, fingerprint_of
from vsacli.labeling.parts.work import PartReport
from vsacli.labeling.shares import note_on_shares
from vsacli.support.locks import sole_writer
from vsacli.support.progress import Progress, silent
from vsacli.support.wording import some

if TYPE_CHECKING:
    from vsacli.tables.table import Table


def label_folder(
    folder: str,
    output: str | None,
    options: LabelOptions,
    *,
    labeled: Sequence[Table] = (),
    labeled_paths: Sequence[str] = (),
    engine: Engine = here,
    progress: Progress = silent,
) -> LabelReport:
    """Label the parts of a folder into another folder, each under its own name.

    The answers depend on the files and options alone, not on the engine (:mod:`vsacli.labeling.parts.plan`). A run that
    was interrupted resumes when it is called again with the same inputs and options.

    Parameters
    ----------
    folder, output : str
    options, progress
        As for `label_table`.
    labeled : sequence of Table
        Other tables with labels.
    labeled_paths : sequence of str
        Where they lie.
    engine : Engine
        Where parts are labeled.

    Returns
    -------
    LabelReport
        Of all parts together.

    Raises
    ------
    UsageError
        Another run is writing to the output folder.
    VsaError
        Of one part: the message names it. Parts finished before it stay.
    """
    parts, others = find_parts(folder)
    check_folders(folder, output, parts, labeled_paths)
    assert output is not None
    with ExitStack() as stack:
        if there := os.path.isdir(output):
            stack.enter_context(sole_writer(Path(output, LOCK)))  # before the plan, which takes its time
        columns, parts = check_parts(parts)
        plan = make_plan(folder, columns, parts, options, labeled=labeled, progress=progress)
        report = plan.report
        if others:
            report.notes.append(f"not copied, because they are not Parquet: {some(others, 5)}")
        try:
            os.makedirs(output, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {output}: {error.strerror}") from None
        if not there:
            stack.enter_context(sole_writer(Path(output, LOCK)))
        record = Record(output, fingerprint_of(plan, parts, labeled_paths))
        reports = _label_parts(plan, parts, output, record, engine, progress)
    _add_up(report, parts, reports)
    return report


def _label_parts(
    plan: Plan, parts: Sequence[Part], output: str, record: Record, engine: Engine, progress: Progress
) -> dict[str, PartReport]:
    """Label the parts that are not finished; the reports of all of them."""
    report = plan.report
    if record.finished:
        report.notes.append(
            f"resuming an interrupted run: {len(record.finished):,} of {len(parts):,} parts were finished and are kept"
        )
    elif record.restarted:
        report.notes.append(f"{output} holds an unfinished run of other inputs or options: all parts are labeled again")
    reports = dict(record.finished)
    with record:
        todo = [part for part in parts if part.name not in reports]
        rows_done = sum(one.rows for one in reports.values())

        def answered(step: str, rows: int, of_part: int) -> None:
            progress(step, rows_done + rows, report.rows)

        finished = engine(plan, todo, output, answered)
        try:
            for one in finished:
                record.add(one)
                reports[one.name] = one
                rows_done += one.rows
                progress("labeling", rows_done, report.rows)
        except VsaError as error:
            if not reports:
                raise
            raise type(error)(
                f"{error}; {len(reports):,} of {len(parts):,} parts are labeled and kept for the next run"
            ) from None
        finally:
            if isinstance(finished, Generator):
                finished.close()  # ends its workers, whatever failed here
        record.complete()
    return reports


def _add_up(report: LabelReport, parts: Sequence[Part], reports: dict[str, PartReport]) -> None:
    """Complete the report of the whole with those of its parts, in the order of the parts."""
    ordered = [reports[part.name] for part in parts]
    for one in ordered:
        for total, counts in ((report.answered, one.answered), (report.filled, one.filled)):
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        report.left_empty += one.left_empty
        report.student_rows += one.student_rows
        report.device = report.device or one.device
    missing = sum(one.missing for one in ordered)
    if missing and report.kind == "classification":
        report.mean_confidence = sum(one.confidence for one in ordered) / missing
    elif missing:
        report.mean_std = min(sum(one.std for one in ordered), sys.float_info.max) / missing  # JSON knows no infinity
    report.notes += ordered[0].notes
    note_on_shares(report)
