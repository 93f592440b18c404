"""Numbers as people write them in cells: 1,234.50, 45%, (12), <1, $5, 3 kg, 1e-05, 2,5, 5'11", ١٢.

Understood are a sign before or after, or parentheses for negative numbers; digits of any script with an optional
decimal mark (``.`` or ``,``) and exponent; thousands (or lakhs) set apart by the other mark, a space or an apostrophe;
a currency before, or a currency, ``%``, ``‰`` or a unit after; a sign of a limit or a guess (``<0.05``, ``65+``,
``~5``); feet and inches; and infinity. ``1_000`` and ``0x1F`` are words.

Columns of attributes are read by :mod:`vsacli.attributes.numbers`, which needs values alone; labels by
:mod:`vsacli.target.written_number`, which keeps how each is written. They differ in what makes the numbers of a column
comparable, not in what a number is.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# RE2 is ten times as slow with a pattern of more than 500 instructions, and takes 30 ms to compile one with Unicode
# classes or (?i): hence one class for all spaces, no Unicode character that is excluded, and every unit in one branch.
CURRENCY = (
    r"(?:(?:US|CA|AU|NZ|HK|R|C|A)?[$€£¥₹₽₩₺₫฿₴₪¢]"
    r"|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|zł|kr|Rs\.?)"
)
_SPACES = " \t\u00a0\u2009\u202f"
_SPACE = f"[{_SPACES}]"
# One or two words that do not start with punctuation, do not end in a sign, and hold no digit but a last 2 or 3:
# kg, °C, km/h, m2, fl oz.
_WORD = r"""(?:[^\s\d()'"]*[^\s\d()'"+\-])"""
_UNIT = rf"""[^\s\d.,:;()<>+\-/\\|_=~&@!?*'"#]{_WORD}?[23]?(?: {_WORD})?"""
_MAX_LENGTH = 40  # of a cell that is more than digits and their marks

FACTORS = {"%": 1e-2, "‰": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
"""Signs after a number that multiply it, if a column carries no other unit."""

_SIGNS = ("sign", "sign2", "tail", "open", "inner", "end", "close")
_INFINITY = r"^(?P<sign>[-+]?)(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|∞)$"
_DIGITS_ALONE = r"^[-+\d.,eE]*$"


def _pattern(decimal: str) -> str:
    mark, comma = re.escape(decimal), r"\." if decimal == "," else ","
    grouped = rf"[1-9]\d{{0,2}}(?:(?:{comma}\d{{2,3}})*{comma}\d{{3}}|(?:[{_SPACES}'’]\d{{3}})+)"
    number = rf"(?:{grouped}|\d+)(?:{mark}\d*)?|{mark}\d+"
    return (
        rf"^(?P<open>\(?){_SPACE}*(?P<bound>(?:<=|>=|[<>≤≥~≈=±])?){_SPACE}*(?P<sign>[-+]?){_SPACE}*"
        rf"(?P<prefix>(?:{CURRENCY}{_SPACE}*)?)(?P<inner>\(?)(?P<sign2>[-+]?)"
        rf"(?P<number>{number})(?P<exponent>(?:[eE][-+]?\d+)?)"
        rf"(?P<end>\)?)(?P<suffix>(?:{_SPACE}*{_UNIT})?){_SPACE}*(?P<close>\)?)(?P<tail>[-+]?)$"
    )


def _feet_pattern(decimal: str) -> str:
    return (
        rf"^(?P<feet>\d\d?)(?P<mark>{_SPACE}*(?:['′’]|ft\.?|feet){_SPACE}*)"
        rf"(?P<inches>(?:0?\d|1[01])(?:{re.escape(decimal)}\d+)?)"
        rf"""(?P<end>{_SPACE}*(?:["″”]|''|′′|’’|in\.?|inches)?)$"""
    )


_PATTERNS = {decimal: _pattern(decimal) for decimal in (".", ",")}
_FEET = {decimal: _feet_pattern(decimal) for decimal in (".", ",")}


@dataclass(frozen=True)
class ParsedNumbers:
    """Cells read as numbers.

    Attributes
    ----------
    values : ndarray of float64, shape (k,)
        As written, without the factor of a unit: 45% is 45; 5'11" is 71. NaN where the cell is not a number.
    units : pa.Array of large_string, length k
        What follows each number: ``kg``, ``%``, ``€``; "" if nothing does, null where the cell is not a number.
    parts, feet : pa.StructArray, length k
        The parts of each cell as the grammar names them; null where it is not of that form.
    """

    values: np.ndarray
    units: pa.Array
    parts: pa.StructArray
    feet: pa.StructArray

    @property
    def limits(self) -> np.ndarray:
        """bool (k,): a sign says that the number is a limit: <20, 65+."""
        below_or_above = pa.array(["<", ">", "≤", "≥", "<=", ">="], pa.large_string())
        bound, tail = (pc.struct_field(self.parts, name) for name in ("bound", "tail"))
        return _mask(pc.is_in(bound, below_or_above)) | _mask(pc.equal(tail, "+"))


def parse(cells: pa.Array, decimal: str) -> ParsedNumbers:
    """Read cells, without surrounding white space and with ASCII digits, as numbers; a real minus (−) is a hyphen.

    Parameters
    ----------
    cells : pa.Array of large_string, length k
        See :func:`vsacli.tables.numbers.digits.with_ascii_digits`.
    decimal : "." or ","
    """
    if not pc.all(pc.string_is_ascii(cells)).as_py():
        cells = pc.replace_substring(cells, "−", "-")
    long = pc.greater(pc.utf8_length(cells), _MAX_LENGTH)
    if pc.any(long).as_py():
        words = pc.and_not(long, pc.match_substring_regex(cells, _DIGITS_ALONE))
        cells = pc.if_else(words, pa.scalar("", cells.type), cells)
    parts = pc.extract_regex(cells, _PATTERNS[decimal])
    digits = pc.replace_substring_regex(pc.struct_field(parts, "number"), rf"[^\d{re.escape(decimal)}]", "")
    digits = pc.replace_substring(digits, ",", ".")
    digits = pc.binary_join_element_wise(digits, pc.struct_field(parts, "exponent"), pa.scalar("", digits.type))
    values = _floats(digits)

    filled = {name: _mask(pc.not_equal(pc.struct_field(parts, name), "")) for name in _SIGNS}
    bracket = filled["open"] | filled["inner"]
    limit = _mask(pc.equal(pc.struct_field(parts, "tail"), "+"))
    signs = sum(mask.astype(np.int8) for mask in (filled["sign"], filled["sign2"], filled["tail"] & ~limit, bracket))
    closed = filled["end"].astype(np.int8) + filled["close"]
    values[(signs > 1) | (filled["open"] & filled["inner"]) | (closed != bracket)] = np.nan
    minus = [_mask(pc.equal(pc.struct_field(parts, name), "-")) for name in ("sign", "sign2", "tail")]
    values[np.logical_or.reduce([bracket, *minus])] *= -1

    feet = pc.extract_regex(cells, _FEET[decimal])
    inches = pc.replace_substring(pc.struct_field(feet, "inches"), ",", ".")
    tall = 12 * _floats(pc.struct_field(feet, "feet")) + _floats(inches)
    values = np.where(np.isnan(tall), values, tall)
    infinite = pc.struct_field(pc.extract_regex(cells, _INFINITY), "sign")
    is_infinite = _mask(infinite.is_valid())
    values[is_infinite] = np.where(_mask(pc.equal(infinite, "-")), -np.inf, np.inf)[is_infinite]
    units = pc.fill_null(pc.utf8_ltrim(pc.struct_field(parts, "suffix"), characters=_SPACES), "")
    units = pc.if_else(pa.array(np.isnan(values)), pa.scalar(None, units.type), units)
    return ParsedNumbers(values, units, parts, feet)


def unit_key(unit: str) -> str:
    """One spelling of a unit: kg, Kg, kgs, kg. and ㎏ are the same; M and m are not."""
    key = unicodedata.normalize("NFKC", unit).rstrip(".")
    return key.casefold().removesuffix("s") if len(key) > 1 else key


def _floats(digits: pa.Array) -> np.ndarray:
    return digits.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()


def _mask(booleans: pa.Array) -> np.ndarray:
    return booleans.fill_null(False).to_numpy(zero_copy_only=False)
