"""Phrases that several messages share."""

from __future__ import annotations

from collections.abc import Sequence


def some(names: Sequence[str], limit: int) -> str:
    """The first `limit` names, and how many there are besides: "a, b and 3 more"."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
