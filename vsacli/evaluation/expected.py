"""What a network got on many other tables, by number of labels: known before any label of a table is hidden.

`benchmarks/expected.py` writes it beside the weights, from the records of a suite (docs/eval.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vsacli.errors import CheckpointError
from vsacli.kinds import TaskKind

EXPECTED_FILE = "expected.json"
FIGURES: dict[TaskKind, str] = {"classification": "accuracy", "regression": "r2"}
CLASS_GROUPS = ((2, 2), (3, 5), (6, 384))
LARGEST = 1 << 20  # bytes
BEYOND = 2.0  # so far beyond the numbers of labels that were tried, the nearest one still says something


@dataclass(frozen=True)
class Line:
    """Quartiles over tables of one group, at one number of labels.

    Attributes
    ----------
    classes : (int, int), or None
        Fewest and most classes of these tables; None for numbers.
    labels : int
        Labels of each class; for numbers, in all.
    tables : int
    quartiles : (float, float, float)
        Of the figure (`FIGURES`) over the tables.
    """

    classes: tuple[int, int] | None
    labels: int
    tables: int
    quartiles: tuple[float, float, float]


@dataclass(frozen=True)
class Expected:
    """The lines of one network."""

    kind: TaskKind
    lines: tuple[Line, ...]

    def at(self, n_labels: int, n_classes: int) -> Line | None:
        """What to expect with so many labels in all; None if such tables, or numbers of labels, were not tried.

        Between two numbers of labels, quartiles lie on a line over the logarithm.
        """
        own = [
            line
            for line in sorted(self.lines, key=lambda line: line.labels)
            if line.classes is None or line.classes[0] <= n_classes <= line.classes[1]
        ]
        labels = n_labels / n_classes if self.kind == "classification" else n_labels
        if not own or not own[0].labels / BEYOND <= labels <= own[-1].labels * BEYOND:
            return None
        sizes = np.log([line.labels for line in own])
        q = [float(np.interp(np.log(labels), sizes, [line.quartiles[i] for line in own])) for i in range(3)]
        return Line(own[0].classes, round(labels), min(line.tables for line in own), (q[0], q[1], q[2]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        lines = [
            {
                "classes": None if line.classes is None else list(line.classes),
                "labels": line.labels,
                "tables": line.tables,
                "quartiles": list(line.quartiles),
            }
            for line in self.lines
        ]
        return {"kind": self.kind, "figure": FIGURES[self.kind], "lines": lines}


def summarize_tables(kind: TaskKind, found: Sequence[tuple[str, int, int, float]]) -> Expected:
    """Quartiles over tables of their mean figures, from (table, labels of a class or in all, classes, figure)."""
    groups: Sequence[tuple[int, int] | None] = CLASS_GROUPS if kind == "classification" else (None,)
    lines = []
    for group in groups:
        own = [f for f in found if group is None or group[0] <= f[2] <= group[1]]
        for labels in sorted({f[1] for f in own}):
            values: dict[str, list[float]] = {}
            for table, at, _, value in own:
                if at == labels:
                    values.setdefault(table, []).append(value)
            low, middle, high = np.quantile([np.mean(v) for v in values.values()], [0.25, 0.5, 0.75]).round(3).tolist()
            lines.append(Line(group, labels, len(values), (low, middle, high)))
    return Expected(kind, tuple(lines))


def read_expected(folder: Path | None) -> Expected | None:
    """What is recorded beside the weights of a checkpoint; None if nothing is.

    Raises
    ------
    CheckpointError
        The file is damaged.
    """
    path = None if folder is None else folder / EXPECTED_FILE
    if path is None or not path.is_file():
        return None
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError("too large")
        content = json.loads(path.read_text(encoding="utf-8"))
        kind = content["kind"]
        if kind not in FIGURES or content["figure"] != FIGURES[kind]:
            raise ValueError(f"unknown kind or figure {kind!r}")
        return Expected(kind, tuple(_line(values) for values in content["lines"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as e:
        raise CheckpointError(f"{path}: damaged ({e}); delete it; vsa eval works without it") from e


def _line(values: dict[str, Any]) -> Line:
    classes = values["classes"]
    low, middle, high = (float(v) for v in values["quartiles"])
    if not (low <= middle <= high and int(values["labels"]) > 0):
        raise ValueError("quartiles out of order")
    pair = None if classes is None else (int(classes[0]), int(classes[1]))
    return Line(pair, int(values["labels"]), int(values["tables"]), (low, middle, high))
