"""Which columns the answers depend on: one column at a time is shuffled, and the rows are answered again.

This is permutation importance (Breiman, 2001) of the *answers*: how much they change, not how much worse they get.
With ten labels the latter cannot be measured. A column that the answers depend on may have nothing to do with the
label, and of two columns with the same information each may seem to be of little use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.support.progress import Progress

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.answers import Answers
    from vsacli.labeling.job import LabelOptions


@dataclass(frozen=True)
class ColumnImportance:
    """How much the answers change when a column is shuffled.

    Attributes
    ----------
    column : int
        Its place in the table.
    rows : float
        Share of rows whose class changes; of numbers 0.
    change : float
        Mean change of an answer: half the sum of differences of the probabilities, in [0, 1]; of numbers the root mean
        square of differences, in units of the standard deviation of all answers.
    """

    column: int
    rows: float
    change: float


MOST_COLUMNS = 20  # passes of the network
MOST_ROWS = 200  # unlabeled rows answered again in each


@dataclass(frozen=True)
class UsedColumns:
    """The columns that the attributes come from.

    Attributes
    ----------
    widths : sequence of (int, int)
        Each column's place in the table and number of attributes, in the order of those.
    further : ndarray of bool, shape (M,)
        As of `vsacli.inference.reading.Known`.
    """

    widths: Sequence[tuple[int, int]]
    further: np.ndarray


def column_importances(
    checkpoint: Checkpoint,
    x: np.ndarray,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    columns: UsedColumns,
    options: LabelOptions,
    progress: Progress,
) -> list[ColumnImportance]:
    """How much the answers change when a column is shuffled among the unlabeled rows.

    Answers are those of the network alone, without what the words of texts say by themselves. At most `MOST_ROWS`
    unlabeled rows are answered again, and at most `MOST_COLUMNS` columns are tried: those by which
    the answers differ most, judged by the best attribute of each (share of variance between classes; squared
    correlation).

    Parameters
    ----------
    checkpoint, x, labeled, y, n_classes
        As `vsacli.inference.predict.predict` takes them.
    columns : UsedColumns
    options : LabelOptions
        The device and the seed.
    progress : callable

    Returns
    -------
    list of ColumnImportance
        Largest change first.
    """
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.order import attribute_signatures
    from vsacli.inference.predict import predict
    from vsacli.inference.reading import Known

    rng = np.random.default_rng(options.seed)
    unlabeled = np.flatnonzero(~labeled)
    unlabeled = np.sort(rng.permutation(unlabeled)[:MOST_ROWS])
    rows = np.concatenate([np.flatnonzero(labeled), unlabeled])
    x, given = x[rows], labeled[rows]
    moved = np.flatnonzero(~given)
    # Before anything is shuffled: rows and attributes stay in their places.
    known = Known(attribute_signatures(x), further=columns.further)
    config = InferenceConfig(device=options.device, seed=options.seed)

    def ask(x: np.ndarray) -> Answers:
        return predict(checkpoint, x, given, y, n_classes, config=config, known=known)

    before = ask(x)
    ends = np.cumsum([width for _, width in columns.widths])
    parts = [np.arange(end - width, end) for end, (_, width) in zip(ends, columns.widths, strict=True)]
    if before.proba is not None:
        answer = before.proba.argmax(1)
    else:
        assert before.mean is not None
        answer = before.mean / (np.abs(before.mean).max() or 1.0)
    scores = np.array([association(x[moved][:, part], answer, before.proba is not None) for part in parts])
    tried = np.argsort(-scores, kind="stable")[:MOST_COLUMNS]
    out = []
    for number, j in enumerate(tried):
        progress("trying columns", number, len(tried))
        shuffled = x.copy()
        shuffled[np.ix_(moved, parts[j])] = x[np.ix_(rng.permutation(moved), parts[j])]
        out.append(ColumnImportance(columns.widths[j][0], *_change(before, ask(shuffled))))
    return sorted(out, key=lambda found: -found.change)


def _change(before: Answers, after: Answers) -> tuple[float, float]:
    if before.proba is not None:
        assert after.proba is not None
        share = float((before.proba.argmax(1) != after.proba.argmax(1)).mean())
        return share, float(np.abs(before.proba - after.proba).sum(1).mean() / 2)
    assert before.mean is not None
    assert after.mean is not None
    size = max(np.abs(before.mean).max(), np.abs(after.mean).max()) or 1.0  # the largest numbers have no square
    a, b = before.mean / size, after.mean / size
    return 0.0, float(np.sqrt(np.mean((a - b) ** 2)) / a.std()) if a.std() else 0.0


def association(x: np.ndarray, answer: np.ndarray, classes: bool) -> float:
    """The most that an attribute of x (U, A) explains of the answers (or they of it), in [0, 1]."""
    best = 0.0
    for column in x.T.astype(np.float64):
        seen = np.isfinite(column)
        value, given = column[seen], answer[seen]
        total = ((value - value.mean()) ** 2).sum() if len(value) else 0.0
        if not total:
            continue
        if classes:
            codes = np.unique(given, return_inverse=True)[1]
            count = np.bincount(codes)
            between = (count * (np.bincount(codes, value) / count - value.mean()) ** 2).sum()
            best = max(best, between / total)
        elif given.std() > 0:
            best = max(best, float(np.corrcoef(value, given)[0, 1] ** 2))
    return best
