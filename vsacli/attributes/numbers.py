"""Columns of numbers: which decimal mark and unit a column has, and its values.

:mod:`vsacli.tables.numbers.notation` says what a number is, for attributes and labels alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.arrow_types import to_float64
from vsacli.tables.distinct import Distinct, distinct_cells, trimmed
from vsacli.tables.numbers.digits import with_ascii_digits
from vsacli.tables.numbers.notation import FACTORS, ParsedNumbers, parse, unit_key

_MAIN_UNIT_SHARE = 0.98  # of the cells with a unit; those with another are words
_FEW_CELLS = 12
_BLOCK = 1 << 20  # cells read together: what is computed on the way takes no more room in a larger table
_MAX_LIMIT_SHARE = 0.5

WITH_FACTORS = "*"
"""The unit of a column whose numbers carry only `FACTORS`."""

_PLAIN = {
    ".": r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$",
    ",": r"^[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?$",
}


@dataclass(frozen=True)
class NumberNotation:
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


def choose_notation(cells: Distinct, decimal: str, n_plain: int = 0) -> tuple[NumberNotation, np.ndarray]:
    """Choose the decimal mark and the unit under which most cells of a column are numbers, and read them.

    The mark of the file (`decimal`) wins ties: in a file with decimal points a column is read with decimal commas
    only if more of its cells are numbers that way ("2,5" is not a number with a point, "2,500" is one). If most cells
    are limits (<20, 65+), the sign carries the meaning: those are classes, and no cell is read as a number.

    Parameters
    ----------
    cells : Distinct
        Cells that are not plain numbers; `n_plain` more are.

    Returns
    -------
    notation : NumberNotation
    numbers : ndarray of float64, shape (k,), NaN where a distinct cell is not a number.
    """
    nothing = np.full(len(cells.values), np.nan)
    best, numbers, most, limits = NumberNotation(decimal), nothing, -1, np.zeros(len(nothing), bool)
    if not pc.any(pc.match_substring_regex(cells.values, "(?i)\\p{Nd}|inf|∞")).as_py():
        return best, numbers
    for mark in (decimal, "." if decimal == "," else ","):
        parsed = _parsed(cells.values, mark)
        unit = _main_unit(cells, parsed.units)
        found = parsed.values * _unit_factor(parsed.units, unit)
        count = int(cells.counts[~np.isnan(found)].sum())
        if count > most:
            best, numbers, most, limits = NumberNotation(mark, unit), found, count, parsed.limits
        if count == cells.n_observed:
            break
    if cells.counts[limits].sum() > _MAX_LIMIT_SHARE * (most + n_plain):
        return best, nothing
    return best, numbers


def parse_numbers(values: pa.Array, notation: NumberNotation) -> np.ndarray:
    """Read distinct cells as numbers, those with a unit of the column times its factor: 45% is 0.45.

    Parameters
    ----------
    values : pa.Array of large_string, length k
    notation : NumberNotation

    Returns
    -------
    ndarray of float64, shape (k,), NaN where the cell is not a number.
    """
    parsed = _parsed(values, notation.decimal)
    return parsed.values * _unit_factor(parsed.units, notation.unit)


def _parsed(values: pa.Array, decimal: str) -> ParsedNumbers:
    return parse(with_ascii_digits(values, decimal), decimal)


def _null(text: pa.Array) -> pa.Scalar:
    return pa.scalar(None, text.type)


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
        by_key[unit_key(unit)] = by_key.get(unit_key(unit), 0.0) + seen[unit]
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
            factors.append(1.0 if not spelled or unit_key(spelled) == unit else np.nan)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*factors, np.nan])[codes]
