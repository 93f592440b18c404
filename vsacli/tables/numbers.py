"""Numbers as people write them in cells: 1,234.50, 45%, (12), <1, $5, 3 kg, 1e-05, 2,5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.distinct import Distinct

_CURRENCY = r"(?:(?:US|CA|AU|NZ|HK|R|C|A)?\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|Rs\.?)"
# A unit starts with a letter or sign and may go on with digits (m2) and slashes (km/h): at most 15 characters.
_UNIT = r"[\p{L}%‰°µ\p{Sc}\"'#][\p{L}\p{N}%°µ/·.^]{0,14}"
_GROUPED = {
    ".": r"[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}|[1-9]\d{0,2}(?:[ '’]\d{3})+",
    ",": r"[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{0,2}(?:[ '’]\d{3})+",
}
_MULTIPLIERS = {"%": 1e-2, "‰": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
_MAIN_UNIT_SHARE = 0.9


def _pattern(decimal: str) -> str:
    mark = "\\" + decimal
    number = rf"(?:{_GROUPED[decimal]}|\d+)(?:{mark}\d*)?|{mark}\d+"
    return (
        r"^(?P<open>\(?)\s*(?:<=|>=|[<>≤≥~≈=±])?\s*(?P<sign>[-+]?)\s*"
        rf"(?:{_CURRENCY})?\s*(?P<sign2>[-+]?)(?P<number>{number})(?P<exponent>(?:[eE][-+]?\d+)?)"
        rf"\s*(?P<unit>(?:{_UNIT})?)\s*(?P<close>\)?)(?P<tail>-?)$"
    )


_PATTERNS = {decimal: _pattern(decimal) for decimal in (".", ",")}
_INFINITY = r"(?i)^(?P<sign>[-+]?)(?:inf|infinity|∞)$"


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of one column are written.

    Attributes
    ----------
    decimal : "." or ","
        Decimal mark; the other one groups thousands.
    unit : str
        The unit that numbers may carry ("" for none, "*" for the factors %, k, M, B, which are applied).
    """

    decimal: str = "."
    unit: str = ""


def plain_numbers(text: pa.Array, decimal: str) -> np.ndarray | None:
    """Read a column of plain numbers and empty cells at once; None if any cell is something else.

    Parameters
    ----------
    text : pa.Array of strings, length n
    decimal : "." or ","

    Returns
    -------
    ndarray of float64, shape (n,), NaN where empty, or None.
    """
    if decimal == ",":
        if pc.any(pc.match_substring(text, ".")).as_py():
            return None  # a point may be a decimal mark or group thousands: decided over the whole column
        text = pc.replace_substring(text, ",", ".")
    try:
        numbers = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return to_float64(numbers)


