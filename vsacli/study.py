"""A closer look at a labeling run: a sample of its rows, where the network places them, and what to label next.

    LabelingRun --sample of rows--> embeddings --> rows to label next, and what a report shows

All of it is done on at most `StudyConfig.rows` rows, so a table of millions takes no longer than one of thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from vsacli.checkpoints import Checkpoint
    from vsacli.context import LabeledContext
    from vsacli.encoded import Encoded
    from vsacli.filling import Answers
    from vsacli.job import LabelOptions, LabelReport
    from vsacli.reliance import Leaning
    from vsacli.tables.table import Table
    from vsacli.tables.target import Target

Progress = Callable[[str, int, int], None]


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


@dataclass(frozen=True)
class StudyConfig:
    """What a study may cost, and how many rows it names."""

    rows: int = 1000  # rows embedded, labeled ones included
    labeled_rows: int = 384  # labeled ones among them: a context
    suggested: int = 10  # rows to label next
    columns: bool = False  # find out which columns the answers lean on


@dataclass
class Study:
    """What was found; all rows are numbers of stacked rows (those of `--labeled` first).

    Attributes
    ----------
    run : LabelingRun
    rows : int64 (s,)
        The sample, labeled rows first.
    n_labeled : int
        Labeled rows of it.
    embeddings : float32 (s, E), or None
        None where no network was needed.
    place : int64 (s - n_labeled,)
        Of each unlabeled row of the sample, the place of its answer in `run.answers`.
    suggested : int64
        Places of answers: the rows to label next, uncertain ones first.
    leaning : list of Leaning
        How much the answers lean on each of the columns tried, most first.
    """

    run: LabelingRun
    rows: np.ndarray
    n_labeled: int
    embeddings: np.ndarray | None
    place: np.ndarray
    suggested: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    leaning: list[Leaning] = field(default_factory=list)

    @property
    def missing_rows(self) -> np.ndarray:
        """Stacked row number of each answer, (U,)."""
        return np.flatnonzero(self.run.target.missing)


def study(run: LabelingRun, config: StudyConfig, progress: Progress) -> Study:
    """Sample rows of a run, embed them and choose the rows to label next.

    Raises
    ------
    ResourceError
        If even the smallest pass does not fit in memory.
    """
    from vsacli.embedding import embed
    from vsacli.suggest import choose_rows

    rng = np.random.default_rng(run.options.seed)
    labeled = _labeled_sample(run, config.labeled_rows, rng)
    missing = np.flatnonzero(run.target.missing)
    place = np.sort(rng.permutation(len(missing))[: max(config.rows - len(labeled), 1)])
    rows = np.concatenate([labeled, missing[place]])
    found = Study(run, rows, len(labeled), None, place)
    if run.checkpoint is None or run.encoded is None:
        return found
    progress("embedding", 0, len(rows))
    given = np.arange(len(rows)) < len(labeled)
    x, y, n_classes = run.encoded.x[rows], _targets(run)[labeled], _n_classes(run)
    found.embeddings = embed(run.checkpoint, x, given, y, n_classes, device=run.options.device, seed=run.options.seed)
    if len(place):
        uncertainty = run.uncertainty[place]
        chosen = choose_rows(
            found.embeddings[len(labeled) :], found.embeddings[: len(labeled)], uncertainty, config.suggested
        )
        found.suggested = place[chosen[np.argsort(-uncertainty[chosen], kind="stable")]]
        if config.columns and n_classes != 1:
            from vsacli.reliance import leaning

            found.leaning = leaning(run.checkpoint, x, given, y, n_classes, run.columns, run.options, progress)
    return found


def _targets(run: LabelingRun) -> np.ndarray:
    return run.target.codes if run.target.kind == "classification" else run.target.numbers


def _n_classes(run: LabelingRun) -> int:
    return len(run.target.classes) if run.target.kind == "classification" else 0


def _labeled_sample(run: LabelingRun, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most `most` labeled rows, sorted, a row of every class among them where there is room."""
    rows = np.flatnonzero(~run.target.missing)
    if len(rows) <= most:
        return rows
    rows = rng.permutation(rows)
    if run.target.kind == "classification":
        _, first = np.unique(run.target.codes[rows], return_index=True)
        rest = np.setdiff1d(np.arange(len(rows)), first)
        rows = rows[np.concatenate([np.sort(first), rest])]
    return np.sort(rows[:most])
