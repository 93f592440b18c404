"""Label one table: the whole path of the main job.

    columns -> attributes x (n, M)        target column -> classes or numbers, and which rows lack one
                     x, labeled rows, y  ->  the network  ->  one answer per missing row
                     answers, spelled as the user spells labels  ->  cells to splice into the file

The file itself is read by `vsacli.tables.read_table` before, and written by `Table.write` after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from vsacli.cellvalues import quoted
from vsacli.errors import CheckpointError, DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.checkpoints import Checkpoint
    from vsacli.compact import CompactAttributes
    from vsacli.context import LabeledContext
    from vsacli.inference import Prediction
    from vsacli.study import LabelingRun
    from vsacli.tables.attributes import AttributeEncoder
    from vsacli.tables.table import ExtraColumn, Table
    from vsacli.tables.target import Target

ProgressCallback = Callable[[str, int, int], None]  # step, rows done, rows in all

COMPACT_ROWS = 200_000  # rows from which on attributes are held in less room, which takes some time


@dataclass(frozen=True)
class LabelOptions:
    """What may be asked of one labeling run; the defaults are the command's."""

    target: str
    task: Literal["auto", "classification", "regression"] = "auto"
    na: tuple[str, ...] = ()  # further cell contents that mean "no label"
    default_na: bool = True  # the tokens that pandas reads as missing count, too
    exclude: tuple[str, ...] = ()  # columns that must not become attributes
    checkpoint: str | None = None  # None: the bundled one
    device: str = "auto"
    seed: int = 0
    confidence: bool = False  # add <target>_confidence, or <target>_std
    proba: bool = False  # add <target>_proba_<class>
    min_confidence: float | None = None  # leave less certain cells as they are


@dataclass
class LabelReport:
    """What was done and why, for the person who asked."""

    table: str
    rows: int
    columns: int
    target: str
    kind: str
    reason: str
    given: dict[str, int]  # labels per class; for regression {"": count}
    missing: int  # cells without a label
    missing_tokens: dict[str, int]  # how they are written -> cells
    used: dict[str, int] = field(default_factory=dict)  # column -> attributes made of it
    left_out: list[tuple[str, str]] = field(default_factory=list)  # (column, reason)
    checkpoint: str | None = None  # None: no network was needed
    device: str | None = None
    filled: dict[str, int] = field(default_factory=dict)  # cells filled per class; for regression {"": count}
    left_empty: int = 0  # missing cells below min_confidence
    mean_confidence: float | None = None  # over all missing cells
    mean_std: float | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Answers:
    """What the network says of U missing cells: `proba` (U, C), or `mean` and `std` (U,)."""

    proba: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    best: tuple[np.ndarray, np.ndarray] | None = None  # class and its probability, each (U,), where `proba` is not kept

    @classmethod
    def of(cls, prediction: Prediction, rows: int | None = None) -> Answers:
        """What was predicted, of the first `rows` rows or of all."""
        part = slice(rows)
        kept = {name: getattr(prediction, name) for name in ("proba", "mean", "std")}
        best = prediction.best
        return cls(
            **{name: None if value is None else value[part] for name, value in kept.items()},
            best=None if best is None else (best[0][part], best[1][part]),
        )


@dataclass
class Labels:
    """The cells to write: `values` for the sorted row numbers `rows` of column `column`, and added columns."""

    column: int
    rows: np.ndarray
    values: pa.Array
    extra: list[ExtraColumn]
    report: LabelReport


def _silent(step: str, done: int, total: int) -> None:
    pass


