"""How the network reads one table: what is decided before the first pass, for answers and embeddings alike.

x (n, M), labeled rows, y --> contexts of labeled rows, groups of attributes, rows of a chunk, structure
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.packed import CompactAttributes, take_rows
from vsacli.attributes.words import Words
from vsacli.errors import DataError
from vsacli.inference.class_groups import ClassGroups, ListedRows
from vsacli.inference.config import MOST_ATTRIBUTES, InferenceConfig, attributes_together, wanted_beside
from vsacli.inference.device import choose_device
from vsacli.inference.kept_contexts import KeptContexts
from vsacli.inference.number_words import WordNumbers
from vsacli.inference.order import (
    attribute_groups,
    attribute_signatures,
    exact_hashes,
    reading_order,
    row_order,
    word_hashes,
)
from vsacli.inference.passes import PassRows, Runner, deal_contexts, kept_bytes, rows_that_fit
from vsacli.inference.structure import GivenRows, KnownStructure, structure_of
from vsacli.inference.target_scale import MOST_LABELS, TargetScale, logarithms_fit_better
from vsacli.inference.words import WordAnswers
from vsacli.structure.table import COORDINATES
from vsacli.support.threads import numpy_on_one_thread

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.proportions import Proportions
    from vsacli.structure import RowStructure


LEAST_BESIDE = 64
"""Unlabeled rows to be read where all rows are then asked about; if memory has no room for them, chunks are read."""

KEPT_BYTES = 64 << 20
"""Of what all rows that are read leave, so that it is kept from one call to the next."""

PIECE_CELLS, PIECE_ROWS = 6144, (64, 256)
"""Cells of a piece of rows that are asked about at once, which a cache holds, and its fewest and most rows ..."""

ACCELERATOR_CELLS, ACCELERATOR_ROWS = 1 << 18, (64, 8192)
"""... and those of an accelerator, which they keep busy without filling its memory."""


@dataclass(frozen=True)
class Known:
    """What is known of a table beyond its own rows and labels.

    Attributes
    ----------
    signatures : ndarray of uint64, shape (M,), optional
        :func:`attribute_signatures` of a larger table that it is part of, so that all parts are read alike.
    structure : KnownStructure, optional
        Of such a table, with the same labeled rows in the same order; by default that of the rows themselves.
    proportions : Proportions, optional
        Of the classes among the unlabeled rows. Its factors, if it has none yet, are found from up to `SAMPLE_CELLS`
        probabilities, the same ones with and without `InferenceConfig.best_only`.
    groups : ClassGroups, optional
        Of the classes of such a table, if there are many.
    beside : ndarray of float32, shape (k, M), optional
        Unlabeled rows of such a table, for all others to be asked about beside them (:meth:`Reading.kept_beside`).
    further : ndarray of bool, shape (M,), optional
        Attributes that the network reads the table without as well as with; the answers are averaged.
    unread : ndarray of bool, shape (n,), optional
        Rows that are neither labeled nor asked about nor read beside others.
    contexts : KeptContexts, optional
        What was read for that, so that the next rows need not wait for it again.
    logarithms : bool
        Whether numbers may be answered as logarithms, if all are above 0: not if they were scaled.
    scale : TargetScale, optional
        Of the labeled targets, if it is known already.
    words : Words, shape (n, V), optional
        The words of the rows of the table that is asked about, which say something of their classes or numbers.
    """

    signatures: np.ndarray | None = None
    structure: KnownStructure | None = None
    proportions: Proportions | None = None
    groups: ClassGroups | None = None
    beside: np.ndarray | None = None
    further: np.ndarray | None = None
    unread: np.ndarray | None = None
    contexts: KeptContexts | None = None
    logarithms: bool = True
    scale: TargetScale | None = None
    words: Words | None = None


class Reading:
    """One table as the network reads it; each part is computed when it is first asked for.

    Parameters
    ----------
    checkpoint, x, labeled, y, n_classes, config, known
        As for :func:`vsacli.inference.predict.predict`.

    Attributes
    ----------
    support, rows : ndarray of int
        The labeled and the unlabeled rows, ascending.
    scale : TargetScale or None
        Of the targets; None for classes.
    target : ndarray, shape (L,)
        Classes (int64) or scaled targets (float32) of the labeled rows, as the network takes them.

    Raises
    ------
    DataError
        If no row is labeled.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        x: np.ndarray | CompactAttributes,
        labeled: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        config: InferenceConfig | None,
        known: Known | None = None,
    ) -> None:
        self.checkpoint, self.x = checkpoint, x
        self.config, self.known = config or InferenceConfig(), known or Known()
        asked = ~labeled if self.known.unread is None else ~(labeled | self.known.unread)
        self.support, self.rows = np.flatnonzero(labeled), np.flatnonzero(asked)
        if not len(self.support):
            raise DataError("no labeled row: give at least one label")
        self.classes = checkpoint.kind == "classification"
        self.n_classes = n_classes if self.classes else 0
        self.scale = None if self.classes else self.known.scale or self._scale_of(np.asarray(y, np.float64))
        self.target = np.asarray(y, np.int64) if self.scale is None else self.scale.apply(y)
        self.device = choose_device(self.config.device)
        self._listed: ListedRows | None = None

    def _scale_of(self, y: np.ndarray) -> TargetScale:
        """The scale of targets (L,), by the same labeled rows in whatever order they stand."""
        if not self.known.logarithms or not self.x.shape[1] or not y.min() > 0:
            return TargetScale.of(y)
        rows = row_order(self.x, self.signatures, self.config.seed, y, rows=self.support)[:MOST_LABELS]
        better = logarithms_fit_better(take_rows(self.x, self.support[rows]), y[rows])
        return TargetScale.of(y, logarithms=better)

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.checkpoint, self.device, self.n_classes if self.classes else 1)

    @cached_property
    def signatures(self) -> np.ndarray:
        """:func:`attribute_signatures`, (M,)."""
        return attribute_signatures(self.x) if self.known.signatures is None else self.known.signatures

    @cached_property
    def groups(self) -> list[np.ndarray]:
        """Attributes that are read together, in the order in which they are read.

        Those without the further ones, if there are any, come first.
        """
        return [group for groups in self._readings for group in groups]

    @cached_property
    def group_weights(self) -> list[float]:
        """The share of each of `groups` in an answer: as much with the further attributes as without them."""
        return [1 / (len(self._readings) * len(groups)) for groups in self._readings for _ in groups]

    @cached_property
    def _readings(self) -> list[list[np.ndarray]]:
        sizes = attributes_together(self.config, self.checkpoint.kind, len(self.support))
        chosen, further = [self.chosen], self.known.further
        if further is not None and 0 < further[self.chosen].sum() < len(self.chosen):
            chosen.insert(0, self.chosen[~further[self.chosen]])
        return [
            [some[group] for group in attribute_groups(self.signatures[some], *sizes, self.config.seed)]
            for some in chosen
        ]

    @cached_property
    def chosen(self) -> np.ndarray:
        """Attributes that are read: all, or of very many for classes, those that tell most."""
        told = None if self.structure is None else self.structure.telling
        if told is None or self.config.attributes_together is not None:
            return np.arange(len(self.signatures))
        best = np.lexsort((self.signatures, -told.round(9)))  # rounded, as sums differ with the order of rows
        return np.sort(best[:MOST_ATTRIBUTES])

    @cached_property
    def support_order(self) -> np.ndarray:
        """The order in which labeled rows are read: positions in `support`."""
        return row_order(self.x, self.signatures, self.config.seed, self.target, rows=self.support)

    @cached_property
    def unlabeled_order(self) -> tuple[np.ndarray, np.ndarray]:
        """:func:`reading_order` of the unlabeled rows: positions in `rows`, and where identical ones begin."""
        words = None if self.known.words is None else word_hashes(self.known.words)
        return reading_order(self.x, self.signatures, self.config.seed, self.rows, words)

    @cached_property
    def contexts(self) -> list[np.ndarray]:
        """Labeled rows that are read together: positions in `support`."""
        order = self.support_order
        dealt = deal_contexts(self.target[order] if self.classes else None, len(order), self.config.context_rows)
        return [order[hand] for hand in dealt]

    @cached_property
    def chunk_rows(self) -> int:
        """Unlabeled rows of a chunk, at most."""
        return rows_that_fit(self.config, self.runner, len(self.contexts[0]), max(map(len, self.groups)))

    @property
    def contexts_each(self) -> int:
        """Contexts whose answers for a row are averaged."""
        return min(self.config.contexts_per_chunk, len(self.contexts))

    def contexts_of(self, number: int) -> list[int]:
        """The contexts of a chunk, or of the rows of such a number."""
        return [(number * self.contexts_each + i) % len(self.contexts) for i in range(self.contexts_each)]

    @cached_property
    def rows_read_beside(self) -> int:
        """Unlabeled rows that are read where others are then asked about; 0 if none can be.

        What one context leaves may take half of the memory, or all of it if it is the only one.
        """
        if not self.runner.can_be_asked:
            return 0
        alone = len(self.contexts) * len(self.groups) * self.config.views == 1
        room = self.config.memory if alone else self.config.memory // 2
        fit = room // self._kept_bytes - max(map(len, self.contexts))
        return 0 if fit < LEAST_BESIDE else min(fit, wanted_beside(self.config, self.n_classes))

    def asks_about(self, rows: int) -> bool:
        """Whether so many different unlabeled rows are asked about, rather than read in chunks.

        Many labels are dealt into contexts, each of which must be read before the first row is asked about. That is
        less work than chunks, each with contexts of its own, if it is read for enough rows.
        """
        if self.known.beside is not None:
            return bool(self.rows_read_beside)
        if rows <= self.chunk_rows or not self.rows_read_beside:
            return False
        labeled = len(self.contexts[0])
        to_read = len(self.contexts) * (labeled + self.rows_read_beside)
        return len(self.contexts) == 1 or to_read <= rows * self.contexts_each * labeled / self.chunk_rows

    @property
    def contexts_kept(self) -> int:
        """How many times what is read for rows that are asked about is kept at once; one for each thread at least."""
        import torch

        size = self._kept_bytes * (max(map(len, self.contexts)) + wanted_beside(self.config, self.n_classes))
        return max((self.config.at_a_time or torch.get_num_threads()) + 1, self.config.memory // 4 // size)

    @cached_property
    def piece_rows(self) -> int:
        """Rows that are asked about at once, at most."""
        slots = max(map(len, self.groups)) + self.runner.n_classes
        if self.structure is not None:
            slots += COORDINATES
        on_cpu = self.device.type == "cpu"
        cells, rows = (PIECE_CELLS, PIECE_ROWS) if on_cpu else (ACCELERATOR_CELLS, ACCELERATOR_ROWS)
        return int(np.clip(cells // slots, *rows))

    @cached_property
    def _kept_bytes(self) -> int:
        return max(1, kept_bytes(self.runner, max(map(len, self.groups))))

    @property
    def _bytes_of_contexts(self) -> int:
        """What is read for rows that are asked about, all contexts, groups and views together."""
        rows = sum(map(len, self.contexts)) + len(self.contexts) * self.rows_read_beside
        return self._kept_bytes * rows * len(self.groups) * self.config.views

    @property
    def given(self) -> GivenRows:
        """The rows in the orders in which they are read, without repetitions of unlabeled ones."""
        order, first = self.unlabeled_order
        return GivenRows(
            self.x,
            self.signatures,
            self.support,
            self.target,
            self.n_classes,
            self.support_order,
            self.rows[order[first]],
        )

    @cached_property
    def structure(self) -> KnownStructure | None:
        """The structure of the whole table; None if the network does not read it, or there is none."""
        of_larger = self.known.structure is not None or self.known.beside is not None
        if of_larger or not self.runner.config.reads_structure:
            return self.known.structure
        with numpy_on_one_thread():  # whose number must not change an answer
            return structure_of(self.given, class_space=self.runner.config.reads_class_space)

    @cached_property
    def class_groups(self) -> ClassGroups | None:
        """The groups in which classes are read; None if all of them are read together."""
        if self.n_classes <= self.config.classes_together or self.known.groups is not None:
            return self.known.groups
        network = self.runner.config
        with numpy_on_one_thread():  # whose number must not change an answer
            groups, self._listed = ClassGroups.of(
                self.given,
                self.config.classes_together,
                self.config.seed,
                structured=network.reads_structure,
                class_space=network.reads_class_space,
            )
        return groups

    @cached_property
    def word_answers(self) -> WordAnswers | WordNumbers | None:
        """What words say of classes or numbers; None if there are none to learn from."""
        words = self.known.words
        if words is None:
            return None
        labeled, y = self.support[self.support_order], self.target[self.support_order]
        with numpy_on_one_thread():  # whose number must not change an answer
            if not self.classes:
                return WordNumbers(words, labeled, y) if WordNumbers.serve(words, labeled, y) else None
            serve = WordAnswers.serve(words, labeled, y, self.n_classes)
            return WordAnswers(words, labeled, y, self.n_classes) if serve else None

    def class_shares(self, groups: ClassGroups, rows: np.ndarray) -> np.ndarray:
        """What the shortlist of groups says of some rows of the table, (rows, C), for the caller to change.

        The rows that :attr:`class_groups` were made by need not be looked up a second time.
        """
        listed, self._listed = self._listed, None  # many megabytes, which are handed over once
        if listed is not None and np.array_equal(listed.rows[: len(rows)], rows):
            return listed.shares[: len(rows)]
        return groups.shares(take_rows(self.x, rows))

    def pass_rows(self, rows: np.ndarray, labeled: np.ndarray | None = None) -> PassRows:
        """Some rows of the table with all attributes; ``labeled`` as for `structure_of`."""
        return PassRows(take_rows(self.x, rows), self.structure_of(rows, labeled))

    def rows_beside(self, rows: np.ndarray) -> PassRows:
        """The unlabeled rows to read: those of a larger table, if it is known, or the first of ``rows``."""
        given = self.known.beside
        if given is None:
            return self.pass_rows(rows[: self.rows_read_beside])
        return self._rows_of_larger(given[: self.rows_read_beside])

    def rows_to_fill_up(self, rows: np.ndarray) -> PassRows | None:
        """Unlabeled rows of a larger table to be read in the chunk of ``rows``; None if no such table is known."""
        given = self.known.beside
        if given is None:
            return None
        others = given[~np.isin(exact_hashes(given), exact_hashes(take_rows(self.x, rows)))]
        return self._rows_of_larger(others[: max(0, self.chunk_rows - len(rows))])

    def _rows_of_larger(self, x: np.ndarray) -> PassRows:
        structure = self.structure
        return PassRows(x, None if structure is None else structure.of_rows(x, np.full(len(x), -1)))

    def kept_beside(self) -> np.ndarray:
        """Unlabeled rows (k, M), no two alike, for rows of other tables to be asked about beside them.

        Of many classes there are enough for each group of them.
        """
        order, first = self.unlabeled_order
        groups = 1 if self.class_groups is None else len(self.class_groups.groups)
        return take_rows(self.x, self.rows[order[first][: groups * wanted_beside(self.config, self.n_classes)]])

    def of_other_rows(self) -> Known | None:
        """What other rows can be asked beside, as those of this table are; None if these are read in chunks."""
        rows, groups = self.unlabeled_order[1].sum(), self.class_groups
        if groups is not None:  # each is a table of its own, and needs no structure of the whole
            asked, structure = self.runner.can_be_asked and rows > self.config.chunk_rows, None
        else:
            asked, structure = self.asks_about(rows), self.structure
        if not asked:
            return None
        keeps = groups is None and self._bytes_of_contexts <= KEPT_BYTES
        contexts = KeptContexts() if keeps else None
        return Known(
            self.signatures,
            structure,
            groups=groups,
            beside=self.kept_beside(),
            further=self.known.further,
            contexts=contexts,
            scale=self.scale,
        )

    def attributes(self, rows: np.ndarray, group: np.ndarray) -> np.ndarray:
        """A group of attributes of some rows of the table, float32 (rows, attributes)."""
        return take_rows(self.x, rows, group)

    def structure_of(self, rows: np.ndarray, labeled: np.ndarray | None = None) -> RowStructure | None:
        """The structure of some rows of the table, given their positions in `support`; None or -1: unlabeled."""
        if self.structure is None:
            return None
        return self.structure.of_rows(take_rows(self.x, rows), np.full(len(rows), -1) if labeled is None else labeled)
