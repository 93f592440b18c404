"""Labels that are probably not labels: errors of spreadsheets, words for "not known", numbers that stand for "missing".

None of them is replaced unless asked for: a cell that is not empty stays as it is. Errors of spreadsheets, and numbers
that stand for "missing" among the numbers of a regression, are not learned from either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_WORDS = frozenset(
    {
        *("?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "...", "…", "*", "**", "***", "_", "x.x", "\\n"),
        *("na", "n.a.", "n.a", "n/a", "n\\a", "n.d.", "n.d", "nd", "n/d", "s/d", "none", "null", "nil", "nan", "nv"),
        *("n.v.", "k.a.", "k. a.", "k.a", "keine angabe", "н/д", "нет данных", "b.d.", "dk", "d/k"),
        *("missing", "unknown", "unspecified", "undefined", "undef", "unassigned", "unlabeled", "unlabelled"),
        *("not known", "not available", "not applicable", "not specified", "not stated", "not reported"),
        *("not recorded", "not provided", "not given", "not set", "no data", "nodata", "no answer", "no response"),
        *("refused", "refuse to answer", "prefer not to say", "prefer not to answer", "declined", "don't know"),
        *("dont know", "don’t know", "do not know", "tbd", "t.b.d.", "tba", "tbc", "to be determined", "todo", "to do"),
        *("pending", "blank", "empty", "leer", "vide", "unbekannt", "inconnu", "desconocido", "sin dato", "sin datos"),
        *("不明", "未知", "无", "なし", "不详", "空", "없음", "알 수 없음"),
    }
)
_BRACKETED = re.compile(
    r"[(<\[{]\s*(?:blank|empty|null|none|nil|na|n/a|missing|unknown|leer|vide|no data|not set)\s*[)>\]}]"
)
_SPREADSHEET = re.compile(r"#[^\s#]{1,12}[!?]|#N/?A|#NV|Err:5\d\d", re.IGNORECASE)
_CODE = re.compile(r"-[789]|-?(?:9{2,}|9+[78]|8{2,}|7{2,})|-?(?:3276[78]|214748364[78])")

_FEWEST = 4
"""Fewest different other numbers for judging whether a number is far from them."""

_FAR = 100.0
"""How many times the range of all others a number must lie outside of it to be excluded, whatever it is."""

_MANY = 8
"""Fewest different other numbers for judging that."""

_MOST = 3
"""Most different numbers that stand for "missing" for one and the same column."""


def is_spreadsheet_error(label: str) -> bool:
    """Whether a label is what a spreadsheet shows where a formula fails: ``#VALUE!``, ``#REF!``, ``#NAME?``."""
    return _SPREADSHEET.fullmatch(label) is not None


def looks_missing(label: str) -> bool:
    """Whether a label is a word or sign that often stands for "missing"."""
    folded = label.casefold()
    return folded in _WORDS or bool(_BRACKETED.fullmatch(folded)) or is_spreadsheet_error(label)


def is_missing_code(number: float) -> bool:
    """Whether a number is one of those that often stand for "missing": -9, -99, 999, 9998, -32768."""
    return float(number).is_integer() and _CODE.fullmatch(f"{number:.0f}") is not None


def far_numbers(values: Sequence[float] | np.ndarray, least: int = _FEWEST) -> np.ndarray:
    """Mark the distinct numbers that do not belong to the others, bool (k,).

    Numbers that often stand for "missing" are, if they have another sign than all others, or lie farther away than
    those reach; any number, if it lies `_FAR` times farther away.
    """
    values = np.asarray(values, dtype=np.float64)
    far = np.zeros(len(values), bool)
    finite = np.isfinite(values)
    codes = np.array([ok and is_missing_code(value) for value, ok in zip(values, finite, strict=True)], bool)
    others = values[finite & ~codes]
    if len(others) < least:
        return far
    for i in np.flatnonzero(codes):
        gap, reach = _outside(float(values[i]), others)
        times = 3 if 0 < values[i] < 100 else 1  # 77 is also a common number
        far[i] = gap > 0 and (gap > times * reach or (values[i] < 0 <= others.min()))
    for _ in range(_MOST):
        rest = np.flatnonzero(finite & ~far)
        if len(rest) <= _MANY:
            break
        ends = rest[[values[rest].argmin(), values[rest].argmax()]]
        gaps = [_outside(float(values[i]), values[rest[rest != i]]) for i in ends]
        outside = [i for i, (gap, reach) in zip(ends, gaps, strict=True) if gap > _FAR * reach > 0]
        if not outside:
            break
        far[outside] = True
    return far if 0 < far.sum() <= _MOST else np.zeros(len(values), bool)


def _outside(value: float, others: np.ndarray) -> tuple[float, float]:
    """How far a number is outside the range of the others, and how far these reach; halved, so that none overflows."""
    low, high = float(others.min()), float(others.max())
    return max(low / 2 - value / 2, value / 2 - high / 2, 0.0), high / 2 - low / 2
