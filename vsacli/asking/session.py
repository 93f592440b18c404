"""A table, and the answers of a person so far: which row to ask about next, and what to show of it.

    table, labels so far --network--> guesses and doubts --> the next few rows --> a question each

It reads nothing from a terminal and writes nothing to one: `vsacli.cli.ask` does, and a test may answer as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli import prepare
from vsacli.asking.choose import rows_to_ask
from vsacli.attributes.words import rows_of
from vsacli.errors import DataError, NoLabelError
from vsacli.insight.suggestions_csv import format_of, spelled_certainty
from vsacli.insight.told_columns import naming_columns, telling_columns
from vsacli.labeling.labeled_table import LabeledContext, as_text, as_type, filled_up
from vsacli.labeling.relabeled import RelabeledTable, label_cells
from vsacli.labeling.run import find_target
from vsacli.support.progress import Progress, silent
from vsacli.target.missing import normalize

if TYPE_CHECKING:
    from vsacli.inference.answers import Answers
    from vsacli.labeling.job import LabelOptions
    from vsacli.tables.table import Table, WritableTable
    from vsacli.target.column import Target

EVERY = 5
"""Answers after which the network reads them, and rows are chosen again."""
MOST_ROWS = 1000
"""Rows without a label among which questions are chosen."""
MOST_CELLS = 8
"""Cells that are shown of a row."""
MOST_LABELED = 384
"""Labeled rows that are read with them."""


@dataclass(frozen=True)
class Question:
    """What to ask a person.

    Attributes
    ----------
    row : int
        The row of the table, from 0.
    cells : list of (str, str)
        Columns of the row: those by which a person knows it, then those that tell most.
    guess : str or None
        The network's answer, spelled as the labels are; None as long as it has too few labels.
    certainty : str
        Its confidence or standard deviation, as it is written; "" without a guess.
    classes : list of str
        The labels so far; empty for numbers.
    numbers : bool
        The labels are numbers.
    """

    row: int
    cells: list[tuple[str, str]]
    guess: str | None
    certainty: str
    classes: list[str]
    numbers: bool


@dataclass(frozen=True)
class _Reading:
    """What is known after the network has read the labels: of `rows` of the table, those without a label."""

    classes: list[str]
    numbers: bool
    guesses: dict[int, tuple[str, str]]
    queue: list[int]
    telling: list[int]


class Asking:
    """Questions about a table, one after the other.

    Parameters
    ----------
    table : WritableTable
        The table, as it is so far; rows without a label are asked about.
    options : LabelOptions
    others : Table, optional
        Further labeled rows, which are not rows of the table.
    answers : dict of int to str, optional
        Answers of an earlier run: row -> label. A label that the table has by now counts more.
    progress : callable

    Attributes
    ----------
    answers : dict of int to str
        All answers so far.
    rows : ndarray of int64
        Rows that may be asked about, ascending.

    Raises
    ------
    DataError
        The table has no column to learn from.
    """

    def __init__(
        self,
        table: WritableTable,
        options: LabelOptions,
        *,
        others: Table | None = None,
        answers: dict[int, str] | None = None,
        progress: Progress = silent,
    ) -> None:
        self.answers: dict[int, str] = {}
        self._table, self._options, self._others = table, options, others
        self._skipped: set[int] = set()
        self._history: list[int] = []
        self._reading: _Reading | None = None
        self._current: int | None = None
        names = list(table.columns)
        self.column = table.find(options.target) if options.target in names else None
        context = None
        if others is not None:
            given = prepare.read_label_column(others, others.find(options.target), options).given
            context = LabeledContext(others, table, given)
        self._above = context.n_rows if context else 0
        columns = prepare.Columns(
            context.stacked_table() if context else table,
            options,
            self.column,
            among=context.matched() if context else None,
            progress=progress,
        )
        self._attributes = prepare.read_attributes(columns, words=True)
        target = self._target()
        missing = np.ones(table.n_rows, bool) if target is None else target.missing[self._above :]
        free = np.flatnonzero(missing)
        self._order = self._first_seen(target, answers or {})
        self.answers = {row: label for row, label in (answers or {}).items() if row in free}
        self.rows = np.sort(np.random.default_rng(options.seed).permutation(free)[:MOST_ROWS])
        self._naming = naming_columns(table, self.column)
        self._cells: dict[int, list[str]] = {}  # of the columns that were shown, in these rows

    def labeled_table(self) -> WritableTable:
        """The table with the answers in it."""
        import pyarrow as pa

        if not self.answers and self.column is not None:
            return self._table
        rows = sorted(self.answers)
        if self.column is None:
            blank = pa.array([""] * self._table.n_rows, pa.large_string())
        else:
            blank = filled_up(label_cells(self._table, self.column), pa.large_string())
        labels = pa.array([self.answers[row] for row in rows], pa.large_string())
        labels = as_type(labels, blank.type, where="the answers", table=self._table.name)
        given = np.zeros(self._table.n_rows, bool)
        given[rows] = True
        index = np.arange(self._table.n_rows)
        index[rows] = self._table.n_rows + np.arange(len(rows))
        cells = pa.concat_arrays([blank, labels]).take(pa.array(index))
        return RelabeledTable(self._table, self._options.target, self.column, cells, given, given)

    def first_rows(self, n: int) -> np.ndarray:
        """The rows to label first, as long as no label is known: they stand for as many others as they can.

        Returns
        -------
        ndarray of int64
            Row numbers, the most telling one first; fewer than n if there are fewer.
        """
        x = self._attributes.x[self._above + self.rows]
        return self.rows[rows_to_ask(x, np.zeros(len(x), bool), None, n)]

    def question(self) -> Question | None:
        """The next question, the same one until it is answered or skipped; None: no row is left.

        Raises
        ------
        CheckpointError, DataError
            As `label_table`.
        """
        if self._reading is None or self.stale:
            self._reading = self._read()
        if self._current is None:
            waiting = self._waiting()
            if not waiting:
                return None
            self._current = waiting[0]
        reading, row = self._reading, self._current
        guess, certainty = reading.guesses.get(row, (None, ""))
        return Question(row, self._told(row), guess, certainty, self._classes(), reading.numbers)

    def _told(self, row: int) -> list[tuple[str, str]]:
        """The first columns to show that are not blank in a row, with their cells."""
        import pyarrow as pa

        assert self._reading is not None
        place, told = int(np.searchsorted(self.rows, row)), []
        for j in telling_columns(self._table, self.column, [*self._naming, *self._reading.telling]):
            if j not in self._cells:
                self._cells[j] = as_text(self._table.column(j).take(pa.array(self.rows))).to_pylist()
            if cell := self._cells[j][place].strip():
                told.append((self._table.columns[j], cell))
            if len(told) == MOST_CELLS:
                break
        return told

    @property
    def target(self) -> str:
        """The name of the label column."""
        return self._options.target

    @property
    def stale(self) -> bool:
        """Whether the next question needs the network to read the labels."""
        return self._reading is None or (self._current is None and not self._waiting())

    def check(self, label: str) -> None:
        """Refuse a text that cannot be the label of the current row, beside the other labels.

        Raises
        ------
        DataError
        """
        assert self._current is not None
        self.answers[self._current] = label
        try:
            target = self._target()
            if target is None or target.missing[self._above + self._current]:
                raise DataError(f"{label!r} means that a label is missing; if it is one, use --no-default-na")
        finally:
            del self.answers[self._current]

    def answer(self, label: str) -> None:
        """Give the current row a label."""
        assert self._current is not None
        self.answers[self._current] = label
        self._leave()

    def skip(self) -> None:
        """Do not ask about the current row again."""
        assert self._current is not None
        self._skipped.add(self._current)
        self._leave()

    def undo(self) -> tuple[int, str | None] | None:
        """Ask about the last row again: its number, and the answer taken back (None: it was skipped)."""
        if not self._history:
            return None
        row = self._history.pop()
        self._current = row
        self._skipped.discard(row)
        return row, self.answers.pop(row, None)

    def _leave(self) -> None:
        assert self._current is not None
        self._history.append(self._current)
        self._current = None

    def _waiting(self) -> list[int]:
        assert self._reading is not None
        return [row for row in self._reading.queue if row not in self.answers and row not in self._skipped]

    def _classes(self) -> list[str]:
        """The classes of the last reading, and those that were named since: each has its number for good."""
        assert self._reading is not None
        if self._reading.numbers:
            return []
        known = dict.fromkeys([*self._reading.classes, *self.answers.values()])
        self._order = list(dict.fromkeys([*(name for name in self._order if name in known), *known]))
        return self._order

    def _first_seen(self, target: Target | None, answers: dict[int, str]) -> list[str]:
        """The classes in the order in which a person saw them: those of the table without answers, then these.

        The labels of answered rows may stand in the table by now; the order must not depend on it.
        """
        order: list[str] = []
        if target is not None and target.kind == "classification":
            given = target.given.copy()
            given[[self._above + row for row in answers]] = False
            order = [target.classes[code] for code in dict.fromkeys(target.codes[given].tolist())]
        return [*order, *(normalize(label) for label in answers.values())]

    def _target(self) -> Target | None:
        """The labels of all rows, those of other tables first; None if there is none."""
        try:
            return find_target(self.labeled_table(), self._others, self._options)[2]
        except NoLabelError:
            return None

    def _read(self) -> _Reading:
        target = self._target()
        given = np.zeros(len(self._attributes.x), bool) if target is None else target.given
        labeled = np.flatnonzero(given)
        rng = np.random.default_rng(self._options.seed)
        labeled = np.sort(rng.permutation(labeled)[:MOST_LABELED]) if len(labeled) > MOST_LABELED else labeled
        free = self._above + self.rows
        free = free[~given[free]]
        rows = np.concatenate([labeled, free])
        x, known = self._attributes.x[rows], np.arange(len(rows)) < len(labeled)
        answers = None if target is None else self._ask_network(rows, known, target, labeled)
        asked = set(self.answers) | self._skipped
        allowed = np.array([row >= self._above and row - self._above not in asked for row in rows.tolist()], bool)
        queue = rows[rows_to_ask(x, known, _telling(answers), EVERY, among=allowed)] - self._above
        guesses = {} if answers is None or target is None else self._guesses(answers, target, free - self._above)
        numbers = target is not None and target.kind == "regression"
        classes = [] if target is None or numbers else list(target.classes)
        telling = _telling_attributes(x[~known], answers, self._attributes.widths(self._table.columns))
        return _Reading(classes, numbers, guesses, queue.tolist(), telling)

    def _ask_network(self, rows: np.ndarray, known: np.ndarray, target: Target, labeled: np.ndarray) -> Answers:
        from vsacli.checkpoints.resolve import load_checkpoint
        from vsacli.inference.config import InferenceConfig, check_classes
        from vsacli.inference.predict import predict
        from vsacli.inference.reading import Known
        from vsacli.labeling.answers import certain

        if target.kind == "classification" and len(target.classes) == 1:
            return certain(int((~known).sum()), 1)
        check_classes(len(target.classes))
        checkpoint = load_checkpoint(self._options.checkpoint, kind=target.kind)
        config = InferenceConfig(device=self._options.device, seed=self._options.seed)
        x = self._attributes.x[rows]
        of_table = Known(further=self._attributes.further, words=rows_of(self._attributes.words, rows))
        values = target.codes if target.kind == "classification" else target.numbers
        y, n_classes = values[labeled], len(target.classes) if target.kind == "classification" else 0
        if n_classes and len(np.unique(y)) < n_classes:  # of many labels a sample that lacks a class
            kept, y = np.unique(y, return_inverse=True)
            found = predict(checkpoint, x, known, y, len(kept), config=config, known=of_table)
            proba = np.zeros((len(found.probabilities), n_classes), np.float32)
            proba[:, kept] = found.probabilities
            return replace(found, proba=proba)
        return predict(checkpoint, x, known, y, n_classes, config=config, known=of_table)

    def _guesses(self, answers: Answers, target: Target, rows: np.ndarray) -> dict[int, tuple[str, str]]:
        """Of each row: the guess and how certain it is, as they are written."""
        number = format_of(self._table).number
        if answers.proba is not None and target.kind == "classification":
            best = answers.proba.argmax(axis=1)
            spelled = as_text(target.spell_classes(best)).to_pylist()
            certain = answers.proba.max(axis=1).tolist()
            if len(target.classes) == 1:  # of a single class nothing is known about others
                return {}
        else:
            mean, std = answers.numbers
            if not std.any():
                return {}
            spelled, certain = as_text(target.spell_numbers(mean)).to_pylist(), std.tolist()
        classes = target.kind == "classification"
        return {
            row: (guess, number(spelled_certainty(c, classes=classes)))
            for row, guess, c in zip(rows.tolist(), spelled, certain, strict=True)
        }


def _telling(answers: Answers | None) -> Answers | None:
    """Answers that tell rows apart; None if all are the same."""
    if answers is None:
        return None
    if answers.proba is not None and answers.mean is None:
        return answers if answers.proba.shape[1] > 1 else None
    return answers if answers.mean is not None and answers.std is not None and answers.std.any() else None


def _telling_attributes(x: np.ndarray, answers: Answers | None, columns: list[tuple[int, int]]) -> list[int]:
    """The columns in use, those by which the answers differ most first; in the table's order without answers."""
    from vsacli.insight.column_importance import association

    found = _telling(answers)
    if found is None or not len(x):
        return [j for j, _ in columns]
    answer = found.proba.argmax(1) if found.proba is not None and found.mean is None else found.numbers[0]
    ends = np.cumsum([width for _, width in columns])
    scores = [
        association(x[:, end - width : end], answer, found.mean is None)
        for end, (_, width) in zip(ends, columns, strict=True)
    ]
    return [columns[i][0] for i in np.argsort(-np.array(scores), kind="stable")]
