"""Tables of more rows than are read together: some rows are read, and the others asked about beside them.

    labeled rows, some hundred unlabeled ones --read once--> contexts --another row--> its answer

A context keeps what the blocks of the network make of the rows that were read
(:meth:`vsacli.nn.model.VSAModel.read`). A row that is asked about attends to these and to itself, so its answer
depends on no other such row: neither on how rows are cut into pieces nor on how many there are. The rows that are read
have their answers from that, and so has any row that equals one of them.

More labeled rows than ``context_rows`` are dealt into several contexts; the contents of a row decide which of
them it is asked beside. There is a context for each group of attributes as well. Contexts are kept as memory
allows, and read again where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.packed import take_rows
from vsacli.inference.kept_contexts import KeptContexts, Key, Read
from vsacli.inference.order import exact_hashes, signs
from vsacli.inference.passes import PassRows
from vsacli.inference.reading import Reading
from vsacli.inference.side_by_side import side_by_side
from vsacli.support.once import Once

if TYPE_CHECKING:
    from vsacli.structure import RowStructure

WINDOW = 8192
"""Rows that are asked about beside all their contexts before the next ones, up to `CONTEXTS` times as many ..."""

CONTEXTS = 4
"""... if there are so many contexts, since not all of those are kept."""


@dataclass(frozen=True)
class _Question:
    """A piece of a window, beside one context of labeled rows, with one group of attributes in one view."""

    piece: int
    group: int
    context: int
    view: int

    @property
    def key(self) -> Key:
        """What was read for it."""
        return self.group, self.context, self.view


class Asking:
    """Asks the network about unlabeled rows of a table, beside the same rows all the time.

    Parameters
    ----------
    reading : Reading
    beside : PassRows
        The unlabeled rows that are read, with all attributes.
    kept : KeptContexts, optional
        What was read before with the same labeled rows and the same rows beside them, to be used and added to.
    """

    def __init__(self, reading: Reading, beside: PassRows, kept: KeptContexts | None = None) -> None:
        self.reading = reading
        self._beside = beside
        contents = exact_hashes(beside.x)
        self._by_contents = np.argsort(contents)
        self._contents = contents[self._by_contents]
        self._signs = signs(reading.signatures, reading.config.views, reading.config.seed)
        self._given: Once[int, PassRows] = Once()  # labeled rows, by context
        self._kept = kept or KeptContexts()
        self._most_kept = reading.contexts_kept  # now, since torch has one thread in each of those that ask

    def answers(self, read: np.ndarray, tell: Callable[[int], None]) -> Iterator[tuple[slice, np.ndarray]]:
        """The network's answers (rows, width) for slices of ``read``, one after the other.

        Parameters
        ----------
        read : ndarray of int
            Positions in the unlabeled rows of the table.
        tell : callable
            Called with the number of rows that are done.
        """
        step = WINDOW * min(CONTEXTS, len(self.reading.contexts))
        for start in range(0, len(read), step):
            window = slice(start, min(start + step, len(read)))
            yield window, self._window(self.reading.rows[read[window]], lambda done, start=start: tell(start + done))

    def _window(self, rows: np.ndarray, tell: Callable[[int], None]) -> np.ndarray:
        """The answers (rows, width) for rows of the table."""
        reading = self.reading
        contents = exact_hashes(take_rows(reading.x, rows))
        places = self._places(contents)
        pieces, questions = self._questions(contents, places >= 0)
        if len({question.key for question in questions}) == 1:
            self._reads(questions[0].key)  # with all threads, rather than by one for which the others wait
        structure: Once[int, RowStructure | None] = Once()  # by piece

        def ask(number: int) -> np.ndarray:
            question = questions[number]
            piece, group = pieces[question.piece], reading.groups[question.group]
            answers, context = self._reads(question.key)
            if places[piece[0]] >= 0:
                return answers[places[piece]]
            x = reading.attributes(rows[piece], group) * self._signs[question.view, group]
            asked = PassRows(x, structure.get(question.piece, lambda: reading.structure_of(rows[piece])))
            return reading.runner.ask(
                context, len(reading.contexts[question.context]), asked, reading.config.least_chunk
            )

        average = _Averages(len(rows), reading.runner.width, reading.classes)
        asked = side_by_side(ask, len(questions), reading.device, reading.config)
        for number, (question, found) in enumerate(zip(questions, asked, strict=True), start=1):
            average.add(pieces[question.piece], found, reading.group_weights[question.group])
            tell(number * len(rows) // len(questions))
        return average.of(reading.contexts_each * len(self._signs))

    def _places(self, contents: np.ndarray) -> np.ndarray:
        """Where rows of such contents (rows,) stand among those that are read; -1 for others."""
        if not len(self._contents):
            return np.full(len(contents), -1)
        at = np.minimum(np.searchsorted(self._contents, contents), len(self._contents) - 1)
        return np.where(self._contents[at] == contents, self._by_contents[at], -1)

    def _questions(self, contents: np.ndarray, known: np.ndarray) -> tuple[list[np.ndarray], list[_Question]]:
        """The pieces of a window, positions in it, and the questions about them, those of one key together.

        Parameters
        ----------
        contents : ndarray of uint64, shape (rows,)
            As `exact_hashes` gives them; they say which contexts a row is asked beside.
        known : ndarray of bool, shape (rows,)
            Rows that are read: they are in pieces of their own, and already have answers.
        """
        reading = self.reading
        home = contents % np.uint64(len(reading.contexts))
        pieces: list[np.ndarray] = []
        questions: list[_Question] = []
        for first, read in product(np.unique(home), (True, False)):
            own = np.flatnonzero((home == first) & (known == read))
            size = len(own) if read else reading.piece_rows
            for piece in np.array_split(own, -(-len(own) // size)) if len(own) else []:
                questions += [
                    _Question(len(pieces), group, context, view)
                    for context in reading.contexts_of(int(first))
                    for group in range(len(reading.groups))
                    for view in range(len(self._signs))
                ]
                pieces.append(piece)
        return pieces, sorted(questions, key=lambda question: (question.key, question.piece))

    def _reads(self, key: Key) -> Read:
        """The answers for the rows that are read, and what they leave for those that are asked about."""
        return self._kept.get(key, lambda: self._read_now(*key), by=self.reading.runner, most=self._most_kept)

    def _read_now(self, group: int, context: int, view: int) -> Read:
        reading = self.reading
        attributes, target = reading.groups[group], reading.target[reading.contexts[context]]
        sign = self._signs[view, attributes]
        labeled = self._given.get(context, lambda: self._labeled(context))
        given, beside = (PassRows(rows.x[:, attributes] * sign, rows.structure) for rows in (labeled, self._beside))
        return reading.runner.read(given, target, beside, reading.config.least_chunk)

    def _labeled(self, context: int) -> PassRows:
        positions = self.reading.contexts[context]
        return self.reading.pass_rows(self.reading.support[positions], positions)


class _Averages:
    """Sums of answers for the rows of a window: probabilities, or mean and second moment of numbers."""

    def __init__(self, rows: int, width: int, classes: bool) -> None:
        self._sums = np.zeros((rows, width))
        self._classes = classes

    def add(self, rows: np.ndarray, answers: np.ndarray, weight: float) -> None:
        """Add the answers (rows, width) of one pass."""
        if self._classes:
            self._sums[rows] += weight * answers
            return
        mean, var = answers.astype(np.float64).T
        self._sums[rows] += weight * np.stack([mean, var + mean**2], 1)

    def of(self, weight: float) -> np.ndarray:
        """Mean probabilities; or mean and variance of the mixture of Gaussians, float32; `weight` of all passes."""
        mean = self._sums / weight
        if not self._classes:
            mean[:, 1] -= mean[:, 0] ** 2
        return mean.astype(np.float32)
