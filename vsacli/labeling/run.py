"""Label one table: the whole path of the main job.

    columns -> attributes x (n, M)        target column -> classes or numbers, and which rows lack one
                     x, labeled rows, y  ->  the network  ->  one answer per missing row
                     answers, spelled as the user spells labels  ->  cells to splice into the file

The file itself is read by `vsacli.tables.read.read_table` before, and written by `Table.write` after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from vsacli import prepare
from vsacli.errors import DataError, UsageError
from vsacli.inference.answers import Answers
from vsacli.labeling.answers import Labels, certain, count_by_class, note_on_added, spell
from vsacli.labeling.job import Job, LabelOptions, LabelReport, is_foregone
from vsacli.labeling.shares import note_on_shares, proportions_of
from vsacli.support.progress import Progress, silent
from vsacli.target.proportions import OPTION, shares_of

if TYPE_CHECKING:
    from vsacli.attributes.packed import CompactAttributes
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.reading import Known
    from vsacli.labeling.labeled_table import LabeledContext
    from vsacli.prepare import Attributes
    from vsacli.tables.table import Table, WritableTable
    from vsacli.target.column import Target


@dataclass(frozen=True)
class LabelingRun:
    """What `label_table` found.

    Attributes
    ----------
    table, context, column
        The table, the labeled rows stacked above its own, and the place of its target column.
    target, answers
        The labels of the stacked rows (n,), and the answers for those without one, in row order.
    labels, report
        The answers as cells to be written, and the report of the run.
    checkpoint, attributes
        The network, and the stacked rows as it read them, if they were to be kept; None if no row was to be answered.
    """

    table: WritableTable
    context: LabeledContext | None
    column: int | None
    target: Target
    answers: Answers
    labels: Labels
    report: LabelReport
    options: LabelOptions
    checkpoint: Checkpoint | None = None
    attributes: Attributes[np.ndarray] | None = None

    def write(self, sink: BinaryIO) -> None:
        """Write the table with the missing labels filled in."""
        labels = self.labels
        self.table.write(sink, labels.column, labels.rows, labels.values, labels.extra)

    @property
    def n_above(self) -> int:
        """Rows of the other table, which come first."""
        return self.context.n_rows if self.context else 0

    @property
    def columns(self) -> list[tuple[int, int]]:
        """The columns in use: place in the table and number of attributes, in the order of those."""
        return self.attributes.widths(self.table.columns) if self.attributes is not None else []

    @property
    def certainty(self) -> np.ndarray:
        """Confidence of each answer, or its standard deviation (then small is certain), float64 (U,)."""
        if self.answers.best is not None:
            return self.answers.best[1].astype(np.float64)
        if self.target.kind == "classification":
            return self.answers.probabilities.max(axis=1).astype(np.float64)
        return self.answers.numbers[1].astype(np.float64)

    @property
    def uncertainty(self) -> np.ndarray:
        """How uncertain each answer is, (U,), at least 0."""
        return 1 - self.certainty if self.target.kind == "classification" else self.certainty

    def filled_cells(self) -> tuple[np.ndarray, list[str]]:
        """The rows of the table whose label is filled in, ascending, and these labels as text."""
        import pyarrow as pa

        from vsacli.labeling.relabeled import label_cells
        from vsacli.tables.arrow_types import as_text

        if self.column is not None:
            values, kind = self.labels.values, label_cells(self.table, self.column).type
            if values.type != kind and not pa.types.is_null(kind):
                values = values.cast(kind, safe=False)  # as they will be read
            return self.labels.rows, as_text(values).to_pylist()
        texts = as_text(self.labels.extra[0].values).to_pylist()
        rows = [row for row, text in enumerate(texts) if text]
        return np.array(rows, np.int64), [texts[row] for row in rows]

    def spelled(self, places: np.ndarray) -> list[Any]:
        """The answers at `places` as they would be written in the file."""
        if self.answers.best is not None:
            return self.target.spell_classes(self.answers.best[0][places]).to_pylist()
        if self.target.kind == "classification":
            return self.target.spell_classes(self.answers.probabilities[places].argmax(axis=1)).to_pylist()
        return self.target.spell_numbers(self.answers.numbers[0][places]).to_pylist()


def label_table(
    table: WritableTable,
    options: LabelOptions,
    *,
    labeled: Table | Sequence[Table] | None = None,
    progress: Progress = silent,
    keep: bool = False,
) -> LabelingRun:
    """Answer every missing label of `table`.

    Parameters
    ----------
    table
        The table to fill, as `read_table` gives it.
    options
        The target column and everything else that may be chosen.
    labeled
        Another table, or several, with labels; columns are matched by name. An unchanged row of `table` is that row
        with a label (:mod:`vsacli.labeling.given_back`); all other labeled rows join those of `table`. Where `table`
        has no target column, one is added after its last column.
    progress
        Called with (step, rows done, rows in all).
    keep
        Keep attributes and all probabilities, for `vsacli.insight.study`; else a large table takes less memory.

    Raises
    ------
    UsageError
        An unknown column, or an option that does not fit the kind of target.
    DataError
        No label, no row, or no column to learn from.
    """
    table, job, target = begin(table, options, labeled=labeled, progress=progress)
    context, column, report = job.context, job.column, job.report
    classes = target.classes if target.kind == "classification" else []
    checkpoint, attributes = None, None
    if is_foregone(target, report):
        answers = certain(report.missing, len(classes))
        if keep and report.missing:  # which rows may well be of another class is worth a look
            checkpoint, attributes = _for_a_look(job)
    else:
        from vsacli.checkpoints.resolve import load_checkpoint
        from vsacli.inference.config import check_classes
        from vsacli.inference.reading import Known

        check_classes(len(classes))
        checkpoint = load_checkpoint(options.checkpoint, kind=target.kind)  # first: it may not be there
        x: np.ndarray | CompactAttributes
        if keep or table.n_rows < prepare.LARGE_ROWS:
            attributes = prepare.read_attributes(job.columns(), copies=job.copied_rows, words=True)
            job.note(attributes)
            x, known = attributes.x, Known(further=attributes.further, words=attributes.words)
        else:
            packed = prepare.pack_attributes(job.columns(), copies=job.copied_rows)
            job.note(packed)
            x, known = packed.x, Known(further=packed.further, words=packed.words)
            del packed
        best_only = not keep and not options.proba
        answers = _ask_network(checkpoint, x, known, target, job, best_only)
        del x
        if not keep:
            attributes = None  # before the cells are spelled: it may be the largest thing in memory
    labels = spell(job, target, answers)
    note_on_shares(report)
    return LabelingRun(table, context, column, target, answers, labels, report, options, checkpoint, attributes)


def begin(
    table: WritableTable, options: LabelOptions, *, labeled: Table | Sequence[Table] | None, progress: Progress = silent
) -> tuple[WritableTable, Job, Target]:
    """The table with the labels that came back, the job, and the labels of the stacked rows.

    Parameters and errors are those of :func:`label_table`.
    """
    notes: list[str] = []
    others: Table | None = None
    sources = [] if labeled is None else list(labeled) if isinstance(labeled, Sequence) else [labeled]
    if sources:
        from vsacli.labeling.given_back import give_back

        returned = give_back(table, sources, options)
        table, others, notes = returned.table, returned.others, returned.notes
        if returned.adds_column:
            notes.append(note_on_added(table.name, options.target))
    context, column, target = find_target(table, others, options)
    prepare.check_tokens(table, options)
    report = describe(table, options, context, target)
    report.notes += notes
    return table, Job(table, context, column, options, report, progress), target


def _for_a_look(job: Job) -> tuple[Checkpoint | None, Attributes[np.ndarray] | None]:
    """The network and the attributes when no answer needs them; none if no column carries information."""
    from vsacli.checkpoints.resolve import load_checkpoint

    try:
        attributes = prepare.read_attributes(job.columns(), copies=job.copied_rows)
    except DataError:
        return None, None
    job.note(attributes)
    return load_checkpoint(job.options.checkpoint, kind="classification"), attributes


def find_target(
    table: Table, labeled: Table | None, options: prepare.ReadOptions
) -> tuple[LabeledContext | None, int | None, Target]:
    """The labels of the rows of `labeled`, if given, then of `table`; and the target's place in `table`."""
    if labeled is None:
        column = table.find(options.target)
        return None, column, prepare.read_label_column(table, column, options)

    from vsacli.labeling.labeled_table import LabeledContext

    source_column = labeled.find(options.target)
    given = prepare.read_label_column(labeled, source_column, options).given
    context = LabeledContext(labeled, table, given)
    column = table.find(options.target) if context.table_has(options.target) else None
    cells = context.stacked_target(source_column, column)
    target = prepare.read_labels(cells, context.stacked_table(), options)
    return context, column, prepare.without_rows_of_nothing(target, table, column, above=context.n_rows)


