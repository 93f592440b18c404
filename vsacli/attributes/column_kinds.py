"""The type of a column: rules that distinguish ids, booleans and free text from numbers and categories.

All rules look at the whole column and never at the order of its rows.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.support.privacy import values_shown
from vsacli.tables.distinct import Distinct

TRUE_WORDS = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE_WORDS = frozenset({"false", "f", "no", "n", "off", "0"})

NUMERIC_BLANKS = frozenset(
    {
        "?", "-", "--", "---", "–", "—", ".", "..", "...", "*", "na", "n.a.", "n/a", "n.d.", "nan", "none", "null",
        "nil", "missing", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!",
    }
)  # fmt: skip
"""Further tokens (compared without case) that are missing cells where the rest of the column is numbers."""

MIN_SEQUENCE = 8
"""Fewest rows at which integers 1, 2, 3, ... (or 0, 1, 2, ...) are taken for row numbers."""

MIN_SEQUENCE_ANYWHERE = 200
"""Fewest rows at which a sequence that starts at another integer is taken for row numbers."""

NEARLY_ALL = 0.95
"""Share of different values from which a column named as an id, or spelled as one, is one."""

PADDED = 6
"""Fewest digits of an id that is written with leading zeros; postal codes have five and say where something is."""

_ID_NAME = re.compile(
    r"(?:^|[^A-Za-z])(?:id|ids|uuid|guid|uid|index|idx|rowid|rownum|rownames|key|pk)$"
    r"|(?<=[a-z])(?:Id|ID|Key|Index)$|^id(?:[^A-Za-z]|$)|^unnamed: \d+$|^$|^row(?:[ _.-]?(?:number|num|no|nr|names))?$",
)
_ID_NAME_ANY_CASE = re.compile(_ID_NAME.pattern.replace(r"|(?<=[a-z])(?:Id|ID|Key|Index)$", ""), re.IGNORECASE)
_TEXTS_READ = 2_000
_HEXADECIMAL = r"(?i)^\{?(?:0x)?[0-9a-f]{4,}(?:-?[0-9a-f]{2,})*\}?$"
_WORDS = r"[\pL'’]{2,}[^\pL]+[\pL'’]{2,}"  # two words of letters, at least
_LONG_LETTERS = r"(?:\pL[^\pL]{0,2}){12,}"  # a stretch of letters: a URL, an address
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
"""A letter of a script that sets no spaces between words (a regular expression)."""

_UNSPACED_WORDS = rf"(?:{UNSPACED}[^\pL]*){{5,}}"  # more than a name


def says_id(name: str) -> bool:
    """Whether a column's name says that it is an id or a row number: id, user_id, PassengerId, Unnamed: 0."""
    name = name.strip()
    return bool(_ID_NAME.search(name) or _ID_NAME_ANY_CASE.search(name))


def id_reason_of_numbers(name: str, x: np.ndarray) -> str | None:
    """The reason why a column of numbers is an id, or None.

    Integers that are all different are an id if they are a sequence without a gap from 0 or 1 (at least
    `MIN_SEQUENCE` of them) or from anywhere (`MIN_SEQUENCE_ANYWHERE`), or if the column's name says so. Other numbers
    are measurements, even if all differ. The order of the rows plays no part.
    """
    x = x[~np.isnan(x)]
    n = len(x)
    if n < MIN_SEQUENCE or not np.isfinite(x).all():
        return None
    low, high = float(x.min()), float(x.max())
    sequence = high - low == n - 1 and (low in (0, 1) or n >= MIN_SEQUENCE_ANYWHERE)
    if not sequence and not says_id(name):
        return None
    if not bool(np.all(x == np.floor(x))):
        return None
    n_distinct = len(np.unique(x))
    if sequence and n_distinct == n:
        which = f"the integers {low:.0f} to {high:.0f}" if values_shown() else "integers without a gap"
        return f"an id: {which}, each once"
    if says_id(name) and n_distinct >= NEARLY_ALL * n:
        return f"an id: integers that differ in {n_distinct} of {n} rows"
    return None


