"""The distinct spellings of a column of text.

Every decision about a text column is made on its distinct cells and how often each occurs, so a column of a
million cells with five words costs five words. Values are sorted, so nothing depends on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.blank_tokens import PANDAS_TOKENS, SPACES

_BLOCK = 1 << 20  # rows counted or looked at together


@dataclass
class Distinct:
    """A column of text as its distinct cells.

    Attributes
    ----------
    values : pa.Array of large_string, length k
        The distinct cells without surrounding white space, sorted by code point; missing tokens are not among them.
    codes : ndarray of int32, shape (n,)
        Index into `values` of every row, -1 where the cell is missing.
    counts : ndarray of int64, shape (k,)
        Rows that hold each value.
    """

    values: pa.Array
    codes: np.ndarray
    counts: np.ndarray

    @property
    def n_observed(self) -> int:
        return int(self.counts.sum())

    def merged(self, keys: pa.Array) -> Distinct:
        """Give every value a new spelling (null = missing) and merge those that are now spelled the same."""
        encoded = keys.dictionary_encode()
        old_to_new, values = _sorted_codes(encoded)
        codes = np.append(old_to_new, np.int32(-1))[self.codes]
        return Distinct(values, codes, _count(codes, len(values)))

    def take(self, per_value: np.ndarray) -> np.ndarray:
        """Spread float values given for each distinct cell, (k,) or (k, m), to the rows; NaN where missing."""
        missing = np.full((1, *per_value.shape[1:]), np.nan, dtype=per_value.dtype)
        return np.concatenate([per_value, missing])[self.codes]


def distinct_cells(text: pa.Array | pa.ChunkedArray) -> Distinct:
    """Collect the distinct cells of a column of strings; white space and `PANDAS_TOKENS` are missing."""
    encoded = text.dictionary_encode()
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]  # all with one dictionary
    spelled = trimmed(chunks[0].dictionary if chunks else pa.array([], text.type))
    missing = pc.is_in(spelled, value_set=pa.array(["", *sorted(PANDAS_TOKENS)], type=spelled.type))
    indices = np.concatenate([np.empty(0, np.int32), *(_indices(chunk) for chunk in chunks)])
    cells = Distinct(spelled, indices, np.empty(0))
    del encoded, chunks, indices  # as large as the column
    return cells.merged(pc.if_else(missing, pa.scalar(None, spelled.type), spelled))


def trimmed(text: pa.Array) -> pa.Array:
    """Take white space (zero-width characters too) off both ends of every cell, and ="..." as spreadsheets write it."""
    text = pc.utf8_trim(text, characters=SPACES)
    if pc.any(pc.starts_with(text, '="')).as_py():
        text = pc.replace_substring_regex(text, '^="(.*)"$', r"\1")
    return text


def _sorted_codes(encoded: pa.DictionaryArray) -> tuple[np.ndarray, pa.Array]:
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.full(len(order) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[_indices(encoded)], encoded.dictionary.take(pa.array(order))


def _indices(encoded: pa.DictionaryArray) -> np.ndarray:
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    return indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)


def _count(codes: np.ndarray, k: int) -> np.ndarray:
    counts = np.zeros(k + 1, np.int64)
    for start in range(0, len(codes), _BLOCK):  # bincount makes int64 of what it counts
        counts += np.bincount(codes[start : start + _BLOCK] + 1, minlength=k + 1)
    return counts[1:]


def blank(cells: pa.Array) -> np.ndarray:
    """Which cells, as `arrow_types.plain` gives them, hold nothing: null, or (text) white space alone; bool (n,)."""
    found = np.empty(len(cells), bool)
    for start in range(0, len(cells), _BLOCK):
        block = cells.slice(start, _BLOCK)
        empty = pc.is_null(block)
        if pa.types.is_large_string(cells.type):
            empty = pc.or_(empty, pc.fill_null(pc.equal(trimmed(block), ""), True))
        found[start : start + _BLOCK] = empty.to_numpy(zero_copy_only=False)
    return found
