"""What is asked of one table, and what came out: answers of each method for labels that were hidden."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vsacli.evaluation.episodes import DrawnEpisode
from vsacli.evaluation.intervals import Interval
from vsacli.evaluation.run import MethodSpec, Record
from vsacli.tasks.store import EncodedTable

ALL_LABELS = 0  # `shot` of a record whose method saw all labels that were not hidden


@dataclass(frozen=True)
class TableQuestion:
    """What is asked of one table; the defaults are the command's."""

    methods: tuple[MethodSpec, ...]
    seed: int = 0
    thorough: bool = False  # more rounds, and the curve over numbers of labels
    folds: int = 5
    repeats: int | None = None  # None: fewer, the more labels there are
    max_labels: int = 2000  # known labels that are used at most
    max_unlabeled: int = 256  # rows asked for and rows without label in a round: what the network reads together
    shares: np.ndarray | None = None  # of the classes among all rows (C,), if they are known


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy (classes) or normalised squared error (numbers) with fewer labels.

    Attributes
    ----------
    size : labels per class, or labels in all; `ALL_LABELS` for the last point
    n_labels : labels in all, mean over the rounds
    result : the figure
    """

    size: int
    n_labels: float
    result: Interval


@dataclass
class MethodAnswers:
    """The answers of one method for the hidden labels.

    Attributes
    ----------
    label : str
        The method's name in this comparison.
    probs : float64 (repeats, n, C), or None
    mean, std : float64 (repeats, n) in the table's units, or None
    figures : name -> Interval, mean over repeats
    curve : list of CurvePoint
    seconds : float
        A round, on average.
    error : str, optional
        The reason, if a round failed and there are no answers.
    """

    label: str
    probs: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    figures: dict[str, Interval] = field(default_factory=dict)
    curve: list[CurvePoint] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None

    def typical_error(self, answer: np.ndarray) -> float:
        """Half of the numbers are closer to the known ones than this, in the table's units."""
        assert self.mean is not None
        return float(np.median(np.abs(self.mean - answer)))


@dataclass
class TableAnswer:
    """The whole result.

    Attributes
    ----------
    table : EncodedTable
    classes : list of str
        Display names.
    rows : int64 (n,)
        The rows whose labels were hidden.
    answer : (n,)
        Their known labels: class indices or numbers.
    repeats : int
        How often each was hidden.
    methods : list of MethodAnswers
    records : list of Record
    example : DrawnEpisode
        The first round, for pictures.
    counted : int64 (m,)
        Places of `rows`, each as often as it counts: once, or as the known shares of the classes ask for.
    """

    table: EncodedTable
    classes: list[str]
    rows: np.ndarray
    answer: np.ndarray
    repeats: int
    methods: list[MethodAnswers]
    records: list[Record]
    example: DrawnEpisode
    counted: np.ndarray
