"""One task with its answer, and several of them side by side as a padded batch.

An :class:`Episode` is what Algorithm 1 of the paper samples in lines 3-4: labeled rows, unlabeled
rows, and the held-out answer of the unlabeled ones. It is plain NumPy, so that baselines and
evaluation need no torch; :func:`collate` turns episodes into the tensors that the network reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.attributes.words import Words
from vsacli.kinds import TaskKind

if TYPE_CHECKING:
    from vsacli.structure import RowStructure


@dataclass(frozen=True)
class GivenNumbers:
    """The labels y (L,) of an episode as they stand in the table, and how all its targets were scaled.

    Float32 around the mean has no digits left of numbers that are many times smaller.
    """

    y: np.ndarray
    center: float
    spread: float


@dataclass(frozen=True)
class Episode:
    """A task: labeled rows first, then unlabeled rows whose answer is held out.

    Attributes
    ----------
    x : ndarray of float32, shape (L + U, M)
        Attribute values; NaN where not observed.
    n_labeled : int
        L, the number of labeled rows, which come first.
    y : ndarray, shape (L + U,)
        int64 class indices below ``n_classes``, or float32 targets. The rows from L on are the
        answer and are never shown to a method.
    kind : {"classification", "regression"}
        What ``y`` holds.
    n_classes : int
        C for classification, 1 for regression.
    scored : ndarray of bool, shape (U,)
        Unlabeled rows whose answer is known; the others are context only and stay out of every
        loss and metric.
    name : str
        The table that the episode comes from.
    family : str
        Tables of one family are near relatives; means are taken over families.
    structure : RowStructure, optional
        What all rows of the table, with these labels, say of these rows.
    further : ndarray of bool, shape (M,), optional
        As of :class:`vsacli.tasks.store.EncodedTable`.
    words : Words, shape (L + U, V), optional
        As of :class:`vsacli.tasks.store.EncodedTable`.
    given : GivenNumbers, optional
        The labels as they stand in the table, of targets that were scaled.
    """

    x: np.ndarray
    n_labeled: int
    y: np.ndarray
    kind: TaskKind
    n_classes: int
    scored: np.ndarray
    name: str = ""
    family: str = ""
    structure: RowStructure | None = None
    further: np.ndarray | None = None
    words: Words | None = None
    given: GivenNumbers | None = None

    @property
    def n_unlabeled(self) -> int:
        """U, the number of unlabeled rows."""
        return len(self.x) - self.n_labeled

    @property
    def answer(self) -> np.ndarray:
        """The held-out labels of the unlabeled rows, shape (U,)."""
        return self.y[self.n_labeled :]
