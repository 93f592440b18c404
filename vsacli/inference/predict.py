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

Which rows share a chunk, and in which order rows and attributes enter the network, depends on their
contents and the seed (:mod:`vsacli.inference.order`), not on their order in the table: another order gives
the same answers, and identical rows get identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.packed import CompactAttributes, take_rows
from vsacli.errors import DataError
from vsacli.inference.answers import Answers
from vsacli.inference.config import InferenceConfig, attributes_together, check_classes
from vsacli.inference.device import choose_device
from vsacli.inference.order import attribute_groups, attribute_signatures, reading_order, row_order, signs
from vsacli.inference.passes import PassRows, Runner, TargetScale, deal_contexts, rows_that_fit
from vsacli.inference.structure import KnownStructure, structure_of
from vsacli.support.threads import numpy_on_one_thread

if TYPE_CHECKING:
    import torch

    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.proportions import Proportions

Progress = Callable[[int, int], None]


def predict(
    checkpoint: Checkpoint,
    x: np.ndarray | CompactAttributes,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int = 0,
    *,
    device: str = "auto",
    seed: int = 0,
    config: InferenceConfig | None = None,
    progress: Progress | None = None,
    signatures: np.ndarray | None = None,
    best_only: bool = False,
    structure: KnownStructure | None = None,
    proportions: Proportions | None = None,
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
    device : str
        See :func:`choose_device`.
    seed : int
        Decides which rows share a chunk and a context.
    config : InferenceConfig, optional
    progress : callable, optional
        Called with (rows done, rows in all).
    signatures : ndarray of uint64, shape (M,), optional
        :func:`attribute_signatures` of a larger table that ``x`` is part of, so that its parts are read alike.
    best_only : bool
        Of the class probabilities keep the largest of each row alone: two numbers a row, not C.
    structure : KnownStructure, optional
        Of a larger table that ``x`` is part of, with the same labeled rows in the same order; by default that of ``x``.
    proportions : Proportions, optional
        Of the classes among the unlabeled rows. Its factors, if it has none yet, are found from up to `SAMPLE_CELLS`
        probabilities, the same ones with and without ``best_only``.

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
    config = config or InferenceConfig()
    check_classes(n_classes, config)
    rows = np.flatnonzero(~labeled)
    support = np.flatnonzero(labeled)
    if not len(support):
        raise DataError("no labeled row: give at least one label")
    where = choose_device(device)
    classes = checkpoint.kind == "classification"
    out = Answers(device=str(where))
    if classes and (n_classes == 1 or not len(rows)):
        out.proba = np.ones((len(rows), n_classes), np.float32)
        return out
    scale = None if classes else TargetScale.of(y)
    if scale is not None and (scale.spread == 0 or not len(rows)):
        # All given targets are equal, and nothing shows how others differ.
        out.mean, out.std = np.full(len(rows), scale.first), np.zeros(len(rows))
        return out
    target = np.asarray(y, np.int64) if scale is None else scale.apply(y)

    runner = Runner(checkpoint, where, n_classes if classes else 1)
    signatures = attribute_signatures(x) if signatures is None else signatures
    groups = attribute_groups(signatures, *attributes_together(config, checkpoint.kind, len(support)), seed)
    turned = signs(signatures, config.views, seed)
    support_order = row_order(x, signatures, seed, target, rows=support)
    contexts = deal_contexts(target[support_order] if classes else None, len(support_order), config.context_rows)
    contexts = [support_order[c] for c in contexts]
    fit = rows_that_fit(config, runner, len(contexts[0]), max(map(len, groups)))
    order, first = reading_order(x, signatures, seed, rows)
    read = order if len(rows) <= fit else order[first]  # a table read at once is read as it is
    n_chunks = -(-len(read) // fit)
    chunks = [slice(i * len(read) // n_chunks, (i + 1) * len(read) // n_chunks) for i in range(n_chunks)]
    answers = _Answers(_times(first, len(read)), runner.width, best_only and classes, proportions if classes else None)
    parts: list[np.ndarray] = []
    with numpy_on_one_thread():  # whose number must not change an answer
        if structure is None and runner.config.reads_structure:
            different = rows[order[first]]
            structure = structure_of(x, support, target, n_classes * classes, different, signatures, support_order)
        questions = _Questions(
            x, rows, read, support, target, contexts, chunks, groups, turned, structure, runner, config
        )
        for number, found in enumerate(_side_by_side(questions, where), start=1):
            parts += found
            if number % len(groups) == 0:
                answers.keep(chunks[number // len(groups) - 1], _average(parts, classes))
                parts = []
            if progress is not None:
                progress(number * len(rows) // len(questions), len(rows))
    out.graph_rows = 0 if structure is None else len(structure)
    group = np.cumsum(first, dtype=order.dtype) - order.dtype.type(1)  # identical rows get the answer of their first
    back = np.empty_like(order)
    back[order] = group if len(read) < len(rows) else np.flatnonzero(first).astype(order.dtype)[group]
    if scale is not None:
        out.mean, out.std = scale.undo(*answers.numbers[back].T)
    elif best_only:
        out.best = answers.codes[back], answers.numbers[back, 0]
    else:
        out.proba = answers.numbers[back]
    return out


@dataclass(frozen=True)
class _Questions:
    """The questions for the network: each group of attributes for each chunk of rows, with its contexts.

    Parameters
    ----------
    x, support, target
        Attributes, labeled rows and their targets as the network takes them.
    rows, read : ndarray of int
        The unlabeled rows, and positions in them in the order in which they are read; `chunks` are slices of it.
    contexts : list of ndarray of int
        Positions in `support`.
    chunks : list of slice
    groups : list of ndarray of int
        Attributes.
    signs : ndarray of float32, shape (views, M)
    structure : KnownStructure, optional
        The structure of the whole table.
    """

    x: np.ndarray | CompactAttributes
    rows: np.ndarray
    read: np.ndarray
    support: np.ndarray
    target: np.ndarray
    contexts: list[np.ndarray]
    chunks: list[slice]
    groups: list[np.ndarray]
    signs: np.ndarray
    structure: KnownStructure | None
    runner: Runner
    config: InferenceConfig

    def __len__(self) -> int:
        return len(self.chunks) * len(self.groups)

    def ask(self, number: int) -> list[np.ndarray]:
        """The answers (rows of the chunk, width) of each context and view; all groups of a chunk follow each other."""
        i, group = number // len(self.groups), self.groups[number % len(self.groups)]
        chunk = self._rows(self.rows[self.read[self.chunks[i]]], group, None)
        parts = []
        for j in range(min(self.config.contexts_per_chunk, len(self.contexts))):
            c = self.contexts[(i * self.config.contexts_per_chunk + j) % len(self.contexts)]
            context = self._rows(self.support[c], group, c)
            for sign in self.signs[:, group]:
                given, asked = replace(context, x=context.x * sign), replace(chunk, x=chunk.x * sign)
                parts.append(self.runner.run(given, self.target[c], asked, self.config.least_chunk))
        return parts

    def _rows(self, rows: np.ndarray, group: np.ndarray, labeled: np.ndarray | None) -> PassRows:
        """Some rows with a group of attributes; of labeled rows, with their positions in `support`."""
        if self.structure is None:
            return PassRows(take_rows(self.x, rows, group))
        x = take_rows(self.x, rows)
        return PassRows(x[:, group], self.structure.of_rows(x, np.full(len(x), -1) if labeled is None else labeled))


class _Answers:
    """The answers for rows in the order in which they are read: ``numbers`` (rows, width), or the best of each.

    Parameters
    ----------
    counts : ndarray of int, shape (rows,)
        How often each row is in the table.
    """

    def __init__(self, counts: np.ndarray, width: int, best_only: bool, proportions: Proportions | None) -> None:
        rows = len(counts)
        self._counts, self._proportions = counts, proportions
        self.numbers = np.empty((rows, 1 if best_only else width), np.float32)
        self.codes = np.empty(rows if best_only else 0, np.int32)
        self._best_only = best_only

    def keep(self, rows: slice, answers: np.ndarray) -> None:
        """Keep the answers for some rows, (rows, width); each call has those after the last one's."""
        if self._proportions is None:
            self._put(rows, answers)
            return
        for at, part in self._proportions.matched(rows, answers, self._counts):
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


def _side_by_side(questions: _Questions, device: torch.device) -> Iterator[list[np.ndarray]]:
    """The answers to each question, in order; on a CPU as many at a time as torch has threads.

    A pass is made of many small operations. One thread for each of two passes is a third faster than
    two threads for each operation, and does not suffer when the machine has other work, since no
    thread waits for another within an operation. The answers are the same: each pass has its thread.
    """
    import torch

    threads, at_a_time = torch.get_num_threads(), questions.config.at_a_time
    numbers = range(len(questions))
    if device.type != "cpu" or (at_a_time is None and (threads < 2 or len(questions) < 2 * threads)):
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
