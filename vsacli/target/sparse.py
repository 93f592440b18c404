"""The label column of a large table without the many cells that hold nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.target.column import Target, Task


def read_sparse_target(
    column: pa.Array,
    *,
    task: Task,
    na: Iterable[str],
    default_na: bool,
    decimal: str,
    name: str,
    where: Callable[[int], str],
    headers: Sequence[int] = (),
) -> Target:
    """`read_target` of a column that is mostly blank, in little more memory than the answer takes.

    Of the blank cells only the first is read; nothing depends on the others but their count.

    Raises
    ------
    DataError
        As `read_target`.
    """
    import pyarrow as pa

    from vsacli.tables.arrow_types import plain
    from vsacli.tables.distinct import blank
    from vsacli.target.column import read_target

    cells, kind, categorical = plain(column, name)
    empty = blank(cells)
    blanks = int(empty.sum())
    keep = ~empty
    if blanks:
        keep[int(empty.argmax())] = True
    rows = np.flatnonzero(keep)
    kept = cells.take(pa.array(rows)).cast(kind)
    if categorical:
        kept = kept.dictionary_encode()

    def understand(these: pa.Array, place: Callable[[int], str], heads: Sequence[int]) -> Target:
        return read_target(
            these, task=task, na=na, default_na=default_na, decimal=decimal, name=name, where=place, headers=heads
        )

    try:
        target = understand(kept, lambda i: where(int(rows[i])), np.flatnonzero(np.isin(rows, headers)).tolist())
    except DataError:
        return understand(column, where, headers)  # for its message, which counts rows
    missing = empty
    missing[rows] = target.missing
    tokens = dict(target.missing_tokens)
    if blanks:
        tokens[""] = blanks
    codes = np.broadcast_to(np.int64(-1), len(cells))
    numbers = np.broadcast_to(np.float64("nan"), len(cells))
    if target.kind == "classification":
        codes = codes.copy()
        codes[rows] = target.codes
    else:
        numbers = numbers.copy()
        numbers[rows] = target.numbers
    ignored = target.ignored
    if ignored is not None:
        ignored = np.zeros(len(cells), bool)
        ignored[rows] = target.ignored
    return replace(target, missing=missing, missing_tokens=tokens, codes=codes, numbers=numbers, ignored=ignored)
