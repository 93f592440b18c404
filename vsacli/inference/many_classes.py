"""Many classes: each row is asked about the classes that are likely for it, in a group of classes that are alike.

    rows --ClassGroups--> shares of all classes (u, C) --the group with the largest--> network --> shares within it

A class is a slot beside the attributes in every pass, and the network was trained with at most 25. Of a table with
more, each group of classes is a table of its own: its labeled rows, and those unlabeled rows for which it is the
likeliest group. The network's answer counts within the group, and the group as a whole as much as the shortlist says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vsacli.attributes.packed import take_rows
from vsacli.inference.class_groups import ClassGroups, window_rows
from vsacli.inference.reading import Known, Reading
from vsacli.inference.side_by_side import side_by_side

NETWORK, LISTED = 0.7, 0.7
"""Powers of the two answers within a group whose product is taken: they are not independent of each other."""

LEAST = 1e-9

Tell = Callable[[int], None]

Ask = Callable[[Reading, np.ndarray, Tell], Iterator[tuple[slice, np.ndarray]]]
"""The network's answers (rows, width) for slices of some unlabeled rows of a reading, one after the other."""


def answers_in_groups(
    reading: Reading,
    groups: ClassGroups,
    read: np.ndarray,
    ask: Ask,
    tell: Tell,
) -> Iterator[tuple[slice, np.ndarray]]:
    """The answers (rows, C) for slices of ``read``, one after the other.

    Parameters
    ----------
    reading : Reading
    groups : ClassGroups
        Of its classes.
    read : ndarray of int
        Positions in its unlabeled rows, in the order in which they are read.
    ask : callable
        Asks the network about the rows of a group.
    tell : callable
        Called with the number of rows that are done.
    """
    n, beside = len(read), _beside(groups, reading.known.beside)
    n_windows = -(-n // window_rows(reading.n_classes))
    for i in range(n_windows):
        rows = slice(i * n // n_windows, (i + 1) * n // n_windows)
        questions = _Questions(reading, groups, reading.rows[read[rows]], ask, beside)
        done = rows.start
        found_of_each = side_by_side(questions.ask, len(questions.asked), reading.device, reading.config)
        for group, found in zip(questions.asked, found_of_each, strict=True):
            questions.put(group, found)
            done += len(found)
            tell(done)
        yield rows, questions.shares[:, groups.place]


class _Questions:
    """The questions for the network about some rows: one for each group of classes that has any of them.

    Attributes
    ----------
    shares : ndarray, shape (rows, C)
        Of the classes of the shortlist: its own answer, until the network's is put in.
    asked : list of int
        The groups.
    """

    def __init__(
        self, reading: Reading, groups: ClassGroups, rows: np.ndarray, ask: Ask, beside: list[np.ndarray | None]
    ) -> None:
        self.reading, self._beside = reading, beside
        self._groups, self._table_rows, self._ask = groups, rows, ask
        self.shares = reading.class_shares(groups, rows)
        self._homes = groups.homes(self.shares)
        self.asked = [g for g in range(len(groups.groups)) if (self._homes == g).any()]

    def rows(self, group: int) -> NDArray[np.int64]:
        """The rows for which a group is the likeliest."""
        return np.flatnonzero(self._homes == group)

    def ask(self, number: int) -> np.ndarray:
        """The network's answers (rows, classes of the group) for the rows of a group."""
        reading, group = self.reading, self.asked[number]
        codes = self._groups.codes(group, reading.target)
        rows = np.concatenate([reading.support[codes >= 0], self._table_rows[self.rows(group)]])
        part = Reading(
            reading.checkpoint,
            take_rows(reading.x, rows),
            np.arange(len(rows)) < (codes >= 0).sum(),
            codes[codes >= 0],
            len(self._groups.groups[group]),
            replace(reading.config, at_a_time=1),  # groups are asked side by side already
            Known(
                reading.signatures,
                self._groups.structures[group],
                beside=self._beside[group],
                further=reading.known.further,
            ),
        )
        order, _ = part.unlabeled_order
        out = np.empty((len(order), part.n_classes), np.float32)
        for at, found in self._ask(part, order, lambda _: None):
            out[order[at]] = found
        return out

    def put(self, group: int, found: np.ndarray) -> None:
        """Share out what the shortlist says of a group as a whole by the network's answers within it."""
        at = np.ix_(self.rows(group), self._groups.groups[group])
        listed = self.shares[at]
        total = listed.sum(1, keepdims=True)
        logs = NETWORK * np.log(np.maximum(found, LEAST)) + LISTED * np.log(np.maximum(listed / total, LEAST))
        within = np.exp(logs - logs.max(1, keepdims=True))
        self.shares[at] = within / within.sum(1, keepdims=True) * total


def _beside(groups: ClassGroups, beside: np.ndarray | None) -> list[np.ndarray | None]:
    """Those of the rows ``beside``, if any are known, for which each group is the likeliest."""
    if beside is None:
        return [None] * len(groups.groups)
    homes = groups.homes(groups.shares(beside))
    return [beside[homes == group] for group in range(len(groups.groups))]