def to_float64(numbers: pa.Array) -> np.ndarray:
    """Arrow numbers (or booleans) to float64 with NaN for null; integers beyond 2^53 are rounded."""
    if not pa.types.is_float64(numbers.type):
        numbers = numbers.cast(pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def number_style(cells: Distinct, decimal: str) -> NumberStyle:
    """Choose the decimal mark and the unit under which most cells of a column are numbers.

    The mark of the file (`decimal`) wins ties: a column in a file with decimal points is read with decimal commas
    only if more of its cells are numbers that way ("2,5" is none with a point, "2,500" is one).
    """
    best, most = NumberStyle(decimal), -1
    for mark in (decimal, "." if decimal == "," else ","):
        style = NumberStyle(mark, _unit(cells, mark))
        found = int(cells.counts[~np.isnan(parse_numbers(cells.values, style))].sum())
        if found > most:
            best, most = style, found
    return best


def parse_numbers(values: pa.Array, style: NumberStyle) -> np.ndarray:
    """Read distinct cells as numbers.

    (12) and 12- are -12; <1, >5 and ~5 are the number after the sign; 45% is 0.45; full-width digits are digits.
    1_000 and 0x1F are words.

    Parameters
    ----------
    values : pa.Array of large_string, length k
    style : NumberStyle

    Returns
    -------
    ndarray of float64, shape (k,), NaN where the cell is not a number.
    """
    values = _normalized(values)
    parts = pc.extract_regex(values, _PATTERNS[style.decimal])
    number = pc.struct_field(parts, "number")
    group = r"[,'’ ]" if style.decimal == "." else r"[.'’ ]"
    number = pc.replace_substring_regex(number, group, "")
    if style.decimal == ",":
        number = pc.replace_substring(number, ",", ".")
    number = pc.binary_join_element_wise(number, pc.struct_field(parts, "exponent"), pa.scalar("", number.type))
    result = to_float64(number.cast(pa.float64()))

    opened = _filled(parts, "open")
    negative = opened | (_filled(parts, "tail"))
    for sign in ("sign", "sign2"):
        negative ^= pc.equal(pc.struct_field(parts, sign), "-").fill_null(False).to_numpy(zero_copy_only=False)
    result = np.where(negative, -result, result)
    result[opened != _filled(parts, "close")] = np.nan

    units = pc.struct_field(parts, "unit")
    result *= _unit_factor(units, style.unit)
    infinite = pc.extract_regex(values, _INFINITY)
    sign = pc.struct_field(infinite, "sign")
    is_infinite = sign.is_valid().to_numpy(zero_copy_only=False)
    if is_infinite.any():
        minus = pc.equal(sign, "-").fill_null(False).to_numpy(zero_copy_only=False)
        result[is_infinite] = np.where(minus, -np.inf, np.inf)[is_infinite]
    return result


def _normalized(values: pa.Array) -> pa.Array:
    if pc.all(pc.string_is_ascii(values)).as_py() is False:
        values = pc.replace_substring(pc.utf8_normalize(values, form="NFKC"), "−", "-")
    return values


def _filled(parts: pa.Array, field: str) -> np.ndarray:
    return pc.not_equal(pc.struct_field(parts, field), "").fill_null(False).to_numpy(zero_copy_only=False)


def _unit_key(units: pa.Array) -> pa.Array:
    """Unite spellings of a unit: kg, Kg, kgs, kg. are one."""
    return pc.replace_substring_regex(pc.utf8_lower(units), r"^(.+?)s?\.?$", r"\1")


def _unit(cells: Distinct, decimal: str) -> str:
    parts = pc.extract_regex(_normalized(cells.values), _PATTERNS[decimal])
    spelled = Distinct(cells.values, cells.codes, cells.counts).merged(pc.struct_field(parts, "unit"))
    seen = [(unit, int(count)) for unit, count in zip(spelled.values.to_pylist(), spelled.counts, strict=True) if unit]
    if not seen:
        return ""
    if {unit for unit, _ in seen} <= _MULTIPLIERS.keys():
        return "*"
    keyed = spelled.merged(_unit_key(spelled.values))
    counts = {u: int(c) for u, c in zip(keyed.values.to_pylist(), keyed.counts, strict=True) if u}
    main = max(sorted(counts), key=counts.__getitem__)
    return main if counts[main] >= _MAIN_UNIT_SHARE * sum(counts.values()) else ""


def _unit_factor(units: pa.Array, unit: str) -> np.ndarray:
    """1 where a cell has the column's unit or none, NaN where another; the factors themselves for "*"."""
    encoded = units.dictionary_encode()
    spelled = encoded.dictionary.to_pylist()
    keys = _unit_key(encoded.dictionary).to_pylist()
    if unit == "*":
        factors = [1.0 if not u else _MULTIPLIERS.get(u, np.nan) for u in spelled]
    else:
        factors = [1.0 if not u or key == unit else np.nan for u, key in zip(spelled, keys, strict=True)]
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(np.array(factors, dtype=np.float64), np.nan)[codes]
