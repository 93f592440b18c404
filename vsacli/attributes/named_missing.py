"""Cells of a column that a person knows to be missing, such as -99: `--na COL=TOKEN`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.arrow_types import is_text, spelled
from vsacli.tables.blank_tokens import SPACES


def split_tokens(columns: Sequence[str], na: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Tokens of the target alone, and those of a column, by its name: `TOKEN` and `COL=TOKEN`.

    A token with an equals sign is one of the target if no column has the name before any such sign; if a name stands
    there, :class:`vsacli.prepare.Columns` refuses it.
    """
    plain: list[str] = []
    named: dict[str, list[str]] = {}
    for text in na:
        cuts = [i for i, c in enumerate(text) if c == "=" and text[:i] in columns]
        if cuts:
            named.setdefault(text[: cuts[-1]], []).append(text[cuts[-1] + 1 :])
        else:
            plain.append(text)
    return plain, named


def without_tokens(cells: pa.Array, tokens: Sequence[str]) -> pa.Array:
    """The cells, of which those with one of these contents are empty (text) or null.

    Contents compare exactly, after white space around them is taken off; numbers as they would be written (-99).
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    held = pc.utf8_trim(spelled(cells).cast(pa.large_string()), SPACES)
    found = pc.is_in(held, value_set=pa.array([token.strip(SPACES) for token in tokens], pa.large_string()))
    return pc.if_else(found, pa.scalar("" if is_text(cells.type) else None, cells.type), cells)
