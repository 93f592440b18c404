"""The shares of the classes among all rows of a table, if they are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vsacli.errors import UsageError
from vsacli.support.privacy import values_shown
from vsacli.support.wording import nearest, some
from vsacli.target.missing import normalize

OPTION = "--proportions"

ROUNDED = 0.015
"""So far from 1 the sum of shares may be without a note: thirds of 33%, percentages without a digit after the point."""


@dataclass(frozen=True)
class CountedLabels:
    """The labels of another table with the same class frequencies; it may have other classes as well.

    Attributes
    ----------
    counts : mapping of str to int
        Rows of each class.
    where : str
        The table, for messages.
    """

    counts: Mapping[str, int]
    where: str


KnownProportions = Mapping[Any, float] | CountedLabels | Literal["labels"]
"""Class -> share or count; the labels of another table; or "labels": the given ones were drawn at random."""


def shares_of(
    known: KnownProportions, classes: Sequence[Any], given: np.ndarray, option: str = OPTION
) -> tuple[np.ndarray, list[str]]:
    """The share of each class.

    Parameters
    ----------
    known : KnownProportions
        A mapping names every class; one may be left out if the others are shares of 1, and gets the rest.
    classes : sequence, length C
        Those that have a label.
    given : ndarray of int, shape (C,)
        Labels of each class.
    option : str
        The name of the option in messages.

    Returns
    -------
    shares : ndarray of float64, shape (C,)
        Of sum 1.
    notes : list of str
        What the user should know, one sentence each.

    Raises
    ------
    UsageError
        A class without a label or named twice, one that is not named, or numbers that cannot be shares.
    """
    if known == "labels":
        return given / given.sum(), []
    if isinstance(known, CountedLabels):
        return _counted(known, classes)
    if isinstance(known, str):
        raise UsageError(f"{option} {known!r}: give shares of the classes, or 'labels'")
    values: dict[int, float] = {}
    for name, value in known.items():
        place = _place(classes, name)
        if place is None:
            raise UsageError(f"{option}: no label is of the class {name!r}; {_suggestion(classes, str(name))}")
        if place in values:
            raise UsageError(f"{option}: the class {name!r} is named twice; name it once")
        number = float(value)
        if not (math.isfinite(number) and number >= 0):
            raise UsageError(f"{option}: the share of {name!r} is {value}; give a number of at least 0")
        values[place] = number
    absent = [c for c in range(len(classes)) if c not in values]
    total = math.fsum(values.values())
    if len(absent) == 1 and total <= 1 + 1e-9:
        values[absent[0]] = max(0.0, 1 - total)
        total = math.fsum(values.values())
    elif len(absent) == 1:
        raise UsageError(
            f"{option} leaves {_named(classes, absent)} out, which gets the rest of 1 (or of 100%), "
            f"and the others are {total:g} together; name every class"
        )
    elif absent:
        raise UsageError(f"{option} leaves {_named(classes, absent)} out; name every class but one, or all")
    if total <= 0:
        raise UsageError(f"{option}: all shares are 0; give at least one class a share")
    notes = []
    if max(values.values()) < 1 and abs(total - 1) > ROUNDED:  # else they are counts
        notes.append(f"the shares of {option} are {100 * total:.3g}% together: each is divided by that")
    return np.array([values[c] for c in range(len(classes))]) / total, notes


def _counted(known: CountedLabels, classes: Sequence[Any]) -> tuple[np.ndarray, list[str]]:
    counts, others = np.zeros(len(classes)), 0
    for name, count in known.counts.items():
        place = _place(classes, name)
        if place is None:
            others += count
        else:
            counts[place] += count
    if not counts.any():
        raise UsageError(
            f"{known.where} has no label of any class in this table, so it says nothing about their shares"
        )
    notes = []
    if others:
        notes.append(
            f"{others:,} of {others + int(counts.sum()):,} labels of {known.where} belong to classes that have no "
            f"label here; they are not counted"
        )
    if absent := np.flatnonzero(counts == 0).tolist():
        notes.append(f"{known.where} has no label of {_named(classes, absent)}, so no cell is filled with it")
    return counts / counts.sum(), notes


def _place(classes: Sequence[Any], name: Any) -> int | None:
    for spell in (lambda value: value, str, lambda value: normalize(str(value))):
        for c, other in enumerate(classes):
            if spell(other) == spell(name):
                return c
    return None


def _named(classes: Sequence[Any], places: Sequence[int]) -> str:
    """The classes at `places`, or how many they are where messages show no cells."""
    if values_shown():
        return some([repr(classes[c]) for c in places], 5)
    return "one class" if len(places) == 1 else f"{len(places)} classes"


def _suggestion(classes: Sequence[Any], name: str) -> str:
    near = nearest([str(c) for c in classes], name)
    if not values_shown():
        return f"there are {len(classes)} others" if near is None else "did you mean another spelling?"
    if near is not None:
        return f"did you mean {near!r}?"
    return f"there are {some([repr(str(c)) for c in classes], 10)}"
