"""Which cells of a label column are missing labels.

A cell is a missing label when it is

1. empty, or white space alone (a Parquet null, and NaN in a column of floats, likewise); or
2. one of :data:`PANDAS_TOKENS`, the tokens that ``pandas.read_csv`` reads as missing, unless ``default_na`` is off; or
3. one of the tokens that the user names.

Tokens are compared exactly (``NA`` is one, ``na`` is not), after surrounding white space is taken off, and a token is
missing in all its cells or in none.

One exception keeps a region called NA: the token ``NA`` is a class when the column says "missing" in another way (it
has empty cells, and no other token of the list) and every other label is a code like it: at least two different ones,
one to five capital letters each, and not just answers (YES, NO, TRUE, ...). ``--na NA`` takes it as missing after all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from vsacli.tables.blank_tokens import PANDAS_TOKENS, SPACES

_CODE = re.compile(r"[A-Z]{1,5}")
_ANSWERS = frozenset({"YES", "NO", "Y", "N", "TRUE", "FALSE", "T", "F"})


def normalize(text: str) -> str:
    """The form in which labels and tokens are compared: no surrounding white space, composed Unicode (NFC)."""
    return unicodedata.normalize("NFC", text.strip(SPACES))


def missing_labels(
    labels: Iterable[str], *, na: Iterable[str] = (), default_na: bool = True, nulls: bool = False
) -> tuple[set[str], list[str]]:
    """Decide which of the distinct labels of a column mean "missing".

    Parameters
    ----------
    labels
        The distinct normalised labels (see :func:`normalize`), in order of first appearance.
    na
        Further tokens that the user names as missing.
    default_na
        False: only the empty label and ``na`` are missing.
    nulls
        The column has nulls as well (Parquet), which counts as having empty cells.

    Returns
    -------
    missing
        The labels that are missing marks.
    notes
        What the user should know about a doubtful token, one line each.
    """
    present = list(labels)
    named = {normalize(token) for token in na}
    tokens = {"", *named} | (PANDAS_TOKENS if default_na else frozenset())
    missing = tokens.intersection(present)
    notes: list[str] = []
    blank = nulls or "" in missing

    by_default = missing - named - {""}
    if blank and by_default == {"NA"} and _are_codes([label for label in present if label not in missing]):
        missing.discard("NA")
        notes.append("'NA' is taken as a class: missing labels are empty here and the other labels are codes like it")
    elif blank and len(by_default) == 1:
        (token,) = by_default
        notes.append(f"{token!r} is taken as missing, as empty cells are; if it is a class, use --no-default-na")
    return missing, notes


def _are_codes(others: list[str]) -> bool:
    return len(others) >= 2 and all(_CODE.fullmatch(label) for label in others) and not _ANSWERS.issuperset(others)
