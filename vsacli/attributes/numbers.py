"""Numbers as people write them in cells: 1,234.50, 45%, (12), <1, $5, 3 kg, 1e-05, 2,5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.digits import with_ascii_digits
from vsacli.tables.distinct import Distinct, distinct_cells, trimmed

# No Unicode classes and no counted repetition of them: RE2 would take 30 ms to compile the pattern instead of 0.5.
_CURRENCY = (
    r"(?:(?:US|CA|AU|NZ|HK|R|C|A)?[$€£¥₹₽₩₺₫฿₴₪¢]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL|Rs\.?)"
)
# One or two words that do not start with punctuation and hold no digit but a last 2 or 3: kg, °C, km/h, m2, fl oz.
_UNIT = r"[^\s\d.,:;()<>+\-/\\|_=~&@!?*][^\s\d()]*[23]?(?: [^\s\d()]+)?"
_GROUPED = {
    ".": r"[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}|[1-9]\d{0,2}(?:[ '’]\d{3})+",
    ",": r"[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{0,2}(?:[ '’]\d{3})+",
}
_MAX_LENGTH = 40
_MAIN_UNIT_SHARE = 0.98  # of the cells with a unit; those with another are words
_FEW_CELLS = 12
_BLOCK = 1 << 20  # cells read together: what is computed on the way takes no more room in a larger table
_MAX_BOUND_SHARE = 0.5

FACTORS = {"%": 1e-2, "‰": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
"""Signs after a number that multiply it, if a column carries no other unit."""

WITH_FACTORS = "*"
"""The unit of a column whose numbers carry only `FACTORS`."""


def _pattern(decimal: str) -> str:
    mark = "\\" + decimal
    number = rf"(?:{_GROUPED[decimal]}|\d+)(?:{mark}\d*)?|{mark}\d+"
    return (
        r"^(?P<open>\(?)\s*(?:<=|>=|[<>≤≥~≈=±])?\s*(?P<sign>[-+]?)\s*"
        rf"(?:{_CURRENCY})?\s*(?P<sign2>[-+]?)(?P<number>{number})(?P<exponent>(?:[eE][-+]?\d+)?)"
        rf"\s*(?P<unit>(?:{_UNIT})?)\s*(?P<close>\)?)(?P<tail>[-+]?)$"
    )


_PATTERNS = {decimal: _pattern(decimal) for decimal in (".", ",")}
_PLAIN = {
    ".": r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$",
    ",": r"^[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?$",
}
_FEET = (  # 5'11", 5 ft 11 in
    r"^(?P<feet>\d\d?)\s*(?:['′’]|ft\.?|feet)\s*(?P<inches>(?:\d|1[01])(?:\.\d+)?)"
    r"""\s*(?:["″”]|''|′′|’’|in\.?|inches)?$"""
)
_INFINITY = r"(?i)^(?P<sign>[-+]?)(?:inf|infinity|∞)$"


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of one column are written.

    Attributes
    ----------
    decimal : "." or ","
        Decimal mark; the other one groups thousands.
    unit : str
        The unit that numbers may carry, "" for none, `WITH_FACTORS` for the signs in `FACTORS`.
    """

    decimal: str = "."
    unit: str = ""


def plain_numbers(text: pa.Array, decimal: str) -> np.ndarray | None:
    """Read a column of plain numbers and empty cells at once; None if any cell is something else.

    Parameters
    ----------
    text : pa.Array of large_string, length n
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
        return to_float64(pc.if_else(pc.equal(text, ""), _null(text), text).cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def set_plain_apart(text: pa.Array, decimal: str) -> tuple[np.ndarray, Distinct]:
    """Read the plain numbers of a column, and collect the other cells.

    In a column of a million numbers with some "?" among them, only the "?" is looked at closely.

    Returns
    -------
    plain : ndarray of float64, shape (n,), NaN where the cell is not a plain number.
    rest : Distinct
        The other cells; the plain ones are missing there.
    """
    plain, rest = np.full(len(text), np.nan), []
    for start in range(0, len(text), _BLOCK):
        block = text.slice(start, _BLOCK)
        bare = trimmed(block)
        is_plain = pc.match_substring_regex(bare, _PLAIN[decimal])
        if pc.any(is_plain).as_py():
            numbers = plain_numbers(pc.if_else(is_plain, bare, _null(bare)), decimal)
            assert numbers is not None  # what _PLAIN matches casts
            plain[start : start + _BLOCK] = numbers
            block = pc.if_else(is_plain, _null(bare), bare)
        rest.append(block)
    return plain, distinct_cells(pa.chunked_array(rest, text.type))


def to_float64(numbers: pa.Array) -> np.ndarray:
    """Arrow numbers (or booleans) to float64 with NaN for null; integers beyond 2^53 are rounded."""
    if not pa.types.is_float64(numbers.type):
        numbers = numbers.cast(pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def read_numbers(cells: Distinct, decimal: str, n_plain: int = 0) -> tuple[NumberStyle, np.ndarray]:
    """Choose the decimal mark and the unit under which most cells of a column are numbers, and read them.

    The mark of the file (`decimal`) wins ties: in a file with decimal points a column is read with decimal commas
    only if more of its cells are numbers that way ("2,5" is none with a point, "2,500" is one). Where most cells are
    bounds (<20, 65+), the sign is what they say: those are classes, and no cell is read as a number.

    Parameters
    ----------
    cells : Distinct
        Cells that are not plain numbers; `n_plain` more are.

    Returns
    -------
    style : NumberStyle
    numbers : ndarray of float64, shape (k,), NaN where a distinct cell is not a number.
    """
    best, numbers, most = NumberStyle(decimal), np.full(len(cells.values), np.nan), -1
    if not pc.any(pc.match_substring_regex(cells.values, "(?i)\\p{Nd}|inf|∞")).as_py():
        return best, numbers
    for mark in (decimal, "." if decimal == "," else ","):
        bare, units = _split(cells.values, mark)
        unit = _main_unit(cells, units)
        found = bare * _unit_factor(units, unit)
        count = int(cells.counts[~np.isnan(found)].sum())
        if count > most:
            best, numbers, most = NumberStyle(mark, unit), found, count
        if count == cells.n_observed:
            break
    bounds = pc.match_substring_regex(cells.values, "^[<>≤≥]|[+]$").to_numpy(zero_copy_only=False)
    if cells.counts[bounds].sum() > _MAX_BOUND_SHARE * (most + n_plain):
        return best, np.full(len(cells.values), np.nan)
    return best, numbers


def parse_numbers(values: pa.Array, style: NumberStyle) -> np.ndarray:
    """Read distinct cells as numbers.

    (12) and 12- are -12; <1, >5, ~5 and 65+ are the number beside the sign; 45% is 0.45; digits of other scripts
    are digits; 5'11" is 71.
    1_000 and 0x1F are words.

    Parameters
    ----------
    values : pa.Array of large_string, length k
    style : NumberStyle

    Returns
    -------
    ndarray of float64, shape (k,), NaN where the cell is not a number.
    """
    bare, units = _split(values, style.decimal)
    return bare * _unit_factor(units, style.unit)


def _split(values: pa.Array, decimal: str) -> tuple[np.ndarray, pa.Array]:
    """Read cells as bare numbers, float64 (k,), and units, large_string (k,): "" for none, null for no number."""
    values = pc.if_else(pc.greater(pc.utf8_length(values), _MAX_LENGTH), pa.scalar("", values.type), values)
    if pc.all(pc.string_is_ascii(values)).as_py() is False:
        values = pc.replace_substring(pc.utf8_normalize(values, form="NFKC"), "−", "-")
        values = with_ascii_digits(values, decimal)
    parts = pc.extract_regex(values, _PATTERNS[decimal])
    digits = pc.replace_substring_regex(pc.struct_field(parts, "number"), "[,'’ ]" if decimal == "." else "[.'’ ]", "")
    if decimal == ",":
        digits = pc.replace_substring(digits, ",", ".")
    digits = pc.binary_join_element_wise(digits, pc.struct_field(parts, "exponent"), pa.scalar("", digits.type))
    numbers = to_float64(digits.cast(pa.float64())).copy()

    opened = _is_filled(parts, "open")
    negative = opened
    for sign in ("sign", "sign2", "tail"):
        negative = negative ^ _mask(pc.equal(pc.struct_field(parts, sign), "-"))
    numbers[negative] *= -1
    two_signs = _is_filled(parts, "sign") & _is_filled(parts, "sign2")
    numbers[two_signs | (opened != _is_filled(parts, "close"))] = np.nan

    _read_feet(values, numbers)
    infinite = pc.struct_field(pc.extract_regex(values, _INFINITY), "sign")
    is_infinite = infinite.is_valid().to_numpy(zero_copy_only=False)
    numbers[is_infinite] = np.where(_mask(pc.equal(infinite, "-")), -np.inf, np.inf)[is_infinite]
    units = pc.struct_field(parts, "unit")
    unitless = is_infinite | (~np.isnan(numbers) & ~units.is_valid().to_numpy(zero_copy_only=False))
    return numbers, pc.if_else(pa.array(unitless), pa.scalar("", units.type), units)


def _read_feet(values: pa.Array, numbers: np.ndarray) -> None:
    """Put heights such as 5'11", in inches, among the numbers (k,)."""
    if not pc.any(pc.match_substring_regex(values, "^\\d\\d?\\s*(?:['′’]|ft|feet)")).as_py():
        return
    parts = pc.extract_regex(values, _FEET)
    feet, inches = (to_float64(pc.struct_field(parts, part).cast(pa.float64())) for part in ("feet", "inches"))
    found = ~np.isnan(feet)
    numbers[found] = 12 * feet[found] + inches[found]


def _null(text: pa.Array) -> pa.Scalar:
    return pa.scalar(None, text.type)


def _mask(booleans: pa.Array) -> np.ndarray:
    return booleans.fill_null(False).to_numpy(zero_copy_only=False)


def _is_filled(parts: pa.Array, field: str) -> np.ndarray:
    return _mask(pc.not_equal(pc.struct_field(parts, field), ""))


def _unit_key(unit: str) -> str:
    """Merge spellings of a unit: kg, Kg, kgs and kg. are one."""
    key = unit.casefold().rstrip(".")
    return key[:-1] if len(key) > 1 and key.endswith("s") else key


def _main_unit(cells: Distinct, units: pa.Array) -> str:
    encoded = units.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    spelled = encoded.dictionary.to_pylist()
    counts = np.bincount(codes + 1, weights=cells.counts, minlength=len(spelled) + 1)[1:]
    seen = {unit: count for unit, count in zip(spelled, counts, strict=True) if unit}
    if not seen:
        return ""
    if seen.keys() <= FACTORS.keys():
        return WITH_FACTORS
    by_key: dict[str, float] = {}
    for unit in sorted(seen):
        by_key[_unit_key(unit)] = by_key.get(_unit_key(unit), 0.0) + seen[unit]
    if len(by_key) > 1 and len(cells.values) <= _FEW_CELLS:
        return ""  # 1st, 2nd, 3rd; 1Story, 1.5Fin: names, whatever their shares
    main = max(by_key, key=by_key.__getitem__)
    return main if by_key[main] >= _MAIN_UNIT_SHARE * sum(by_key.values()) else ""


def _unit_factor(units: pa.Array, unit: str) -> np.ndarray:
    """What each number is multiplied by, float64 (k,): NaN where it carries a unit that is not the column's."""
    encoded = units.dictionary_encode()
    factors = []
    for spelled in encoded.dictionary.to_pylist():
        if unit == WITH_FACTORS:
            factors.append(FACTORS.get(spelled, np.nan) if spelled else 1.0)
        else:
            factors.append(1.0 if not spelled or _unit_key(spelled) == unit else np.nan)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*factors, np.nan])[codes]
