"""Digits and signs of other scripts (Arabic-Indic, Persian, Devanagari, full-width, ...), as ASCII."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_DECIMAL_MARKS = "٫．"
_GROUP_MARKS = "٬，"
_OTHER_SIGNS = str.maketrans("٪％؉（）＋－＜＞", "%%‰()+-<>")
_TO_SPELL = r"[^0-9\P{Nd}]|[٪％؉（）＋－＜＞]"


@dataclass(frozen=True)
class Script:
    """How a cell writes digits: its zero ("0" for ASCII), and its own marks ("" if it has none or uses ASCII)."""

    zero: str = "0"
    decimal: str = ""
    group: str = ""

    def write(self, text: str, decimal: str) -> str:
        """Spell an ASCII number, with the decimal mark `decimal`, in this script."""
        if self.zero == "0":
            return text
        group = "." if decimal == "," else ","
        table = {ord("0") + d: chr(ord(self.zero) + d) for d in range(10)}
        table |= {ord(decimal): self.decimal or decimal, ord(group): self.group or group}
        return text.translate(table)


ASCII = Script()


def to_ascii(text: str, decimal: str = ".") -> tuple[str, Script]:
    """Spell a cell's digits and their signs in ASCII; `decimal` is the decimal mark that ASCII numbers have."""
    if text.isascii():
        return text, ASCII
    text = text.translate(_OTHER_SIGNS)
    digit = next((c for c in text if c.isdecimal() and not c.isascii()), None)
    if digit is None:
        return text, ASCII
    own = [next((mark for mark in marks if mark in text), "") for marks in (_DECIMAL_MARKS, _GROUP_MARKS)]
    spelled = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    table = dict.fromkeys(map(ord, _DECIMAL_MARKS), decimal)
    table |= dict.fromkeys(map(ord, _GROUP_MARKS), "." if decimal == "," else ",")
    return spelled.translate(table), Script(chr(ord(digit) - unicodedata.decimal(digit)), *own)


def with_ascii_digits(values: pa.Array, decimal: str) -> pa.Array:
    """The values of a column of text, each with its digits in ASCII."""
    if not pc.any(pc.match_substring_regex(values, _TO_SPELL)).as_py():
        return values
    spelled = [None if value is None else to_ascii(value, decimal)[0] for value in values.to_pylist()]
    return pa.array(spelled, values.type)
