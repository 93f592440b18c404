"""Phrases that several messages share."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def some(names: Sequence[str], limit: int) -> str:
    """The first `limit` names, and how many there are besides: "a, b and 3 more"."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def number_of(number: int, one: str, many: str = "") -> str:
    """How many there are: "1 row", "2,000 rows", "2 families"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def nearest(names: Sequence[str], name: str) -> str | None:
    """The one of some names that `name` may be a misspelling of."""
    folded = {known.casefold().strip(): known for known in names}
    found = difflib.get_close_matches(name.casefold().strip(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