def describe(table: Table, options: LabelOptions, context: LabeledContext | None, target: Target) -> LabelReport:
    """What is known before anything is predicted; refuses options that do not fit the kind of target."""
    classification = target.kind == "classification"
    if not classification:
        if options.proba:
            raise UsageError(f"--proba needs classes and the task is regression ({target.reason}); try --confidence")
        if options.min_confidence is not None:
            raise UsageError(
                f"--min-confidence needs classes and the task is regression ({target.reason}); "
                f"--confidence adds the standard deviation {options.target}_std"
            )
        if options.proportions is not None:
            raise UsageError(f"{OPTION} needs classes and the task is regression ({target.reason}); leave it out")
    given = target.given
    report = LabelReport(
        table=table.name,
        rows=table.n_rows,
        columns=len(table.columns),
        target=options.target,
        kind=target.kind,
        reason=target.reason,
        given=count_by_class(target.codes[given], target.classes) if classification else {"": int(given.sum())},
        missing=int(target.missing.sum()),
        missing_tokens=dict(target.missing_tokens),
        notes=[*table.notes, *target.notes],
    )
    if context is not None:
        report.notes += context.notes(options.target)
    if options.proportions is not None:
        shares, notes = shares_of(options.proportions, target.classes, np.array(list(report.given.values())))
        report.assumed = dict(zip(target.classes, shares.tolist(), strict=True))
        report.notes += notes
    return report


def _ask_network(
    checkpoint: Checkpoint,
    x: np.ndarray | CompactAttributes,
    known: Known,
    target: Target,
    job: Job,
    best_only: bool,
) -> Answers:
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict

    given = target.given
    classification = target.kind == "classification"
    config = InferenceConfig(device=job.options.device, seed=job.options.seed, best_only=best_only)
    if job.options.exact:
        config = replace(config, student_from=None)
    prediction = predict(
        checkpoint,
        x,
        given,
        target.codes[given] if classification else target.numbers[given],
        len(target.classes) if classification else 0,
        config=config,
        known=replace(known, proportions=proportions_of(job, target), unread=target.unread),
        progress=job.progress,
    )
    job.report.checkpoint, job.report.device = checkpoint.name, prediction.device
    job.report.graph_rows, job.report.student_rows = prediction.graph_rows, prediction.student_rows
    job.report.logarithms = prediction.logarithms
    asked = ~given if target.unread is None else ~(given | target.unread)
    return prediction.only(target.missing[asked])
