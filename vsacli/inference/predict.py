"""The network applied to one table: labeled rows and some unlabeled ones are read, and the others asked about.

    x (n, M), labeled rows, y --contexts--> one answer per unlabeled row

All rows of a table with a few hundred are read together, as in the paper (:mod:`vsacli.inference.chunks`). Of a
larger one 128 to 256 unlabeled rows, drawn at random, are read with the labeled ones, and every row is asked about
beside these (:mod:`vsacli.inference.asked`): time grows linearly with its rows and memory not at all.
More labeled rows than ``context_rows`` are dealt into several contexts (every class in each), whose
answers are averaged. So are the answers from groups of attributes where there are more than
``attributes_together``: time grows linearly with the columns as well, and with few labels the answers are
better than those from all attributes at once, of which the network never saw so many (docs/results.md).

A network that reads the structure of the whole table is given it for the rows of each pass
(:mod:`vsacli.inference.structure`).

What the words of columns of text say by themselves is multiplied in (:mod:`vsacli.inference.words` and
:mod:`vsacli.inference.number_words`).

Of very many rows, a student answers those on which it agrees with the network as the network does with itself
(:mod:`vsacli.inference.student`).

Of more classes than ``classes_together``, each row is asked about some (:mod:`vsacli.inference.many_classes`).

Which rows are read, and in which order rows and attributes enter the network, depends on their
contents and the seed (:mod:`vsacli.inference.order`), not on their order in the table: another order gives
the same answers, and identical rows get identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.packed import CompactAttributes, take_rows
from vsacli.inference.answers import Answers
from vsacli.inference.asked import Asking
from vsacli.inference.chunks import answers_in_chunks
from vsacli.inference.config import InferenceConfig, check_classes
from vsacli.inference.many_classes import answers_in_groups
from vsacli.inference.reading import Known, Reading
from vsacli.inference.student import CHECKED, TAUGHT, Student, student_pays
from vsacli.support.malloc_trim import give_back_free_memory
from vsacli.support.progress import Progress, silent
from vsacli.support.threads import numpy_on_one_thread

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.proportions import Proportions

_STUDENT_ROWS = 65_536  # that a student is asked about at once


def predict(
    checkpoint: Checkpoint,
    x: np.ndarray | CompactAttributes,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int = 0,
    *,
    config: InferenceConfig | None = None,
    known: Known | None = None,
    progress: Progress = silent,
) -> Answers:
    """Answer every unlabeled row of a table.

    Parameters
    ----------
    checkpoint : Checkpoint
        Of the kind that ``y`` asks for.
    x : ndarray of float32, or CompactAttributes, shape (n, M)
        Attributes; NaN where not observed.
    labeled : ndarray of bool, shape (n,)
        Rows with a label.
    y : ndarray, shape (number of labeled rows,)
        Their classes (0 to ``n_classes`` - 1, each at least once) or targets, in row order.
    n_classes : int
        C; not used for regression.
    config : InferenceConfig, optional
    known : Known, optional
        What else is known of the table.
    progress : callable, optional
        Called with ("labeling", rows done, rows in all).

    Returns
    -------
    Answers
        For the unlabeled rows, in the order of the table.

    Raises
    ------
    DataError
        If no row is labeled, or there are more classes than `check_classes` allows.
    ResourceError
        If even the smallest pass does not fit in memory.
    """
    return answer(Reading(checkpoint, x, labeled, y, n_classes, config, known), progress)


def answer(reading: Reading, progress: Progress = silent) -> Answers:
    """Answer every unlabeled row of a table that is being read; as for `predict`."""
    check_classes(reading.n_classes)
    answers = _foregone(reading)
    return _ask_network(reading, progress) if answers is None else answers


def _foregone(reading: Reading) -> Answers | None:
    """The answers that take no network: to no row, of one class, or of equal numbers."""
    n, out = len(reading.rows), Answers(device=str(reading.device))
    if reading.scale is None:
        if n and reading.n_classes > 1:
            return None
        out.proba = np.ones((n, reading.n_classes), np.float32)
    else:
        if n and reading.scale.spread:
            return None
        # All given targets are equal, and nothing shows how others differ.
        out.mean, out.std = np.full(n, reading.scale.first), np.zeros(n)
    return out


def _ask_network(reading: Reading, progress: Progress) -> Answers:
    n, best_only = len(reading.rows), reading.config.best_only and reading.classes
    order, first = reading.unlabeled_order
    groups = reading.class_groups
    # a table read at once is read as it is
    read = order[first] if groups is not None or n > reading.chunk_rows else order
    proportions = reading.known.proportions if reading.classes else None
    answers = _Answers(_times(first, len(read)), reading.runner.width, best_only, proportions)
    graph, student_rows, words = reading.structure if groups is None else groups, 0, reading.word_answers
    if len(read) > reading.config.chunk_rows:
        give_back_free_memory()  # what orders of rows and the graph took: passes take pieces of other sizes
    with numpy_on_one_thread():  # whose number must not change an answer
        for rows, found, by_student in _in_turn(
            reading, read, lambda done: progress("labeling", done * n // len(read), n)
        ):
            if words is not None:
                found = words.multiplied(found, reading.rows[read[rows]])
            answers.keep(rows, found)
            student_rows += int(answers.counts[rows][by_student].sum())
    group = np.cumsum(first, dtype=order.dtype) - order.dtype.type(1)  # identical rows get the answer of their first
    back = np.empty_like(order)
    back[order] = group if len(read) < n else np.flatnonzero(first).astype(order.dtype)[group]
    out = Answers(device=str(reading.device), graph_rows=0 if graph is None else len(graph))
    out.student_rows = student_rows
    if reading.scale is not None:
        out.mean, out.std = reading.scale.undo(*answers.numbers[back].T)
        out.logarithms = reading.scale.logarithms
    elif best_only:
        out.best = answers.codes[back], answers.numbers[back, 0]
    else:
        out.proba = answers.numbers[back]
    return out


def _in_turn(
    reading: Reading, read: np.ndarray, tell: Callable[[int], None]
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """The answers (rows, width) for slices of ``read``, one after the other, and which of them are a student's (rows,).

    Of very many rows the network is asked about the first ones, which are a random choice, and about some of them
    beside other rows as well. A student that has learned from its answers is asked about the others, and the network
    about those where the student is not to be trusted. ``tell`` is called with the number of rows that are done.
    """
    n = len(read)
    groups = reading.class_groups
    pays = student_pays(reading.config.student_from, n, reading.x.shape[1], reading.n_classes)
    if groups is not None or not (reading.rows_read_beside and pays):
        if groups is None:
            answers = _by_network(reading, read, tell)
        else:
            answers = answers_in_groups(reading, groups, read, _by_network, tell)
        for rows, found in answers:
            yield rows, found, np.zeros(len(found), bool)
        return
    first, rows = TAUGHT + CHECKED, reading.rows[read]
    asking = Asking(reading, reading.rows_beside(rows), reading.known.contexts)
    parts = []
    for part, found in asking.answers(read[:first], tell):
        parts.append(found)
        yield part, found, np.zeros(len(found), bool)
    in_other_company = Asking(reading, reading.pass_rows(rows[reading.rows_read_beside : 2 * reading.rows_read_beside]))
    again = np.concatenate([found for _, found in in_other_company.answers(read[TAUGHT:first], lambda _: None)])
    give_back_free_memory()  # what the passes took, on each of their threads: a student needs little
    taught = take_rows(reading.x, reading.rows[read[:first]])
    student = Student.taught(taught, np.concatenate(parts), again, reading.classes)
    step = n if student is None else _STUDENT_ROWS
    for start in range(first, n, step):
        rows = slice(start, min(n, start + step))
        if student is None:
            for part, found in asking.answers(read[rows], lambda done, start=start: tell(start + done)):
                yield slice(start + part.start, start + part.stop), found, np.zeros(len(found), bool)
            return
        found, kept = student.answer(take_rows(reading.x, reading.rows[read[rows]]))
        doubtful = np.flatnonzero(~kept)
        for part, better in asking.answers(read[rows][doubtful], lambda _: None):
            found[doubtful[part]] = better
        tell(rows.stop)
        yield rows, found, kept


def _by_network(reading: Reading, read: np.ndarray, tell: Callable[[int], None]) -> Iterator[tuple[slice, np.ndarray]]:
    """The network's answers (rows, width) for slices of ``read``, one after the other."""
    if not reading.asks_about(len(read)):
        return answers_in_chunks(reading, read, tell)
    return Asking(reading, reading.rows_beside(reading.rows[read]), reading.known.contexts).answers(read, tell)