def label_table(
    table: Table,
    options: LabelOptions,
    *,
    labeled: Table | None = None,
    progress: ProgressCallback = _silent,
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
        Called with the run when all answers are there, for a report or suggestions; see `vsacli.study`.

    Raises
    ------
    UsageError
        An unknown column, or an option that does not fit the kind of target.
    DataError
        No label, no row, or no column to learn from.
    """
    context, column, target = find_target(table, labeled, options)
    report = describe(table, options, context, target)
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
            checkpoint, encoded = _for_a_look(table, context, column, options, report, progress)
    else:
        from vsacli.checkpoints import load_checkpoint
        from vsacli.inference import check_classes

        check_classes(len(classes))
        checkpoint = load_checkpoint(options.checkpoint, kind=target.kind)  # first: it may not be there
        x: np.ndarray | CompactAttributes
        if observe is None and table.n_rows >= COMPACT_ROWS:
            x = pack_attributes(table, context, column, options, report, progress)
        else:
            encoded = encode_attributes(table, context, column, options, report, progress)
            x = encoded.x
        best_only = observe is None and not options.proba
        answers = _ask_network(checkpoint, x, target, options, report, progress, best_only)
        del x
        if observe is None:
            encoded = None  # before the cells are spelled: it may be the largest thing in memory
    labels = spell(table, column, target, answers, options, report, n_context=context.n_rows if context else 0)
    if observe is not None:
        from vsacli.study import LabelingRun

        observe(LabelingRun(table, context, column, target, answers, report, options, checkpoint, encoded))
    return labels


def _for_a_look(
    table: Table,
    context: LabeledContext | None,
    column: int | None,
    options: LabelOptions,
    report: LabelReport,
    progress: ProgressCallback,
) -> tuple[Checkpoint | None, Encoded | None]:
    """The network and the attributes where no answer needs them; none where no column says anything."""
    from vsacli.checkpoints import load_checkpoint

    try:
        encoded = encode_attributes(table, context, column, options, report, progress)
    except DataError:
        return None, None
    return load_checkpoint(options.checkpoint, kind="classification"), encoded


def find_target(
    table: Table, labeled: Table | None, options: LabelOptions
) -> tuple[LabeledContext | None, int | None, Target]:
    """The labels of the rows of `labeled`, if given, then of `table`; and the target's place in `table`."""
    from vsacli.condense import read_sparse_target
    from vsacli.tables.target import read_target

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

    from vsacli.context import LabeledContext

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
        given=_count(target.codes[given], target.classes) if classification else {"": int(given.sum())},
        missing=int(target.missing.sum()),
        missing_tokens=dict(target.missing_tokens),
        notes=[*table.notes, *target.notes],
    )
    if context is not None:
        report.notes += context.notes(options.target)
    return report


@dataclass
class Encoded:
    """A table as attributes: `x` (n, M), those of the context first; and what was encoded, with its type then."""

    x: np.ndarray
    encoder: AttributeEncoder
    columns: list[tuple[int, pa.DataType]]

    def widths(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """The columns in use, in the order of their attributes: place in the table, whose header is `names`; width."""
        by_key, seen = self.encoder.widths_by_key, Counter[str]()
        found = []
        for j, _ in self.columns:
            seen[names[j]] += 1
            key = names[j], seen[names[j]]
            if key in by_key:
                found.append((j, by_key[key]))
        return found


def encode_attributes(
    table: Table,
    context: LabeledContext | None,
    column: int | None,
    options: LabelOptions,
    report: LabelReport,
    progress: ProgressCallback,
    *,
    useless: Mapping[int, str] | None = None,
) -> Encoded:
    """The attributes x float32 (n, M) of all rows, NaN where not observed; completes the report.

    `useless` names columns that are known to say nothing, with the reason.
    """
    from vsacli.tables.attributes import AttributeEncoder

    columns = _ColumnsToEncode(table, context, column, options, report, progress, useless or {})
    encoder = AttributeEncoder(seed=options.seed)
    x = encoder.fit_transform(columns, decimal=table.decimal, copies=columns.copies())
    _note_attributes(encoder, table, report)
    return Encoded(x, encoder, columns.read)


def pack_attributes(
    table: Table,
    context: LabeledContext | None,
    column: int | None,
    options: LabelOptions,
    report: LabelReport,
    progress: ProgressCallback,
) -> CompactAttributes:
    """The same attributes, of a large table in less room."""
    from vsacli.compact import CompactAttributes
    from vsacli.tables.attributes import AttributeEncoder

    columns = _ColumnsToEncode(table, context, column, options, report, progress, {})
    encoder = AttributeEncoder(seed=options.seed)
    x = encoder.fit_into(CompactAttributes, columns, decimal=table.decimal, copies=columns.copies())
    _note_attributes(encoder, table, report)
    assert x is not None  # else there was no attribute
    return x


class _ColumnsToEncode:
    """The columns that may become attributes, read one after the other; completes what the report says is left out."""

    def __init__(
        self,
        table: Table,
        context: LabeledContext | None,
        column: int | None,
        options: LabelOptions,
        report: LabelReport,
        progress: ProgressCallback,
        useless: Mapping[int, str],
    ) -> None:
        excluded = {j for name in options.exclude for j in _named(table, name)}
        if column in excluded:
            raise UsageError(f"--exclude {options.target}: the target is never an attribute; leave the option out")
        useless = {j: reason for j, reason in useless.items() if j not in excluded}
        self._skip = excluded | {column} | set(useless)
        report.left_out += [(table.columns[j], "--exclude") for j in sorted(excluded)]
        report.left_out += [(table.columns[j], reason) for j, reason in useless.items()]
        self._table, self._context, self._progress = table, context, progress
        self.read: list[tuple[int, pa.DataType]] = []

    def copies(self) -> np.ndarray | None:
        """Which labeled rows of the other table are rows of this one, too; None if there is no other."""
        from vsacli.copies import find_copies

        return find_copies(self._context, self._skip) if self._context else None

    def __iter__(self) -> Iterator[tuple[str, pa.Array]]:
        table, context = self._table, self._context
        for j in context.matched() if context else range(len(table.columns)):
            if j not in self._skip:
                self._progress("reading columns", j, len(table.columns))
                cells = context.stacked(j) if context else table.column(j)
                self.read.append((j, cells.type))
                yield table.columns[j], cells
                del cells


def _note_attributes(encoder: AttributeEncoder, table: Table, report: LabelReport) -> None:
    report.used = dict(encoder.used)
    report.left_out += encoder.left_out
    if not encoder.attribute_names:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in report.left_out[:5])
        raise DataError(
            f"{table.name}: no column to learn from beside the target"
            f"{f' ({reasons})' if reasons else ''}; add columns that describe the rows"
        )


