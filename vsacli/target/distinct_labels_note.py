"""Labels that hardly repeat: allowed as classes (some tables have one label of each), but often not meant as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

SHARE = 0.8
"""Share of different labels among all from which they hardly repeat ..."""

FEWEST = 3
"""... if there are as many at least ..."""

FEWEST_CLASSES = 5
"""... or as many that differ all, where they could as well be the names of classes (oak, ash; A1, A2)."""

SHORT = 24
"""Characters of half of the labels up to which several words are a name (New York), not a text."""

_ADDRESS = r"^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?:/\d{1,3})?$"
_NO_WAY = (
    "labels that differ in each row cannot be learned from the other columns: check --target, or give coarser labels"
)
_ADVICE = {
    "dates": "to estimate dates between them, give numbers instead, such as days or years",
    "times": "to estimate times between them, give numbers instead, such as minutes",
    "network addresses": _NO_WAY,
    "codes": _NO_WAY,
    "texts": "no new text is written: give short labels that repeat",
    "words": "give similar rows the same label",
}


def note_on_different(keys: Sequence[str], counts: np.ndarray, kind: pa.DataType) -> str | None:
    """A note on labels that hardly repeat: what becomes of them, and what to do instead; None if they repeat.

    Parameters
    ----------
    keys
        The distinct labels as text, without white space around them; not all of them quantities.
    counts : int64 (k,)
        How many cells have each.
    kind
        Type of the column.
    """
    k, n = len(keys), int(counts.sum())
    if k < FEWEST or k < SHARE * n:
        return None
    what = _what(keys, kind)
    if what in ("codes", "words") and (k < FEWEST_CLASSES or k < n):
        return None
    how = "all different" if k == n else f"nearly all different ({k} of {n})"
    return (
        f"the labels are {what}, {how}: each is a class of its own, so a filled label repeats one of them; "
        f"{_ADVICE[what]}, or use --task classification if classes are meant"
    )


def _what(keys: Sequence[str], kind: pa.DataType) -> str:
    import pyarrow as pa
    import pyarrow.compute as pc

    from vsacli.attributes.column_kinds import is_free_text, is_hexadecimal
    from vsacli.attributes.dates import clock_seconds, looks_like_date
    from vsacli.tables.distinct import Distinct

    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "dates"
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return "times"
    values = pa.array(keys, pa.large_string())

    def mostly(marks: np.ndarray) -> bool:
        return bool(marks.mean() >= SHARE)

    def match(pattern: str) -> np.ndarray:
        return pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)

    if mostly(match(_ADDRESS)):  # before times: an address may also have colons
        return "network addresses"
    if mostly(looks_like_date(values)):
        return "dates"
    if mostly(~np.isnan(clock_seconds(values))):
        return "times"
    each_once = Distinct(values, np.arange(len(keys), dtype=np.int32), np.ones(len(keys), np.int64))
    long = float(np.median(pc.utf8_length(values).to_numpy())) > SHORT
    if long and not is_hexadecimal(values) and is_free_text(each_once):
        return "texts"
    return "codes" if mostly(match(r"\d")) else "words"
