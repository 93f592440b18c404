"""A closer look at a labeling run: a sample of its rows, where the network places them, and what to label next.

    LabelingRun --sample of rows--> embeddings --> rows to label next, and what a report shows

All of it is done on at most `StudyConfig.rows` rows, so a table of millions takes no longer than one of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vsacli.support.progress import Progress

if TYPE_CHECKING:
    from vsacli.insight.column_importance import ColumnImportance
    from vsacli.labeling.run import LabelingRun


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
        None if no network was needed.
    place : int64 (s - n_labeled,)
        Of each unlabeled row of the sample, the place of its answer in `run.answers`.
    suggested : int64
        Places of answers: the rows to label next, uncertain ones first.
    importance : list of ColumnImportance
        How much the answers lean on each of the columns tried, most first.
    """

    run: LabelingRun
    rows: np.ndarray
    n_labeled: int
    embeddings: np.ndarray | None
    place: np.ndarray
    suggested: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    importance: list[ColumnImportance] = field(default_factory=list)

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
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.embed import embed
    from vsacli.insight.choose_rows import choose_rows

    rng = np.random.default_rng(run.options.seed)
    labeled = _labeled_sample(run, config.labeled_rows, rng)
    missing = np.flatnonzero(run.target.missing)
    place = np.sort(rng.permutation(len(missing))[: max(config.rows - len(labeled), 1)])
    rows = np.concatenate([labeled, missing[place]])
    found = Study(run, rows, len(labeled), None, place)
    if run.checkpoint is None or run.attributes is None:
        return found
    progress("embedding", 0, len(rows))
    given = np.arange(len(rows)) < len(labeled)
    x, y, n_classes = run.attributes.x[rows], _targets(run)[labeled], _n_classes(run)
    how = InferenceConfig(device=run.options.device, seed=run.options.seed)
    found.embeddings = embed(run.checkpoint, x, given, y, n_classes, config=how)
    if len(place):
        uncertainty = run.uncertainty[place]
        chosen = choose_rows(
            found.embeddings[len(labeled) :], found.embeddings[: len(labeled)], uncertainty, config.suggested
        )
        found.suggested = place[chosen[np.argsort(-uncertainty[chosen], kind="stable")]]
        if config.columns and n_classes != 1:
            from vsacli.insight.column_importance import UsedColumns, column_importances

            columns = UsedColumns(run.columns, run.attributes.further)
            found.importance = column_importances(
                run.checkpoint, x, given, y, n_classes, columns, run.options, progress
            )
    return found


def _targets(run: LabelingRun) -> np.ndarray:
    return run.target.codes if run.target.kind == "classification" else run.target.numbers


def _n_classes(run: LabelingRun) -> int:
    return len(run.target.classes) if run.target.kind == "classification" else 0


def _labeled_sample(run: LabelingRun, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most `most` labeled rows, sorted, with a row of every class among them if there is room."""
    rows = np.flatnonzero(run.target.given)
    if len(rows) <= most:
        return rows
    rows = rng.permutation(rows)
    if run.target.kind == "classification":
        _, first = np.unique(run.target.codes[rows], return_index=True)
        rest = np.setdiff1d(np.arange(len(rows)), first)
        rows = rows[np.concatenate([np.sort(first), rest])]
    return np.sort(rows[:most])
