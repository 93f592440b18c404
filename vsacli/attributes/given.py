"""Whether a cell is filled, as an attribute of its own: a refund is given only if something was refunded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vsacli.attributes.column_encoders import ColumnEncoder
from vsacli.tables.arrow_types import is_text

LEAST_SHARE = 0.01
"""Share of the rows that must be filled, and share that must be empty, for the difference to become an attribute ..."""

LEAST_ROWS = 2
"""... and so many rows at least."""


@dataclass
class GivenEncoder:
    """What another encoder gives of a column, and one more attribute: 1 where anything is observed, else 0."""

    inner: ColumnEncoder

    @property
    def names(self) -> list[str]:
        return [*self.inner.names, "is given"]

    def encode(self, column: pa.Array) -> np.ndarray:
        return with_given(self.inner.encode(column))


@dataclass
class OnlyGivenEncoder:
    """Of a column that says nothing else (an id, one date): 1 where a cell is filled, else 0."""

    @property
    def names(self) -> list[str]:
        return ["is given"]

    def encode(self, column: pa.Array) -> np.ndarray:
        return filled_cells(column).astype(np.float32)[:, None]


def filled_cells(column: pa.Array) -> NDArray[np.bool_]:
    """Which cells of a column hold anything but white space, bool (n,)."""
    filled = column.is_valid()
    if is_text(column.type):
        filled = pc.and_(filled, pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False))
    return filled.to_numpy(zero_copy_only=False)


def with_given(encoded: np.ndarray) -> np.ndarray:
    """Attributes (n, m) of a column, and whether each row has any of them observed, as (n, m + 1)."""
    return np.concatenate([encoded, given_rows(encoded).astype(np.float32)[:, None]], axis=1)


def given_rows(encoded: np.ndarray) -> NDArray[np.bool_]:
    """Rows of attributes (n, m) of which any is observed, bool (n,)."""
    return np.asarray(np.isfinite(encoded).any(axis=1))


class GivenPatterns:
    """The patterns of filled and empty cells met so far: columns filled in the same rows share one attribute."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def is_new(self, given: np.ndarray) -> bool:
        """Whether a pattern, bool (n,), has enough rows of either kind and was not met, nor was its opposite.

        A pattern for which this is true counts as met from then on.
        """
        filled = int(given.sum())
        if min(filled, len(given) - filled) < max(LEAST_ROWS, LEAST_SHARE * len(given)):
            return False
        key = np.packbits(given == given[0]).tobytes()  # the same for the opposite pattern
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
