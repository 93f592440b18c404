"""What an earlier run added to a table: columns beside the labels, which show the labels that it filled in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.tables.table import Table
    from vsacli.target.column import Target

REASON = "added by an earlier run of vsa"


def added_columns(columns: Sequence[str], target: str) -> list[int]:
    """The places of columns that `--confidence` and `--proba` added for `target`."""
    name = re.compile(rf"{re.escape(target)}_(?:(?:confidence|std)(?:_\d+)?|proba_.+)", re.DOTALL)
    return [j for j, column in enumerate(columns) if name.fullmatch(column)]


def filled_earlier(table: Table, target: str) -> np.ndarray | None:
    """Which labels an earlier run filled in, bool (n,), by the confidences beside them; None if that is unknown."""
    if any(re.fullmatch(rf"{re.escape(target)}_guess(_\d+)?", column, re.DOTALL) for column in table.columns):
        return None  # rows that were written to be labeled: their confidences are those of the guesses
    for suffix in ("confidence", "std"):
        places = [j for j, column in enumerate(table.columns) if column == f"{target}_{suffix}"]
        if len(places) == 1:
            beside = numbers_or_blank(table.column(places[0]))
            if beside is not None and 0 < beside.sum() < len(beside):
                return beside
    return None


def without(cells: pa.Array, filled: np.ndarray) -> pa.Array:
    """Label cells without those that an earlier run filled in."""
    import pyarrow as pa

    return cells.take(pa.array(np.arange(len(cells)), mask=filled))


def keep(target: Target, cells: pa.Array, filled: np.ndarray) -> Target:
    """A target that was read `without` the labels of an earlier run, so that these are neither filled nor given."""
    from vsacli.tables.arrow_types import plain
    from vsacli.tables.distinct import blank

    kept = filled & ~blank(plain(cells, target.name)[0])
    if not kept.any():
        return target
    n = int(kept.sum())
    tokens = {token: count - n * (token == "") for token, count in target.missing_tokens.items()}
    note = (
        f"{n:,} {'label was' if n == 1 else 'labels were'} filled by an earlier run, according to the column beside: "
        f"kept and not learned from; delete the column {target.name}_confidence or {target.name}_std to learn from them"
    )
    return replace(
        target,
        missing=target.missing & ~kept,
        missing_tokens={token: count for token, count in tokens.items() if count},
        ignored=kept if target.ignored is None else target.ignored | kept,
        notes=[*target.notes, note],
    )


def numbers_or_blank(cells: pa.Array) -> np.ndarray | None:
    """Which cells hold numbers, bool (n,); None if one is neither a number nor empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from vsacli.tables.distinct import trimmed

    try:
        if pa.types.is_large_string(cells.type):
            cells = trimmed(cells)
            cells = pc.replace_substring(cells, ",", ".")  # as in files with decimal commas
            cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, cells.type), cells)
        return cells.cast(pa.float64()).is_valid().to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
