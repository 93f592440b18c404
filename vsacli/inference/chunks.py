"""Unlabeled rows read together in chunks, each with the labeled rows as context.

A table of a few hundred rows is one chunk. Larger tables are read in several by networks that cannot be asked
about rows (:mod:`vsacli.inference.asked`), and so are tables so wide that what they leave would not fit in memory.
A chunk of a part of such a table is filled up with rows of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.inference.order import signs
from vsacli.inference.passes import PassRows
from vsacli.inference.reading import Reading
from vsacli.inference.side_by_side import side_by_side
from vsacli.support.once import Once

if TYPE_CHECKING:
    from vsacli.structure import RowStructure

_KEPT = 32  # chunks whose structure is kept: more are not read at a time


def answers_in_chunks(
    reading: Reading, read: np.ndarray, tell: Callable[[int], None]
) -> Iterator[tuple[slice, np.ndarray]]:
    """The network's answers (rows, width) for slices of ``read``, one after the other.

    Parameters
    ----------
    reading : Reading
    read : ndarray of int
        Positions in its unlabeled rows, in the order in which they are read.
    tell : callable
        Called with the number of rows that are done.
    """
    n_groups, n_chunks = len(reading.groups), -(-len(read) // reading.chunk_rows)
    chunks = [slice(i * len(read) // n_chunks, (i + 1) * len(read) // n_chunks) for i in range(n_chunks)]
    parts: list[np.ndarray] = []  # of a chunk
    weights: list[float] = []
    questions = _Questions(reading, read, chunks)
    asked = side_by_side(questions.ask, len(questions), reading.device, reading.config)
    for number, found in enumerate(asked):
        parts += found
        weights += [reading.group_weights[number % n_groups] / len(found)] * len(found)
        tell((number + 1) * len(read) // len(questions))
        if (number + 1) % n_groups == 0:
            yield chunks[number // n_groups], _average(parts, weights, reading.classes)
            parts, weights = [], []


class _Questions:
    """The questions for the network: each group of attributes for each chunk of rows, with its contexts.

    Parameters
    ----------
    reading : Reading
    read : ndarray of int
        Positions in its unlabeled rows, in the order in which they are read.
    chunks : list of slice
        Of `read`.
    """

    def __init__(self, reading: Reading, read: np.ndarray, chunks: list[slice]) -> None:
        self.reading = reading
        self._read, self._chunks = read, chunks
        self._signs = signs(reading.signatures, reading.config.views, reading.config.seed)
        self._structures: Once[int, tuple[RowStructure | None, list[RowStructure | None]]] = Once()  # by chunk

    def __len__(self) -> int:
        return len(self._chunks) * len(self.reading.groups)

    def ask(self, number: int) -> list[np.ndarray]:
        """The answers (rows of the chunk, width) of each context and view; all groups of a chunk follow each other."""
        reading = self.reading
        i, group = number // len(reading.groups), reading.groups[number % len(reading.groups)]
        own, of_contexts = self._structure(i)
        rows = self._rows(i)
        chunk, others = PassRows(reading.attributes(rows, group), own), reading.rows_to_fill_up(rows)
        if others is not None:
            chunk = chunk.followed_by(PassRows(others.x[:, group], others.structure))
        parts = []
        for c, structure in zip(self._contexts(i), of_contexts, strict=True):
            context = PassRows(reading.attributes(reading.support[c], group), structure)
            for sign in self._signs[:, group]:
                given, asked = replace(context, x=context.x * sign), replace(chunk, x=chunk.x * sign)
                found = reading.runner.run(given, reading.target[c], asked, reading.config.least_chunk)
                parts.append(found[: len(rows)])
        return parts

    def _rows(self, i: int) -> np.ndarray:
        return self.reading.rows[self._read[self._chunks[i]]]

    def _contexts(self, i: int) -> list[np.ndarray]:
        return [self.reading.contexts[c] for c in self.reading.contexts_of(i)]

    def _structure(self, i: int) -> tuple[RowStructure | None, list[RowStructure | None]]:
        """The structure of a chunk and of its contexts, looked up once for all groups of attributes."""
        return self._structures.get(i, lambda: self._look_up(i), _KEPT)

    def _look_up(self, i: int) -> tuple[RowStructure | None, list[RowStructure | None]]:
        reading = self.reading
        contexts = [reading.structure_of(reading.support[c], c) for c in self._contexts(i)]
        return reading.structure_of(self._rows(i)), contexts


def _average(parts: list[np.ndarray], weights: list[float], classes: bool) -> np.ndarray:
    """Mean probabilities; or mean and variance of the mixture of Gaussians; weights have the sum 1."""
    stacked = np.stack(parts)
    out = np.average(stacked, 0, weights).astype(stacked.dtype)
    if not classes:
        out[:, 1] += np.average((stacked[:, :, 0] - out[:, 0]) ** 2, 0, weights)
    return out
