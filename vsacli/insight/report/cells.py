"""Contents of people's cells made safe for a page: no markup, nothing endless, no text that reverses a line."""

from __future__ import annotations

import html
import unicodedata
from typing import Any

LONGEST = 60
_JOINERS = "\u200c\u200d"  # parts of words in Persian and Hindi, and of emoji


def shown(value: Any, longest: int = LONGEST) -> str:
    """One line of text: what cannot be seen is spelled out, and what is long is cut (not yet escaped)."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _plain(value)
    head = text[: 2 * longest]
    clean = "".join(_visible(c) for c in " ".join(head.split()))
    return clean if len(clean) <= longest and len(head) == len(text) else clean[: longest - 1] + "…"


def escaped(text: str) -> str:
    """For HTML and SVG, between tags or inside of quotes."""
    return html.escape(text, quote=True)


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return format(value, ".6g") if isinstance(value, float) else str(value)


def _visible(c: str) -> str:
    category = unicodedata.category(c)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and c not in _JOINERS:
        return c.encode("unicode_escape", "surrogatepass").decode()
    return c
