"""What a labeling run would do: which task, which columns, how long; nothing is filled in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vsacli import prepare
from vsacli.attributes.words import rows_of
from vsacli.labeling.job import Job, LabelOptions, LabelReport, is_foregone
from vsacli.labeling.run import begin
from vsacli.support.progress import Progress, silent

if TYPE_CHECKING:
    from vsacli.tables.table import Table, WritableTable
    from vsacli.target.column import Target

MANY = 16
"""Chunks that are timed together of a table with many classes: there, what is done once takes longer than a chunk."""


def foresee(
    table: WritableTable, options: LabelOptions, labeled: Sequence[Table], progress: Progress = silent
) -> tuple[LabelReport, float]:
    """The report of a run up to the network, and the seconds that the run will about take from reading columns on.

    The network labels one chunk of the rows, and is timed. Parameters and errors are those of
    :func:`vsacli.labeling.run.label_table`.
    """
    start = time.monotonic()
    table, job, target = begin(table, options, labeled=labeled, progress=progress)
    seconds = time.monotonic() - start
    if is_foregone(target, job.report):
        return job.report, seconds
    attributes = prepare.read_attributes(job.columns(), copies=job.copied_rows, words=True)
    job.note(attributes)
    seconds = time.monotonic() - start
    return job.report, seconds + _seconds_of_the_network(job, target, attributes)


def _seconds_of_the_network(job: Job, target: Target, attributes: prepare.Attributes[np.ndarray]) -> float:
    from vsacli.checkpoints.resolve import load_checkpoint
    from vsacli.inference.config import InferenceConfig, check_classes
    from vsacli.inference.predict import predict
    from vsacli.inference.reading import Known
    from vsacli.inference.student import CHECKED, TAUGHT, student_pays

    classification = target.kind == "classification"
    if classification:
        check_classes(len(target.classes))
    start = time.monotonic()
    checkpoint = load_checkpoint(job.options.checkpoint, kind=target.kind)
    loaded = time.monotonic()
    config = InferenceConfig(device=job.options.device, seed=job.options.seed)
    others = np.flatnonzero(~target.given)
    given = np.flatnonzero(target.given)
    tried = config.chunk_rows * (MANY if len(target.classes) > config.classes_together else 1)
    rows = np.concatenate([given, others[:tried]])
    answers = predict(
        checkpoint,
        attributes.x[rows],
        np.arange(len(rows)) < len(given),
        target.codes[given] if classification else target.numbers[given],
        len(target.classes) if classification else 0,
        config=config,
        known=Known(further=attributes.further, words=rows_of(attributes.words, rows)),
    )
    job.report.checkpoint, job.report.device = checkpoint.name, answers.device
    by_network = len(others)
    if not job.options.exact and student_pays(
        config.student_from, len(others), attributes.x.shape[1], len(target.classes)
    ):
        by_network = TAUGHT + 2 * CHECKED  # if the student is trusted; what it takes itself is little
    chunks = max(1.0, by_network / tried)
    return loaded - start + (time.monotonic() - loaded) * chunks
