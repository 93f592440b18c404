"""Can the labels of this table be trusted? Known labels are hidden, predicted by each method, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vsacli.evaluation.hidden import Fold, hideable, make_folds
from vsacli.evaluation.rounds import Session
from vsacli.evaluation.table_answer import ALL_LABELS, TableAnswer, TableQuestion
from vsacli.support.progress import Progress, silent
from vsacli.tasks.store import EncodedTable

CLASS_SIZES = (1, 2, 3, 5, 10, 20, 50, 100)
NUMBER_SIZES = (5, 10, 20, 50, 100, 200)
MOST_SIZES = 5  # points of a learning curve before the last one


def evaluate_table(
    table: EncodedTable,
    classes: list[str],
    question: TableQuestion,
    progress: Progress = silent,
    *,
    estimated: Callable[[int, float], None] | None = None,
) -> TableAnswer:
    """Hide known labels in stratified folds, ask every method for them, and compare.

    Parameters
    ----------
    table : EncodedTable
    classes : list of str
    question : TableQuestion
    progress : callable, optional
    estimated : callable, optional
        Called once, with the number of rounds of each method and the seconds that all of them will about take: each
        method's first round is asked before.

    Raises
    ------
    DataError
        Too few labels to hide any.
    """
    n_known = len(hideable(table))
    repeats = question.repeats or _repeats(n_known, question.thorough)
    folds = list(
        make_folds(
            table,
            folds=question.folds,
            repeats=repeats,
            seed=question.seed,
            max_labels=question.max_labels,
            max_unlabeled=question.max_unlabeled,
        )
    )
    rows = np.unique(np.concatenate([f.hidden for f in folds]))
    sizes = _curve_sizes(table, folds) if question.thorough else []
    first = [f for f in folds if f.repeat == 0]
    rounds = len(folds) + len(sizes) * len(first)
    session = Session(table, question, rows, progress, rounds * len(question.methods))
    if estimated is not None:
        estimated(rounds, rounds * session.seconds_of_a_round(folds[0]))
    methods = []
    for spec in question.methods:
        answers = session.ask(spec, folds, ALL_LABELS)
        if answers.error is None:
            answers.figures = session.figures(answers)
            for size in sizes:
                smaller = [f.with_labels(table.y, size, table.kind == "classification") for f in first]
                point = session.ask(spec, smaller, size)
                if point.error is None:
                    answers.curve.append(session.curve_point(point, smaller, size))
            answers.curve.append(session.curve_point(answers, folds, ALL_LABELS))
        methods.append(answers)
    example = session.draw(folds[0])
    counted = session.counted(np.arange(len(rows)))
    return TableAnswer(table, classes, rows, table.y[rows], repeats, methods, session.records, example, counted)


def _repeats(n_known: int, thorough: bool) -> int:
    """More rounds for few labels, where the draw matters more and costs less."""
    if not thorough:
        return 2 if n_known <= 60 else 1
    return 4 if n_known <= 60 else 2 if n_known <= 300 else 1


def _curve_sizes(table: EncodedTable, folds: Sequence[Fold]) -> list[int]:
    """Sizes below what every round has, so that the curve ends with all labels."""
    if table.kind == "classification":
        most = min(int(np.bincount(table.y[f.labeled]).max()) for f in folds)
        return [s for s in CLASS_SIZES if s < most][-MOST_SIZES:]
    most = min(len(f.labeled) for f in folds)
    return [s for s in NUMBER_SIZES if s < most][-MOST_SIZES:]