class _Answers:
    """The answers for rows in the order in which they are read: ``numbers`` (rows, width), or the best of each.

    Parameters
    ----------
    counts : ndarray of int, shape (rows,)
        How often each row is in the table.
    """

    def __init__(self, counts: np.ndarray, width: int, best_only: bool, proportions: Proportions | None) -> None:
        rows = len(counts)
        self.counts, self._proportions = counts, proportions
        self.numbers = np.empty((rows, 1 if best_only else width), np.float32)
        self.codes = np.empty(rows if best_only else 0, np.int32)
        self._best_only = best_only

    def keep(self, rows: slice, answers: np.ndarray) -> None:
        """Keep the answers for some rows, (rows, width); each call has those after the last one's."""
        if self._proportions is None:
            self._put(rows, answers)
            return
        for at, part in self._proportions.matched(rows, answers, self.counts):
            self._put(at, part)

    def _put(self, rows: slice, answers: np.ndarray) -> None:
        if not self._best_only:
            self.numbers[rows] = answers
            return
        self.codes[rows] = codes = answers.argmax(1)
        self.numbers[rows, 0] = answers[np.arange(len(codes)), codes]


def _times(first: np.ndarray, n: int) -> np.ndarray:
    """How often each of the ``n`` rows that are read is there: of the first of each group, or of every row."""
    return np.ones(n, np.int64) if n == len(first) else np.diff(np.append(np.flatnonzero(first), len(first)))