def _ask_network(
    checkpoint: Checkpoint,
    x: np.ndarray | CompactAttributes,
    target: Target,
    options: LabelOptions,
    report: LabelReport,
    progress: ProgressCallback,
    best_only: bool,
) -> Answers:
    from vsacli.inference import predict

    given = ~target.missing
    classification = target.kind == "classification"
    prediction = predict(
        checkpoint,
        x,
        given,
        target.codes[given] if classification else target.numbers[given],
        len(target.classes) if classification else 0,
        device=options.device,
        seed=options.seed,
        progress=lambda done, total: progress("labeling", done, total),
        best_only=best_only,
    )
    report.checkpoint, report.device = checkpoint.name, prediction.device
    return Answers.of(prediction)


def certain(rows: int, classes: int) -> Answers:
    """Answers that need no network: nothing to fill, or a single class."""
    return Answers(
        proba=np.ones((rows, classes), np.float32), mean=np.zeros(rows, np.float32), std=np.zeros(rows, np.float32)
    )


def spell(
    table: Table,
    column: int | None,
    target: Target,
    answers: Answers,
    options: LabelOptions,
    report: LabelReport,
    *,
    n_context: int,
) -> Labels:
    """Turn answers into cells, complete the report, and add the columns that were asked for."""
    import pyarrow as pa

    from vsacli.added_columns import AddedColumns, scatter
    from vsacli.tables.table import ExtraColumn

    rows = np.flatnonzero(target.missing[n_context:])
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
        report.filled = _count(codes[sure], target.classes)
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
        report.mean_std = float(std.mean()) if len(rows) else None
        if options.confidence:
            added.add_numbers(f"{options.target}_std", std)
    report.left_empty = int((~sure).sum())
    report.notes += added.notes
    if column is not None:
        return Labels(column, rows[sure], values, added.columns, report)
    report.notes.append(f"{table.name} has no column {options.target!r}: it was added as the last one")
    whole = ExtraColumn(options.target, scatter(values, rows[sure], table.n_rows))
    return Labels(0, rows[:0], pa.array([], values.type), [whole, *added.columns], report)


def _checked(answer: np.ndarray | None) -> np.ndarray:
    """The answers, never NaN or infinite: a cell must not be filled with nonsense in silence."""
    if answer is None or not np.isfinite(answer).all():
        raise CheckpointError("the network gave answers that are no numbers; use another --checkpoint")
    return answer


def _count(codes: np.ndarray, classes: Sequence[str]) -> dict[str, int]:
    return dict(zip(classes, np.bincount(codes, minlength=len(classes)).tolist(), strict=True))


def _named(table: Table, name: str) -> list[int]:
    """All columns of that name; an unknown name is an error that suggests a known one."""
    return [j for j, other in enumerate(table.columns) if other == name] or [table.find(name)]
