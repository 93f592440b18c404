"""Everything that is needed to label a part, besides the part: a function of the folder's contents and the options.

    target column of all parts  ->  kind of task, classes, which cells are missing           (survey.py)
    a sample of rows, and the labeled rows  ->  encoder, attributes of the labeled rows

What the answers of a part depend on: the plan and the part's own rows. The plan depends on all parts (their names
give the order of the rows), on the options, and on nothing that happens while parts are labeled. So neither the
number of workers nor the order in which parts are finished changes a byte.

A folder of at most `SAMPLE_ROWS` rows is read whole for the plan. Of a larger one a seeded sample of that many rows is
read, and of more than `LABELED_ROWS` labeled rows a sample with every class in it; for a folder with many columns
both numbers are smaller. The sample decides what columns become; categories that are not in it count as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.words import Words, rows_of, stacked
from vsacli.errors import UsageError
from vsacli.labeling.given_back import together
from vsacli.labeling.job import Job, LabelOptions, LabelReport, is_foregone
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.sample import choose_labeled, read_rows, sample_rows
from vsacli.labeling.parts.survey import Survey, first_rows, survey_target
from vsacli.labeling.run import describe, find_target
from vsacli.labeling.shares import proportions_of
from vsacli.prepare import read_attributes
from vsacli.support.progress import Progress
from vsacli.tables.held import HeldTable

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.answers import Answers
    from vsacli.inference.class_groups import ClassGroups
    from vsacli.inference.proportions import Proportions
    from vsacli.inference.reading import Known, Reading
    from vsacli.inference.structure import KnownStructure
    from vsacli.inference.target_scale import TargetScale
    from vsacli.prepare import Attributes
    from vsacli.tables.table import Table
    from vsacli.target.column import Target

MATCHED_ROWS = 2_048
"""Unlabeled rows of the sample that are answered to meet known proportions of the classes."""
WHOLE_ROWS = 2_000
"""Rows of a folder that is answered at once, as a file is: it takes less time than to start workers."""


@dataclass
class Network:
    """What a part needs to be answered by the network.

    Attributes
    ----------
    columns : list of (int, pa.DataType)
        The columns that become attributes, and the type in which the encoder knows them.
    labeled : ndarray of float32, shape (L, M)
    y : ndarray, shape (L,)
        Their classes or numbers.
    beside : ndarray of float32, shape (k, M)
        Unlabeled rows of the sample, beside which the rows of each part are asked about.
    signatures : ndarray of uint64, shape (M,)
        Of the sample: the order of attributes and rows is the same in every part.
    structure : KnownStructure, optional
        Of the sample and the labeled rows, for a network that reads it.
    groups : ClassGroups, optional
        Of the classes, in the sample and the labeled rows, if there are many; then there is no structure of all.
    proportions : Proportions, optional
        With the factors that meet them in the sample: a part has shares of its own.
    scale : TargetScale, optional
        Of the numbers that are labels.
    words : Words, shape (L, V), optional
        Of the labeled rows.
    whole : WholeFolder, optional
        All answers, of a folder that is answered at once; then nothing is left to ask.
    """

    checkpoint: Checkpoint
    encoder: AttributeEncoder
    columns: list[tuple[int, pa.DataType]]
    labeled: np.ndarray
    y: np.ndarray
    beside: np.ndarray
    signatures: np.ndarray
    structure: KnownStructure | None = None
    groups: ClassGroups | None = None
    proportions: Proportions | None = None
    scale: TargetScale | None = None
    words: Words | None = None
    whole: WholeFolder | None = None

    def known(self, proportions: Proportions | None, words: Words | None) -> Known:
        """What is known of the folder when rows of it with these words are asked about, below the labeled ones."""
        from vsacli.inference.reading import Known

        return Known(
            self.signatures,
            self.structure,
            proportions,
            self.groups,
            self.beside,
            further=self.encoder.further,
            scale=self.scale,
            words=stacked(self.words, words),
        )


@dataclass
class WholeFolder:
    """The answers for all rows of a folder without a label that is learned from.

    Attributes
    ----------
    answers : Answers
    asked : ndarray of bool, shape (rows of the folder,)
        The rows that they are for, in order.
    first : dict of str to int
        The row at which each part begins.
    """

    answers: Answers
    asked: np.ndarray
    first: dict[str, int]

    def of_part(self, name: str, rows: np.ndarray) -> Answers:
        """The answers for some rows of a part, ascending, which are all among those asked about."""
        wanted = np.zeros(len(self.asked), bool)
        wanted[self.first[name] + rows] = True
        return self.answers.only(wanted[self.asked])


@dataclass
class Plan:
    """How to label each part; it can be sent to another process.

    Attributes
    ----------
    column : int or None
        Where the target lies in each part; None if the parts lack it (then it is added).
    categorical : bool
        Its labels are categories, even if a part has none.
    target : Target
        Of all parts, without its rows: how to spell classes and numbers.
    no_label : pa.Array
        The distinct cells that mean "no label"; so do blank ones.
    network : Network or None
        None if no label is missing, or all are of one class.
    report : LabelReport
        What is known before a part is labeled.
    parts : list of str
        Names of all parts, in order.
    """

    options: LabelOptions
    column: int | None
    categorical: bool
    target: Target
    no_label: pa.Array
    network: Network | None
    report: LabelReport
    parts: list[str]


def make_plan(
    folder: str,
    columns: list[str],
    parts: Sequence[Part],
    options: LabelOptions,
    *,
    labeled: Sequence[Table],
    progress: Progress,
) -> Plan:
    """Read what all parts have in common.

    Parameters
    ----------
    folder : str
        The name of the table in messages.
    columns, parts
        As `check_parts` gives them.
    options, progress
        As for `label_table`.
    labeled : sequence of Table
        Other tables with labels.

    Raises
    ------
    UsageError, DataError, CheckpointError
        As `label_table`; messages about a cell name the part.
    """
    import pyarrow as pa

    held = HeldTable(folder, columns, 0)
    survey = None
    if not labeled or options.target in columns:
        column = held.find(options.target)
        if column >= len(parts[0].open().columns):
            raise UsageError(
                f"{options.target!r} is in the folder names of {folder}, not in the files; name another --target"
            )
        survey = survey_target(parts, column, options.target)
        held = HeldTable(folder, columns, len(survey.cells), {column: survey.cells}, survey.where)
    context, column, target = find_target(held, together(held, labeled, options) if labeled else None, options)
    n_context = context.n_rows if context else 0
    report = describe(held, options, context, target)
    _count_blanks(report, survey, parts)
    no_label = pa.array([], pa.null())
    if survey is not None:
        missing = target.missing[n_context:]
        no_label = survey.cells.filter(pa.array(missing)).unique()
        if pa.types.is_dictionary(no_label.type):
            no_label = no_label.dictionary_decode()
    network = None
    if not is_foregone(target, report):
        network = _prepare(Job(held, context, column, options, report, progress), target, parts, survey)
    if network is not None:
        report.checkpoint = network.checkpoint.name
    categorical = survey is not None and pa.types.is_dictionary(survey.cells.type)
    return Plan(
        options, column, categorical, _without_rows(target), no_label, network, report, [part.name for part in parts]
    )


def _count_blanks(report: LabelReport, survey: Survey | None, parts: Sequence[Part]) -> None:
    """Count all rows of the folder; the report counts those that are held."""
    report.rows = sum(part.n_rows for part in parts)
    if survey is None:
        report.missing, report.missing_tokens = report.rows, {"": report.rows}
    elif survey.blanks:
        report.missing += survey.blanks - 1
        report.missing_tokens[""] = survey.blanks


def _without_rows(target: Target) -> Target:
    none = np.empty(0, np.int64)
    return replace(target, missing=none.astype(bool), codes=none, numbers=none.astype(np.float64), ignored=None)


def _prepare(job: Job, target: Target, parts: Sequence[Part], survey: Survey | None) -> Network:
    from vsacli.checkpoints.resolve import load_checkpoint
    from vsacli.inference.config import InferenceConfig, check_classes
    from vsacli.inference.order import attribute_signatures, row_order
    from vsacli.inference.reading import Known, Reading

    context, options, report = job.context, job.options, job.report
    names = job.table.columns
    check_classes(len(target.classes))
    checkpoint = load_checkpoint(options.checkpoint, kind=target.kind)  # first: it may not be there
    n_context = context.n_rows if context else 0
    values = target.codes if target.kind == "classification" else target.numbers
    given = np.flatnonzero(target.given)  # the context's rows come first
    chosen = given[choose_labeled(values[given], target, len(names), options.seed)]
    if len(chosen) < len(given):
        report.notes.append(f"of {len(given):,} labeled rows a sample of {len(chosen):,} is read with every part")
    inside = chosen[chosen >= n_context] - n_context
    labeled_rows = survey.places[inside] if survey else np.empty(0, np.int64)
    all_labeled = survey.places[given[given >= n_context] - n_context] if survey else labeled_rows
    rows = sample_rows(report.rows, labeled_rows, len(names), options.seed)
    if len(rows) < report.rows:
        report.notes.append(f"column types were decided from a sample of {len(rows):,} rows and all labels")

    held, counters = read_rows(job, parts, rows)
    if context is not None:
        context.table = held
    useless = dict.fromkeys(counters, "an id: integers without a gap") if len(rows) < report.rows else {}
    job = replace(job, table=held)
    attributes = read_attributes(job.columns(useless), copies=job.copied_rows, words=True)
    job.note(attributes)
    x = attributes.x
    below = x[n_context:]
    outside = chosen[chosen < n_context]
    unlabeled = ~np.isin(rows, all_labeled)
    signatures = attribute_signatures(x)
    starts = first_rows(parts)
    y = np.concatenate([values[outside], values[inside + n_context]])
    support = np.concatenate([outside, n_context + np.searchsorted(rows, labeled_rows)])
    if len(rows) == report.rows <= WHOLE_ROWS and len(chosen) == len(given):
        answers = _answer_at_once(checkpoint, attributes, support, y, len(target.classes), job, target)
        return Network(
            checkpoint=checkpoint,
            encoder=attributes.encoder,
            columns=attributes.columns,
            labeled=x[support],
            y=y,
            beside=below[:0],
            signatures=signatures,
            whole=WholeFolder(
                answers, unlabeled, dict(zip((part.name for part in parts), starts.tolist(), strict=False))
            ),
        )
    read = np.concatenate([support, n_context + np.flatnonzero(unlabeled)])
    sample = Reading(
        checkpoint,
        x[read],
        np.arange(len(read)) < len(support),
        y,
        len(target.classes),
        InferenceConfig(device="cpu", seed=options.seed),
        Known(signatures, further=attributes.further, words=rows_of(attributes.words, read)),
    )
    groups, structure = _groups_and_structure(sample)
    graph = structure if groups is None else groups
    report.logarithms = sample.scale is not None and sample.scale.logarithms
    report.graph_rows = 0 if graph is None else len(graph)
    candidates = np.flatnonzero(unlabeled)
    candidates = candidates[row_order(below, signatures, options.seed, rows=candidates)][:MATCHED_ROWS]
    network = Network(
        checkpoint=checkpoint,
        encoder=attributes.encoder,
        columns=attributes.columns,
        labeled=x[support],
        y=y,
        beside=sample.kept_beside(),
        signatures=signatures,
        structure=structure,
        groups=groups,
        proportions=proportions_of(job, target),
        scale=sample.scale,
        words=rows_of(attributes.words, support),
    )
    if network.proportions is not None:
        words = rows_of(attributes.words, n_context + candidates)
        _match(network, below[candidates], words, len(target.classes), job)
    return network


def _answer_at_once(
    checkpoint: Checkpoint,
    attributes: Attributes[np.ndarray],
    support: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    job: Job,
    target: Target,
) -> Answers:
    """The answers for all rows of the folder but the labeled ones `support`, as for a file with these rows."""
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict
    from vsacli.inference.reading import Known

    options, x = job.options, attributes.x
    labeled = np.zeros(len(x), bool)
    labeled[support] = True
    answers = predict(
        checkpoint,
        x,
        labeled,
        y,
        n_classes if target.kind == "classification" else 0,
        config=InferenceConfig(device=options.device, seed=options.seed, best_only=not options.proba),
        known=Known(proportions=proportions_of(job, target), further=attributes.further, words=attributes.words),
        progress=job.progress,
    )
    job.report.graph_rows, job.report.logarithms = answers.graph_rows, answers.logarithms
    n_context = job.n_above
    return answers.only(np.flatnonzero(~labeled) >= n_context)


def _match(network: Network, sample: np.ndarray, words: Words | None, n_classes: int, job: Job) -> None:
    """Find the factors that meet the proportions in unlabeled rows of the whole folder."""
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict

    table = np.concatenate([network.labeled, sample])
    predict(
        network.checkpoint,
        table,
        np.arange(len(table)) < len(network.labeled),
        network.y,
        n_classes,
        config=InferenceConfig(device=job.options.device, seed=job.options.seed, best_only=True),
        known=network.known(network.proportions, words),
        progress=lambda step, done, total: job.progress("matching proportions", done, total),
    )


def _groups_and_structure(sample: Reading) -> tuple[ClassGroups | None, KnownStructure | None]:
    """Of the sampled rows: the groups of the classes, if they are too many to be read together; else the structure."""
    if sample.class_groups is not None:
        return sample.class_groups, None
    if sample.scale is not None and not sample.scale.spread:
        return None, None  # all numbers are equal: no row will be asked about
    return None, sample.structure
