"""Label one table: the whole path of the main job.

    columns -> attributes x (n, M)        target column -> classes or numbers, and which rows lack one
                     x, labeled rows, y  ->  the network  ->  one answer per missing row
                     answers, spelled as the user spells labels  ->  cells to splice into the file

The file itself is read by `vsacli.tables.read.read_table` before, and written by `Table.write` after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vsacli.errors import DataError, UsageError
from vsacli.labeling.answers import Answers, Labels, certain, count_by_class, spell, with_given
from vsacli.labeling.attributes import Encoded, encode_attributes, pack_attributes
from vsacli.labeling.job import Job, LabelOptions, LabelReport, ProgressCallback, silent
from vsacli.support.privacy import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.attributes.packed import CompactAttributes
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.labeling.labeled_table import LabeledContext
    from vsacli.tables.table import Table
    from vsacli.target.column import Target

COMPACT_ROWS = 200_000  # rows from which on attributes are held in less room, which takes some time


@dataclass(frozen=True)
class LabelingRun:
    """What `label_table` knows when all answers are there; its observer gets it.

    Attributes
    ----------
    table, context, column
        The table, the labeled rows stacked above its own, and the place of its target column.
    target, answers, report
        The labels of the stacked rows (n,), the answers for those without one, in row order, and the account so far.
    checkpoint, encoded
        The network, and the stacked rows as attributes; None where no row was to be answered.
    """

    table: Table
    context: LabeledContext | None
    column: int | None
    target: Target
    answers: Answers
    report: LabelReport
    options: LabelOptions
    checkpoint: Checkpoint | None = None
    encoded: Encoded | None = None

    @property
    def n_above(self) -> int:
        """Rows of the other table, which come first."""
        return self.context.n_rows if self.context else 0

    @property
    def columns(self) -> list[tuple[int, int]]:
        """The columns in use: place in the table and number of attributes, in the order of those."""
        return self.encoded.widths(self.table.columns) if self.encoded is not None else []

    @property
    def certainty(self) -> np.ndarray:
        """Confidence of each answer, or its standard deviation (then small is certain), float64 (U,)."""
        if self.target.kind == "classification":
            assert self.answers.proba is not None
            return self.answers.proba.max(axis=1).astype(np.float64)
        assert self.answers.std is not None
        return self.answers.std.astype(np.float64)

    @property
    def uncertainty(self) -> np.ndarray:
        """How uncertain each answer is, (U,), at least 0."""
        return 1 - self.certainty if self.target.kind == "classification" else self.certainty

    def spelled(self, places: np.ndarray) -> list[Any]:
        """The answers at `places` as they would stand in the file."""
        if self.target.kind == "classification":
            assert self.answers.proba is not None
            return self.target.spell_classes(self.answers.proba[places].argmax(axis=1)).to_pylist()
        assert self.answers.mean is not None
        return self.target.spell_numbers(self.answers.mean[places]).to_pylist()


def label_table(
    table: Table,
    options: LabelOptions,
    *,
    labeled: Table | None = None,
    progress: ProgressCallback = silent,
    observe: Callable[[LabelingRun], None] | None = None,
) -> Labels:
    """Answer every missing label of `table`.

    Parameters
    ----------
    table
        The table to fill, as `read_table` gives it.
    options
        The target column and everything else that may be chosen.
    labeled
        Another table whose labeled rows join those of `table`; columns are matched by name. Where `table`
        has no target column, one is added after its last column.
    progress
        Called with (step, rows done, rows in all).
    observe
        Called with the run when all answers are there, for a report or suggestions; see `vsacli.insight.study`.

    Raises
    ------
    UsageError
        An unknown column, or an option that does not fit the kind of target.
    DataError
        No label, no row, or no column to learn from.
    """
    context, column, target = find_target(table, labeled, options)
    report = describe(table, options, context, target)
    job = Job(table, context, column, options, report, progress)
    classes = target.classes if target.kind == "classification" else []
    answers = Answers()
    checkpoint, encoded = None, None
    if not target.missing.any():
        report.notes.append("no label is missing: nothing to fill")
        answers = certain(0, len(classes))
    elif len(classes) == 1:
        one = quoted(classes[0], "that one")
        report.notes.append(f"all given labels are of one class, so every missing label becomes {one}")
        answers = certain(report.missing, 1)
        if observe is not None:  # which rows may well be of another class is worth a look
            checkpoint, encoded = _for_a_look(job)
    else:
        from vsacli.checkpoints.resolve import load_checkpoint
        from vsacli.inference.config import check_classes

        check_classes(len(classes))
        checkpoint = load_checkpoint(options.checkpoint, kind=target.kind)  # first: it may not be there
        x: np.ndarray | CompactAttributes
        if observe is None and table.n_rows >= COMPACT_ROWS:
            x = pack_attributes(job)
        else:
            encoded = encode_attributes(job)
            x = encoded.x
        best_only = observe is None and not options.proba
        answers = with_given(job, target, _ask_network(checkpoint, x, target, job, best_only))
        del x
        if observe is None:
            encoded = None  # before the cells are spelled: it may be the largest thing in memory
    labels = spell(job, target, answers)
    if observe is not None:
        observe(LabelingRun(table, context, column, target, answers, report, options, checkpoint, encoded))
    return labels


def _for_a_look(job: Job) -> tuple[Checkpoint | None, Encoded | None]:
    """The network and the attributes where no answer needs them; none where no column says anything."""
    from vsacli.checkpoints.resolve import load_checkpoint

    try:
        encoded = encode_attributes(job)
    except DataError:
        return None, None
    return load_checkpoint(job.options.checkpoint, kind="classification"), encoded


def find_target(
    table: Table, labeled: Table | None, options: LabelOptions
) -> tuple[LabeledContext | None, int | None, Target]:
    """The labels of the rows of `labeled`, if given, then of `table`; and the target's place in `table`."""
    from vsacli.target.column import read_target
    from vsacli.target.sparse import read_sparse_target

    def read(cells: pa.Array, of: Table, above: int = 0) -> Target:
        how = read_target if len(cells) < COMPACT_ROWS else read_sparse_target
        return how(
            cells,
            task=options.task,
            na=options.na,
            default_na=options.default_na,
            decimal=of.decimal,
            name=options.target,
            where=lambda row: of.where(row - above) if row >= above else f"labeled row {row + 1}",
        )

    if labeled is None:
        column = table.find(options.target)
        return None, column, read(table.column(column), table)

    from vsacli.labeling.labeled_table import LabeledContext

    source_column = labeled.find(options.target)
    context = LabeledContext(labeled, table, ~read(labeled.column(source_column), labeled).missing)
    column = table.find(options.target) if context.table_has(options.target) else None
    return context, column, read(context.stacked_target(source_column, column), table, context.n_rows)


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
    given = ~target.missing
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
    return report


def _ask_network(
    checkpoint: Checkpoint, x: np.ndarray | CompactAttributes, target: Target, job: Job, best_only: bool
) -> Answers:
    from vsacli.inference.predict import predict

    given = ~target.missing
    classification = target.kind == "classification"
    prediction = predict(
        checkpoint,
        x,
        given,
        target.codes[given] if classification else target.numbers[given],
        len(target.classes) if classification else 0,
        device=job.options.device,
        seed=job.options.seed,
        progress=lambda done, total: job.progress("labeling", done, total),
        best_only=best_only,
    )
    job.report.checkpoint, job.report.device = checkpoint.name, prediction.device
    return Answers.of(prediction)
