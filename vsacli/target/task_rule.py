"""Classification or regression: the rule that ``--task auto`` follows.

With *n* labels given, *k* of them different, the task is a **classification** when

1. some label is not a number (but see below), or the column's type says so (booleans, dates, categories), or
2. all labels are the same, or
3. they look like codes: leading zeros (``007``) or more than 15 digits, or
4. they are whole numbers (``1``, ``1.0``) and
   - few and repeated: k ≤ 10 and n ≥ 2k, or k ≤ 20 and n ≥ 3k, but not neighbours; or
   - numbered through from 0 or 1 (``1, 2, 3``), k ≤ 20; or -1 and 1; or
5. they are other numbers, few and often repeated: k ≤ 10 and n ≥ 5k.

Otherwise it is a **regression**. Neighbours are at least five whole numbers that take half of the places in their
range, which ends above ten and does not begin at 0 or 1: ages from 37 to 45, not ratings, nor the codes 11, 12, 21, 22,
31. Where the other task is nearly as likely, the caller says so. A few words (at most a fifth of the labels, not
counting those that often stand for "missing") among numbers that make a regression by themselves are neither: the
caller reports them, since guessing would spoil either the words or the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vsacli.support.privacy import values_shown

_MOST_CODE_DIGITS = 15  # longer whole numbers are beyond what a double holds: ids, not quantities


@dataclass(frozen=True)
class Verdict:
    """The decision of the rule: the task and, in plain words, why."""

    kind: str  # "classification" | "regression" | "mixed"
    reason: str
    close: bool = False  # the other task is nearly as likely


def judge(values: ArrayLike, counts: ArrayLike, *, codes: bool = False, blanks: ArrayLike | None = None) -> Verdict:
    """Apply the rule to the distinct labels of a column.

    Parameters
    ----------
    values
        The number that each distinct label is; NaN if it is not one.
    counts
        How many cells have it.
    codes
        The labels are spelled like codes (see :func:`spelled_like_codes`).
    blanks
        Which distinct labels are words that often stand for "missing"; by default none.
    """
    value, count = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    n, n_kinds = int(count.sum()), len(value)
    wordy = np.isnan(value)
    if n_kinds == 1:
        return Verdict("classification", f"all {n} labels are the same" if n > 1 else "there is only one label")
    if wordy.all():
        return Verdict("classification", f"{n_kinds} distinct words")
    if wordy.any():
        words = int(count[wordy].sum())
        blank = 0 if blanks is None else int(count[np.asarray(blanks, bool) & wordy].sum())
        rest = judge(value[~wordy], count[~wordy], codes=codes)
        if rest.kind == "regression" and 5 * (words - blank) <= n - blank:
            return Verdict("mixed", f"{words} of {n} labels are words, the others {rest.reason}")
        return Verdict("classification", f"{n_kinds} distinct labels, some of them words")
    if codes:
        return Verdict("classification", f"{n_kinds} distinct codes")
    number = np.unique(value)
    k, repeats = len(number), n / len(number)
    if not (np.isfinite(number).all() and (number == np.rint(number)).all()):
        if k <= 10 and repeats >= 5:
            each = f"{n_kinds} distinct numbers, {n / n_kinds:.3g} labels each on average"
            return Verdict("classification", each, close=k > 3)
        return Verdict("regression", f"{k} distinct numbers with decimals")
    if (k <= 10 and repeats >= 2) or (k <= 20 and repeats >= 3):
        if _are_neighbours(number):
            return Verdict("regression", f"{k} whole numbers next to each other in {n} labels", close=True)
        each = f"{n_kinds} distinct whole numbers, {n / n_kinds:.3g} labels each on average"
        digits = number.tolist() == list(range(10))
        return Verdict("classification", each, close=not digits and (k >= 5 or (k >= 3 and number[-1] > 10)))
    numbered = k <= 20 and number[0] in (0, 1) and number[-1] - number[0] == k - 1
    if numbered or number.tolist() == [-1, 1]:
        which = f"from {number[0]:.0f} to {number[-1]:.0f}" if values_shown() else f"without a gap, {k} of them"
        return Verdict("classification", f"whole numbers {which}" if numbered else "the two numbers -1 and 1", k > 10)
    return Verdict("regression", f"{k} distinct whole numbers in {n} labels", close=k <= 20 and repeats >= 1.5)


def _are_neighbours(number: np.ndarray) -> bool:
    """Whether sorted whole numbers (k,) are close together as measurements are, and not small as ratings are."""
    span = number[-1] - number[0] + 1
    return len(number) >= 5 and number[-1] > 10 and number[0] not in (0, 1) and 2 * len(number) >= span


def spelled_like_codes(wholes: Sequence[str]) -> bool:
    """Whether whole numbers (their digits) look like codes: ``007``, or too long for a quantity."""
    padded = any(len(digits) > 1 and digits.startswith("0") for digits in wholes)
    return padded or any(len(digits) > _MOST_CODE_DIGITS for digits in wholes)
