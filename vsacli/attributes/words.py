"""The words of the rows of a table: a sparse matrix (n, V) of tf-idf weights, columns of text side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Words: TypeAlias = Any
"""A `scipy.sparse.csr_matrix` of float32, (n, V): what the stubs know of it depends on its shape and type."""


def no_words(rows: int, words: int = 0) -> Words:
    """Rows without any word, (rows, words)."""
    from scipy import sparse

    return sparse.csr_matrix((rows, words)).astype(np.float32)


def by_code(per_value: Words, codes: np.ndarray) -> Words:
    """The words of each cell, of distinct values (k, V) and the value in each cell; -1: it is empty."""
    from scipy import sparse

    return sparse.vstack([per_value, no_words(1, per_value.shape[1])], format="csr")[codes]


def have_words(words: Words) -> np.ndarray:
    """Which rows have a word, bool (n,)."""
    return words.getnnz(axis=1) > 0


def rows_of(words: Words | None, rows: np.ndarray) -> Words | None:
    """The words of some rows, if there are any."""
    return None if words is None else words[rows]


def side_by_side(columns: Sequence[Words] | None) -> Words | None:
    """The words of several columns as one matrix; None if no column has any."""
    if not columns or not any(part.shape[1] for part in columns):
        return None
    from scipy import sparse

    return sparse.hstack(columns, format="csr")


def stacked(labeled: Words | None, others: Words | None, more: int = 0) -> Words | None:
    """The words of labeled rows, of others, and of `more` rows for which they do not matter, as those of one table."""
    if labeled is None or others is None:
        return None
    from scipy import sparse

    return sparse.vstack([labeled, others, no_words(more, labeled.shape[1])], format="csr")
