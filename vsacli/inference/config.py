"""How the network is run: where, with which seed, and the sizes of its passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vsacli.errors import DataError

GROUP = 128
"""Attributes of a group for classes, and the fewest for numbers (benchmarks/wide.py) ..."""

LARGEST_GROUP = 512
"""... and the most for numbers, reached from 51 labels on: many labels can tell many attributes apart."""
MOST_ATTRIBUTES = 512
"""For classes, attributes that are read of a table with more: those that tell most (benchmarks/wide.py) ..."""

LABELS_THAT_TELL = 3
"""... if there are so many labels per class: fewer do not tell which ones those are."""

MOST_CLASSES = 4096
"""Classes of a table at most: a label of each is part of a graph, whose time grows with the cube of its rows."""

STUDENT_FROM = 32_768
"""Different unlabeled rows from which a student saves more than it costs (benchmarks/student.py)."""


BESIDE_OF_A_CLASS, BESIDE = 32, (128, 256)
"""Unlabeled rows read for each class where others are asked about, and the fewest and most (benchmarks/company.py)."""


@dataclass(frozen=True)
class InferenceConfig:
    """Where the network runs, what it keeps, and the sizes of its passes."""

    device: str = "auto"  # see `choose_device`
    seed: int = 0  # decides which rows are read together
    best_only: bool = False  # of the class probabilities keep the largest of each row: two numbers per row, not C
    chunk_rows: int = 256  # unlabeled rows read together, none of which is only asked about
    context_rows: int = 384  # labeled rows read together
    beside_rows: int | None = None  # unlabeled rows read where others are asked about; 0: all; None: `wanted_beside`
    classes_together: int = 25  # classes read together at most; of more, groups (benchmarks/many_classes.py)
    contexts_per_chunk: int = 2  # contexts averaged for a row if labeled rows need several
    attributes_together: tuple[int, int] | None = None  # at most, and of a group if there are more; None: a choice
    memory: int = 400 << 20  # bytes that a pass may take, about
    least_chunk: int = 16  # unlabeled rows below which a pass is not cut further
    views: int = 1  # passes averaged: the table as it is, then with the signs of random attributes turned
    student_from: int | None = STUDENT_FROM  # different unlabeled rows from which a student is taught; None: never
    at_a_time: int | None = None  # passes side by side on a CPU, one thread each; None: as torch has threads


def wanted_beside(config: InferenceConfig, n_classes: int) -> int:
    """Unlabeled rows that are to be read where others are asked about."""
    if config.beside_rows is not None:
        return config.beside_rows
    return int(np.clip(BESIDE_OF_A_CLASS * n_classes, *BESIDE))


def attributes_together(config: InferenceConfig, kind: str, n_labeled: int) -> tuple[int, int]:
    """Attributes read together at most, and of a group if there are more."""
    if config.attributes_together is not None:
        return config.attributes_together
    size = GROUP if kind == "classification" else int(np.clip(10 * n_labeled, GROUP, LARGEST_GROUP))
    return size * 3 // 2, size


def check_classes(n_classes: int) -> None:
    """Refuse more classes than a graph has landmarks.

    Raises
    ------
    DataError
    """
    if n_classes > MOST_CLASSES:
        raise DataError(
            f"{n_classes:,} classes are more than can be told apart ({MOST_CLASSES:,}): merge rare classes, or fill in "
            f"a coarser column first and then label the rows of each of its values separately; "
            f"if the labels are numbers, use --task regression"
        )
