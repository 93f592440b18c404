"""One part: its missing labels filled in, and the part written with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.words import Words, side_by_side
from vsacli.errors import OutputError, ResourceError, VsaError
from vsacli.inference.answers import Answers
from vsacli.labeling.answers import certain, spell
from vsacli.labeling.job import Job, LabelReport
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.plan import Network, Plan
from vsacli.labeling.parts.sample import columns_of_part
from vsacli.support.progress import Progress, silent
from vsacli.tables.distinct import blank

if TYPE_CHECKING:
    from vsacli.prepare import ReadOptions
    from vsacli.tables.parquet.table import ParquetTable


@dataclass
class PartReport:
    """The result of one part, as sums, so that those of all parts can be added."""

    name: str
    rows: int
    missing: int
    answered: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    left_empty: int = 0
    confidence: float = 0.0  # summed over the missing cells
    std: float = 0.0
    student_rows: int = 0
    device: str | None = None
    notes: list[str] = field(default_factory=list)
    size: int = -1  # of the labeled part, in bytes, and when it was written
    written: int = -1


def label_part(plan: Plan, part: Part, output: str, *, at_a_time: int = 1, progress: Progress = silent) -> PartReport:
    """Label a part and write it into the folder `output` under its own name, complete or not at all.

    Parameters
    ----------
    at_a_time : int
        Chunks of rows read side by side on a CPU, one thread each; the answers do not depend on it.
    progress : callable
        Called with (step, rows answered, rows of the part to answer).

    Raises
    ------
    VsaError
        If the part cannot be labeled; the message names it.
    """
    try:
        return _label_part(plan, part, output, at_a_time, progress)
    except MemoryError:
        raise ResourceError(
            f"{part.path}: not enough memory for a part of {part.n_rows:,} rows; use fewer --workers, "
            f"or write the table in smaller parts"
        ) from None
    except VsaError as error:
        if part.path in str(error):
            raise
        raise type(error)(f"{part.path}: {error}") from None


def _label_part(plan: Plan, part: Part, output: str, at_a_time: int, progress: Progress) -> PartReport:
    from vsacli.tables.output import open_output

    table = part.open()
    missing = _missing(plan, table)
    rows = np.flatnonzero(missing)
    report = LabelReport(part.path, table.n_rows, 0, plan.options.target, plan.target.kind, "", {}, len(rows), {})
    answers = _answer(plan, table, part, rows, at_a_time, progress)
    target = replace(plan.target, missing=missing)
    labels = spell(Job(table, None, plan.column, plan.options, report), target, answers)
    path = os.path.join(output, *part.name.split("/"))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
    with open_output(path, inputs=[part.path]) as sink:
        values = labels.values.dictionary_encode() if plan.categorical else labels.values
        table.write(sink, labels.column, labels.rows, values, labels.extra)
    state = os.stat(path)
    return PartReport(
        name=part.name,
        rows=table.n_rows,
        missing=len(rows),
        answered=report.answered,
        filled=report.filled,
        left_empty=report.left_empty,
        confidence=(report.mean_confidence or 0.0) * len(rows),
        std=(report.mean_std or 0.0) * len(rows),
        student_rows=answers.student_rows,
        device=answers.device,
        notes=report.notes,
        size=state.st_size,
        written=state.st_mtime_ns,
    )


def _missing(plan: Plan, table: ParquetTable) -> np.ndarray:
    """Which rows of a part lack a label, bool (n,), as was decided over all parts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from vsacli.tables.arrow_types import plain

    if plan.column is None:
        return np.ones(table.n_rows, bool)
    cells, kind, _ = plain(table.column(plan.column), plan.options.target)
    missing = blank(cells)
    if len(plan.no_label) and not pa.types.is_null(kind):
        tokens = plan.no_label.drop_null().cast(cells.type)
        missing |= pc.is_in(cells, value_set=tokens).to_numpy(zero_copy_only=False)
    return missing


def _answer(
    plan: Plan, table: ParquetTable, part: Part, rows: np.ndarray, at_a_time: int, progress: Progress
) -> Answers:
    if plan.network is None or not len(rows):
        return certain(len(rows), len(plan.target.classes))
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict
    from vsacli.inference.proportions import Proportions

    network, given = plan.network, plan.network.proportions
    if network.whole is not None:
        progress("labeling", len(rows), len(rows))
        return network.whole.of_part(part.name, rows)
    words: list[Words] | None = [] if network.words is not None else None
    x = _attributes(network, plan.options, table, part, rows, words)
    options = plan.options
    config = InferenceConfig(
        device=options.device,
        seed=options.seed,
        best_only=not options.proba,
        at_a_time=at_a_time,
    )
    if options.exact:
        config = replace(config, student_from=None)
    stacked = np.concatenate([network.labeled, x])
    return predict(
        network.checkpoint,
        stacked,
        np.arange(len(stacked)) < len(network.labeled),
        network.y,
        len(plan.target.classes),
        config=config,
        known=network.known(None if given is None else Proportions(given.wanted, given.factors), side_by_side(words)),
        progress=progress,
    )


def _attributes(
    network: Network,
    options: ReadOptions,
    table: ParquetTable,
    part: Part,
    rows: np.ndarray,
    words: list[Words] | None,
) -> np.ndarray:
    """The attributes of rows of a part, float32 (rows, M); a list is given their words."""
    import pyarrow as pa

    from vsacli.attributes.named_missing import split_tokens, without_tokens
    from vsacli.labeling.labeled_table import like

    names = [*table.columns, *(key for key, _ in part.keys if key not in table.columns)]
    kinds = dict(network.columns)
    these = pa.array(rows)
    _, missing = split_tokens([*names, options.target], options.na)
    cells = (
        (j, without_tokens(column, missing[names[j]]) if names[j] in missing else column)
        for j, column in columns_of_part(part, names, kinds)
    )
    return network.encoder.transform(((names[j], like(column.take(these), kinds[j])) for j, column in cells), words)
