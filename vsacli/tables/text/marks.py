"""Marks that say how a text is stored: byte order marks, and the names of delimiters. Needs no NumPy."""

from __future__ import annotations

import codecs

BYTE_ORDER_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

DELIMITER_NAMES = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "space"}
DELIMITERS = {**{name: mark for mark, name in DELIMITER_NAMES.items()}, "\\t": "\t"}
"""Delimiters by what `--delimiter` may call them."""


def byte_order_mark(data: bytes | bytearray) -> tuple[bytes, str] | None:
    """The byte order mark that a text begins with, and the codec of what follows it."""
    return next(((mark, codec) for mark, codec in BYTE_ORDER_MARKS if data.startswith(mark)), None)
