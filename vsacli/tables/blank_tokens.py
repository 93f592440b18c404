"""What a cell without a value may hold: the tokens that pandas reads as missing, and white space."""

from __future__ import annotations

PANDAS_TOKENS = frozenset(
    {"#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "n/a", "NULL", "null", "None"}
    | {"NaN", "nan", "-NaN", "-nan", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"}
)
"""What ``pandas.read_csv`` reads as missing besides the empty cell."""

SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)
"""White space, and the zero-width characters that look like none at all."""
