"""From what the network says to cells: answers, spelled as the user spells labels, and columns added beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import CheckpointError
from vsacli.inference.answers import Answers

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.labeling.job import Job, LabelReport
    from vsacli.tables.table import ExtraColumn
    from vsacli.target.column import Target


@dataclass
class Labels:
    """The cells to write: `values` for the sorted row numbers `rows` of column `column`, and added columns."""

    column: int
    rows: np.ndarray
    values: pa.Array
    extra: list[ExtraColumn]
    report: LabelReport


def certain(rows: int, classes: int) -> Answers:
    """Answers that need no network: nothing to fill, or a single class."""
    return Answers(
        proba=np.ones((rows, classes), np.float32), mean=np.zeros(rows, np.float32), std=np.zeros(rows, np.float32)
    )


def spell(job: Job, target: Target, answers: Answers) -> Labels:
    """Turn answers into cells, complete the report, and add the columns that were asked for."""
    import pyarrow as pa

    from vsacli.labeling.extra_columns import AddedColumns, scatter
    from vsacli.tables.table import ExtraColumn

    table, column, options, report = job.table, job.column, job.options, job.report
    rows = np.flatnonzero(target.missing[job.n_above :])
    added = AddedColumns(table, rows, as_text=table.is_text)
    sure = np.ones(len(rows), bool)
    if target.kind == "classification":
        proba = None if answers.best is not None else _checked(answers.proba)
        if answers.best is not None:
            codes, certainty = answers.best
            _checked(certainty)
        else:
            assert proba is not None
            codes = proba.argmax(axis=1)
            certainty = proba[np.arange(len(rows)), codes]
        if options.min_confidence is not None:
            sure = certainty >= options.min_confidence
        values = target.spell_classes(codes[sure])
        report.answered = count_by_class(codes, target.classes)
        report.filled = count_by_class(codes[sure], target.classes)
        report.mean_confidence = float(certainty.mean()) if len(rows) else None
        if options.confidence:
            added.add_probabilities(f"{options.target}_confidence", certainty)
        if options.proba and proba is not None:
            for c, name in enumerate(target.classes):
                added.add_probabilities(f"{options.target}_proba_{name}", proba[:, c])
    else:
        values = target.spell_numbers(_checked(answers.mean))
        std = _checked(answers.std)
        report.filled = {"": len(rows)}
        report.mean_std = mean_of(std) if len(rows) else None
        if options.confidence:
            added.add_numbers(f"{options.target}_std", std)
    report.left_empty = int((~sure).sum())
    report.notes += added.notes
    if column is not None:
        return Labels(column, rows[sure], values, added.columns, report)
    report.notes.append(note_on_added(table.name, options.target))
    whole = ExtraColumn(options.target, scatter(values, rows[sure], table.n_rows))
    return Labels(0, rows[:0], pa.array([], values.type), [whole, *added.columns], report)


def note_on_added(table: str, target: str) -> str:
    """A note that the label column was added."""
    return f"{table} has no column {target!r}: it was added as the last one"


def mean_of(numbers: np.ndarray) -> float:
    """The mean of finite numbers, also of those whose sum is too large for float64."""
    with np.errstate(over="ignore"):
        mean = float(numbers.mean())
    return mean if np.isfinite(mean) else float((numbers / len(numbers)).sum())


def _checked(answer: np.ndarray | None) -> np.ndarray:
    """The answers, never NaN or infinite: a cell must not be filled with nonsense in silence."""
    if answer is None or not np.isfinite(answer).all():
        raise CheckpointError("the network gave answers that are not numbers; use another --checkpoint")
    return answer


def count_by_class(codes: np.ndarray, classes: Sequence[str]) -> dict[str, int]:
    """How many of the codes (m,) are of each class."""
    return dict(zip(classes, np.bincount(codes, minlength=len(classes)).tolist(), strict=True))