def id_reason_of_long_numbers(x: np.ndarray, column: pa.Array) -> str | None:
    """The reason why integers too long for float64 are an id: beyond 2^53 and (nearly) all different."""
    observed = x[~np.isnan(x)]
    if len(observed) < MIN_SEQUENCE or not np.isfinite(observed).all() or np.abs(observed).min() < 2.0**53:
        return None
    if pa.types.is_floating(column.type):
        return None
    if pa.types.is_large_string(column.type) and pc.any(pc.match_substring_regex(column, r"[^0-9+-]")).as_py():
        return None
    n_distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if n_distinct >= NEARLY_ALL * len(observed):
        return f"an id: integers of {len(str(int(observed.min())))} digits or more, nearly all different"
    return None


def id_reason_of_padded_numbers(column: pa.Array) -> str | None:
    """The reason why a column of digits is an id, or None.

    All cells have equally many digits, at least `PADDED`; some begin with a zero, and (nearly) all differ.
    """
    if not pa.types.is_large_string(column.type):
        return None
    cells = column.filter(pc.not_equal(column, ""))
    n, lengths = len(cells), pc.utf8_length(cells)
    if n < MIN_SEQUENCE or pc.min(lengths).as_py() < PADDED or pc.count_distinct(lengths).as_py() > 1:
        return None
    if not pc.any(pc.starts_with(cells, "0")).as_py() or not pc.all(pc.ascii_is_decimal(cells)).as_py():
        return None
    if pc.count_distinct(cells).as_py() < NEARLY_ALL * n:
        return None
    return f"an id: {pc.min(lengths).as_py()} digits with leading zeros, nearly all different"


def id_reason_of_text(name: str, cells: Distinct, examples: list[str]) -> str | None:
    """The reason why a column of text is an id, or None.

    (Nearly) all cells differ and are not free text, or the column's name says id; or the cells are hexadecimal codes
    that mostly differ, such as UUIDs and hashes.
    """
    k, n = len(cells.values), cells.n_observed
    if k < 3 or 2 * k <= n:
        return None
    shown = ", ".join(examples)
    shown = f" ({shown if len(shown) <= 40 else shown[:39] + '…'}, …)" if values_shown() else ""
    if n >= MIN_SEQUENCE and is_hexadecimal(cells.values):
        return f"an id: hexadecimal codes, {k} different ones in {n} rows{shown}"
    free_text = is_free_text(cells)
    if k == n and not free_text:
        return f"an id: all {n} values differ{shown}"
    if k >= NEARLY_ALL * n and n >= MIN_SEQUENCE and (says_id(name) or not free_text):
        return f"an id: {k} different values in {n} rows{shown}"
    return None


def is_hexadecimal(values: pa.Array) -> bool:
    """Whether (nearly) all values are hexadecimal codes, such as UUIDs and hashes, and not a letter before a number."""
    matched = pc.and_(pc.match_substring_regex(values, _HEXADECIMAL), pc.match_substring_regex(values, r"[0-9]"))
    mixed = pc.match_substring_regex(values, r"[0-9].*[a-fA-F]")
    return bool(pc.mean(matched).as_py() >= NEARLY_ALL and pc.mean(mixed).as_py() >= 0.5)


def is_free_text(cells: Distinct) -> bool:
    """Distinguish text from codes: at least half of the distinct values hold two words or a long stretch of letters.

    Of many values, some `_TEXTS_READ` spread evenly over all of them in sorted order are read.
    """
    step = -(-len(cells.values) // _TEXTS_READ)
    values = pc.utf8_slice_codeunits(cells.values.take(pa.array(range(0, len(cells.values), step))), 0, 200)
    if is_hexadecimal(values):
        return False
    return bool(pc.mean(pc.match_substring_regex(values, f"{_WORDS}|{_LONG_LETTERS}|{_UNSPACED_WORDS}")).as_py() >= 0.5)


def boolean_numbers(values: pa.Array) -> np.ndarray | None:
    """Read distinct values as booleans, 0.0 and 1.0 (k,); None if one of them is neither a true nor a false word."""
    if len(values) > len(TRUE_WORDS) * 8:
        return None
    words = [v.casefold() for v in values.to_pylist()]
    if not all(w in TRUE_WORDS or w in FALSE_WORDS for w in words):
        return None
    return np.array([float(w in TRUE_WORDS) for w in words])


def numeric_blanks(values: pa.Array) -> np.ndarray:
    """Mark the distinct values that mean "missing" among numbers, bool (k,)."""
    return pc.is_in(pc.utf8_lower(values), value_set=pa.array(sorted(NUMERIC_BLANKS), values.type)).to_numpy(
        zero_copy_only=False
    )
