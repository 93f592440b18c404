"""The target column of all parts in one pass: the cells with a label, and how many are blank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError
from vsacli.labeling.parts.folder import Part
from vsacli.tables.distinct import blank

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Survey:
    """What the target column holds. Blank cells (null, empty, white space) are counted; all others are kept.

    Attributes
    ----------
    cells : pa.Array, length k or k + 1
        In the order of the parts and rows; a null at the end stands for the blank cells, if there are any.
    places : ndarray of int64, shape (k,)
        Row of each kept cell, counted over all parts.
    blanks : int
    first_rows : ndarray of int64, shape (parts + 1,)
        Row of the table at which each part begins.
    """

    cells: pa.Array
    places: np.ndarray
    blanks: int
    first_rows: np.ndarray
    parts: Sequence[Part] = field(default_factory=list)

    def where(self, cell: int) -> str:
        """The place of a kept cell, for messages."""
        place = int(self.places[cell]) if cell < len(self.places) else 0
        p = int(np.searchsorted(self.first_rows, place, side="right")) - 1
        return f"row {place - int(self.first_rows[p]) + 1} of {self.parts[p].path}"


def first_rows(parts: Sequence[Part]) -> np.ndarray:
    """Row of the whole table at which each part begins, and the number of rows, int64 (parts + 1,)."""
    return np.concatenate([[0], np.cumsum([part.n_rows for part in parts], dtype=np.int64)])


def survey_target(parts: Sequence[Part], column: int, name: str) -> Survey:
    """Read one column of every part, a part at a time.

    Raises
    ------
    DataError
        A column that cannot hold labels, labels of several types, or damaged data; names the part.
    """
    import pyarrow as pa

    from vsacli.tables.arrow_types import is_text, plain

    starts = first_rows(parts)
    kept: list[pa.Array] = []
    places: list[np.ndarray] = []
    blanks = 0
    kind: pa.DataType = pa.null()
    working, categorical, first = kind, False, ""
    for part, start in zip(parts, starts[:-1], strict=True):
        cells, this, category = plain(part.open().column(column), name)
        if pa.types.is_null(kind):
            kind, working, categorical, first = this, cells.type, category, part.path
        elif this != kind and not pa.types.is_null(this) and not (is_text(this) and is_text(kind)):
            raise DataError(
                f"{part.path}: the labels {name!r} are {this}, and in {first} {kind}; write them in one type, "
                f"so that all are spelled alike"
            )
        rows = np.flatnonzero(~blank(cells))
        blanks += len(cells) - len(rows)
        kept.append(cells.take(pa.array(rows)))
        places.append(rows + start)
    if blanks:
        kept.append(pa.nulls(1, working))
    kept = [cells.cast(working) for cells in kept]
    if not pa.types.is_string_view(kind):  # which Arrow cannot filter; text is spelled as the part has it anyway
        kept = [cells.cast(kind) for cells in kept]
    cells = pa.concat_arrays(kept)
    if categorical:
        cells = cells.dictionary_encode()
    return Survey(cells, np.concatenate(places), blanks, starts, parts)
