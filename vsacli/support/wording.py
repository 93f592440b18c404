"""Phrases that several messages share."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence


def some(names: Sequence[str], limit: int) -> str:
    """The first `limit` names, and how many there are besides: "a, b and 3 more"."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def number_of(number: int, one: str, many: str = "") -> str:
    """How many there are: "1 row", "2,000 rows", "2 families"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, as people write it: "17,500" and "0.00123", not "1.75e+04"."""
    if not math.isfinite(value) or value == 0 or not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def nearest(names: Sequence[str], name: str) -> str | None:
    """The one of some names that `name` may be a misspelling of."""
    folded = {known.casefold().strip(): known for known in names}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
