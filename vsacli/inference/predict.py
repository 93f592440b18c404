"""The network applied to one table: chunks of unlabeled rows, each with the labeled rows as context.

    x (n, M), labeled rows, y --contexts x chunks--> one answer per unlabeled row

A table of a few hundred rows is one chunk, as in the paper: all its rows are read together. A
larger one is split, so that time grows linearly with its rows and memory not at all: every chunk
holds the labeled rows and ``chunk_rows`` unlabeled ones, drawn at random from the whole table.
More labeled rows than ``context_rows`` are dealt into several contexts (every class in each), whose
answers are averaged. So are the answers from groups of attributes where there are more than
``attributes_together``: time grows linearly with the columns as well, and with few labels the answers are
better than those from all attributes at once, of which the network never saw so many (docs/results.md).

A network that reads the structure of the whole table is given it for the rows of each chunk
(:mod:`vsacli.inference.structure`).

Of very many rows, a student answers those on which it agrees with the network as the network does with itself
(:mod:`vsacli.inference.student`).

Of more classes than ``classes_together``, each row is asked about some (:mod:`vsacli.inference.many_classes`).

Which rows share a chunk, and in which order rows and attributes enter the network, depends on their
contents and the seed (:mod:`vsacli.inference.order`), not on their order in the table: another order gives
the same answers, and identical rows get identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.packed import CompactAttributes, take_rows
from vsacli.inference.answers import Answers
from vsacli.inference.config import InferenceConfig, check_classes
from vsacli.inference.many_classes import Questions, answers_in_groups
from vsacli.inference.order import signs
from vsacli.inference.passes import PassRows
from vsacli.inference.reading import BESIDE, Known, Reading
from vsacli.inference.student import CHECKED, TAUGHT, Student, student_pays
from vsacli.support.malloc_trim import give_back_free_memory
from vsacli.support.progress import Progress, silent
from vsacli.support.threads import numpy_on_one_thread

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.proportions import Proportions
    from vsacli.structure import RowStructure

_STUDENT_ROWS = 65_536  # that a student is asked about at once
_KEPT = 32  # chunks whose structure is kept: more are not read at a time


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
    check_classes(n_classes)
    reading = Reading(checkpoint, x, labeled, y, n_classes, config, known)
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
    graph, student_rows = reading.structure if groups is None else groups, 0
    if len(read) > reading.chunk_rows:
        give_back_free_memory()  # what orders of rows and the graph took: passes take pieces of other sizes
    with numpy_on_one_thread():  # whose number must not change an answer
        for rows, found, by_student in _in_turn(
            reading, read, lambda done: progress("labeling", done * n // len(read), n)
        ):
            answers.keep(rows, found)
            student_rows += int(answers.counts[rows][by_student].sum())
    group = np.cumsum(first, dtype=order.dtype) - order.dtype.type(1)  # identical rows get the answer of their first
    back = np.empty_like(order)
    back[order] = group if len(read) < n else np.flatnonzero(first).astype(order.dtype)[group]
    out = Answers(device=str(reading.device), graph_rows=0 if graph is None else len(graph))
    out.student_rows = student_rows
    if reading.scale is not None:
        out.mean, out.std = reading.scale.undo(*answers.numbers[back].T)
    elif best_only:
        out.best = answers.codes[back], answers.numbers[back, 0]
    else:
        out.proba = answers.numbers[back]
    return out


def _in_turn(
    reading: Reading, read: np.ndarray, tell: Callable[[int], None]
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """The answers (rows, width) for slices of ``read``, one after the other, and which of them are a student's (rows,).

    Of very many rows the network reads the first ones, which are a random choice, and some of them twice. A student
    that has learned from its answers is asked about the others, and the network about those where the student is not to
    be trusted, beside random rows: doubtful rows alone would have only each other to compare with. ``tell`` is called
    with the number of rows that are done.
    """
    n = len(read)
    if reading.class_groups is not None:
        groups = reading.class_groups
        for rows, found in answers_in_groups(reading, groups, read, _by_network, _side_by_side, tell):
            yield rows, found, np.zeros(len(found), bool)
        return
    if not reading.runner.config.can_be_asked or not student_pays(
        reading.config.student_from, n, reading.x.shape[1], reading.n_classes
    ):
        for rows, found in _by_network(reading, read, tell):
            yield rows, found, np.zeros(len(found), bool)
        return
    first = TAUGHT + CHECKED
    parts = []
    for rows, found in _by_network(reading, read[:first], tell):
        parts.append(found)
        yield rows, found, np.zeros(len(found), bool)
    checked, beside = read[TAUGHT:first], read[:TAUGHT]
    again = np.concatenate([found for _, found in _by_network(reading, checked, lambda _: None, beside)])
    give_back_free_memory()  # what the passes took, on each of their threads: a student needs little
    taught = take_rows(reading.x, reading.rows[read[:first]])
    student = Student.taught(taught, np.concatenate(parts), again, reading.classes)
    step = n if student is None else _STUDENT_ROWS
    for start in range(first, n, step):
        rows = slice(start, min(n, start + step))
        if student is None:
            for part, found in _by_network(reading, read[rows], lambda done, start=start: tell(start + done)):
                yield slice(start + part.start, start + part.stop), found, np.zeros(len(found), bool)
            return
        found, kept = student.answer(take_rows(reading.x, reading.rows[read[rows]]))
        doubtful = np.flatnonzero(~kept)
        for part, better in _by_network(reading, read[rows][doubtful], lambda _: None, read[:first]):
            found[doubtful[part]] = better
        tell(rows.stop)
        yield rows, found, kept


def _by_network(
    reading: Reading, read: np.ndarray, tell: Callable[[int], None], beside: np.ndarray | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """The network's answers (rows, width) for slices of ``read``, one after the other.

    Rows of a slice are read together, or, with rows ``beside``, each with some of these and the labeled ones alone.
    """
    rows, n_groups = reading.chunk_rows if beside is None else reading.asked_rows, len(reading.groups)
    n_chunks = -(-len(read) // rows)
    chunks = [slice(i * len(read) // n_chunks, (i + 1) * len(read) // n_chunks) for i in range(n_chunks)]
    parts: list[np.ndarray] = []
    questions = _Questions(reading, read, chunks, beside)
    for number, found in enumerate(_side_by_side(questions), start=1):
        parts += found
        tell(number * len(read) // len(questions))
        if number % n_groups == 0:
            yield chunks[number // n_groups - 1], _average(parts, reading.classes)
            parts = []


class _Questions:
    """The questions for the network: each group of attributes for each chunk of rows, with its contexts.

    Parameters
    ----------
    reading : Reading
    read : ndarray of int
        Positions in its unlabeled rows, in the order in which they are read.
    chunks : list of slice
        Of `read`.
    beside : ndarray of int, optional
        Positions of unlabeled rows; the rows of a chunk are read with `BESIDE` of them, other ones for each chunk.
        None: with the others of the chunk.
    """

    def __init__(
        self, reading: Reading, read: np.ndarray, chunks: list[slice], beside: np.ndarray | None = None
    ) -> None:
        self.reading = reading
        self._read, self._chunks = read, chunks
        self._beside = beside
        self._signs = signs(reading.signatures, reading.config.views, reading.config.seed)
        self._kept = lru_cache(_KEPT)(self._look_up)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._chunks) * len(self.reading.groups)

    def ask(self, number: int) -> list[np.ndarray]:
        """The answers (rows of the chunk, width) of each context and view; all groups of a chunk follow each other."""
        reading = self.reading
        i, group = number // len(reading.groups), reading.groups[number % len(reading.groups)]
        own, of_contexts = self._structure(i)
        chunk = PassRows(reading.attributes(self._rows(i), group), own)
        others = None
        if self._beside is not None:
            rows = reading.rows[self._beside[np.arange(i * BESIDE, (i + 1) * BESIDE) % len(self._beside)]]
            others = PassRows(reading.attributes(rows, group), reading.structure_of(rows))
        parts = []
        for c, structure in zip(self._contexts(i), of_contexts, strict=True):
            context = PassRows(reading.attributes(reading.support[c], group), structure)
            for sign in self._signs[:, group]:
                given, asked = replace(context, x=context.x * sign), replace(chunk, x=chunk.x * sign)
                beside = None if others is None else replace(others, x=others.x * sign)
                parts.append(reading.runner.run(given, reading.target[c], asked, reading.config.least_chunk, beside))
        return parts

    def _rows(self, i: int) -> np.ndarray:
        return self.reading.rows[self._read[self._chunks[i]]]

    def _contexts(self, i: int) -> list[np.ndarray]:
        contexts, each = self.reading.contexts, self.reading.config.contexts_per_chunk
        return [contexts[(i * each + j) % len(contexts)] for j in range(min(each, len(contexts)))]

    def _structure(self, i: int) -> tuple[RowStructure | None, list[RowStructure | None]]:
        """The structure of a chunk and of its contexts, looked up once for all groups of attributes."""
        if len(self.reading.groups) == 1:  # nothing to keep, and no thread need wait for another
            return self._look_up(i)
        with self._lock:
            return self._kept(i)

    def _look_up(self, i: int) -> tuple[RowStructure | None, list[RowStructure | None]]:
        reading = self.reading
        contexts = [reading.structure_of(reading.support[c], c) for c in self._contexts(i)]
        return reading.structure_of(self._rows(i)), contexts


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


def _side_by_side(questions: _Questions | Questions) -> Iterator[list[np.ndarray]]:
    """The answers to each question, in order; on a CPU as many at a time as torch has threads.

    A pass is made of many small operations. One thread for each of two passes is a third faster than
    two threads for each operation, and does not suffer when the machine has other work, since no
    thread waits for another within an operation. The answers are the same: each pass has its thread.
    """
    import torch

    reading = questions.reading
    threads, at_a_time = torch.get_num_threads(), reading.config.at_a_time
    numbers = range(len(questions))
    if reading.device.type != "cpu" or (at_a_time is None and (threads < 2 or len(questions) < 2 * threads)):
        yield from map(questions.ask, numbers)
        return
    pool = ThreadPoolExecutor(at_a_time or threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(questions.ask, numbers)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _average(parts: list[np.ndarray], classes: bool) -> np.ndarray:
    """Mean probabilities; or mean and variance of the equal mixture of Gaussians."""
    stacked = np.stack(parts)
    out = stacked.mean(0)
    if not classes:
        out[:, 1] += stacked[:, :, 0].var(0)
    return out
