"""Numbers for rows and attributes that depend on contents alone: what makes a choice random but not arbitrary.

    x (n, M) --> a signature for each attribute (M,) --> a hash for each row (n,) --> an order of the rows

Attributes that hold the same values in another order of rows have the same signature, and rows the
same hash in another order of attributes. So a sample of rows, or the signs of a view, come out the
same however a table is sorted, and differ with the seed as if drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vsacli.attributes.packed import CompactAttributes
from vsacli.attributes.words import Words

Attributes = np.ndarray | CompactAttributes

_STEP = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 18  # rows hashed together: what is computed on the way takes no more room in a larger table


def attribute_signatures(x: Attributes) -> np.ndarray:
    """A number for each attribute that does not depend on the order of rows or attributes.

    Two rounds, as in colour refinement of graphs: of its values alone, then of its values and what
    else their rows hold, since two-valued attributes are often equal in the first.

    Parameters
    ----------
    x : ndarray of float32, or CompactAttributes, shape (n, M)

    Returns
    -------
    ndarray of uint64, shape (M,)
    """
    first, second = np.zeros((2, x.shape[1]), np.uint64)
    with np.errstate(over="ignore"):
        for block in _blocks(len(x)):
            for j, column in enumerate(_columns(x, block)):
                first[j] += _mix(_bits(column) + np.uint64(1)).sum(dtype=np.uint64)
        salts = _mix(first)
        for block in _blocks(len(x)):
            rows = _sum_of_mixed(_columns(x, block), salts, block.stop - block.start)
            for j, column in enumerate(_columns(x, block)):
                second[j] += _mix(_bits(column) ^ rows).sum(dtype=np.uint64)
    return second


def row_hashes(x: Attributes, signatures: np.ndarray, seed: int, rows: np.ndarray | None = None) -> np.ndarray:
    """A number for each row that does not depend on the order of attributes.

    Parameters
    ----------
    x : ndarray of float32, or CompactAttributes, shape (n, M)
    signatures : ndarray of uint64, shape (M,)
        From :func:`attribute_signatures`, of ``x`` or of a larger table that it is part of.
    seed : int
    rows : ndarray of int, shape (k,), optional
        Only these rows; ``x[rows]`` is never formed as a whole.

    Returns
    -------
    ndarray of uint64, shape (n,) or (k,)
    """
    with np.errstate(over="ignore"):
        return _mix(_combined(x, _mix(signatures + _seeded(seed)), rows))


def row_order(
    x: Attributes,
    signatures: np.ndarray,
    seed: int,
    y: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """An order of the rows that looks random and does not depend on the one they have.

    Rows of one hash are ordered by their contents and by ``y``, if given, one entry per row.

    Returns
    -------
    ndarray of int64, shape (n,), or (k,): positions in ``rows``
    """
    keys = (exact_hashes(x, rows), row_hashes(x, signatures, seed, rows))
    return np.lexsort(keys if y is None else (y, *keys))


def reading_order(
    x: Attributes, signatures: np.ndarray, seed: int, rows: np.ndarray, beside: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The order of :func:`row_order`, in which identical rows stand together, and where they begin.

    Parameters
    ----------
    x, signatures, seed, rows
        As for `row_order`.
    beside : ndarray of uint64, shape (n,), optional
        Hashes of what else rows hold: only those of equal ones can be identical.

    Returns
    -------
    order : ndarray of uint32 or int64, shape (k,)
        Positions in ``rows``.
    first : ndarray of bool, shape (k,)
        In that order: the first of each group of identical rows.
    """
    exact = exact_hashes(x, rows)
    if beside is not None:
        exact ^= beside[rows]
    order = np.lexsort((exact, row_hashes(x, signatures, seed, rows)))
    first = np.ones(len(rows), bool)
    for block in _blocks(len(rows) - 1):
        first[1:][block] = exact[order[1:][block]] != exact[order[:-1][block]]
    return order.astype(np.uint32) if len(rows) < 1 << 32 else order, first


def distinct_rows(x: Attributes, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """First of each group of identical rows, and for each row the position of its group in that list."""
    _, first, back = np.unique(exact_hashes(x, rows), return_index=True, return_inverse=True)
    return first, back


def signs(signatures: np.ndarray, views: int, seed: int) -> np.ndarray:
    """Signs of the attributes in each view: all 1 in the first, random ones in the others.

    Returns
    -------
    ndarray of float32, shape (views, M)
    """
    out = np.ones((views, len(signatures)), np.float32)
    with np.errstate(over="ignore"):
        for v in range(1, views):
            bits = _mix(signatures ^ _seeded(seed, v)) >> np.uint64(63)
            out[v] = 1 - 2 * bits.astype(np.float32)
    return out


def attribute_groups(signatures: np.ndarray, most: int, size: int, seed: int) -> list[np.ndarray]:
    """Attributes in the order in which they are read; more than ``most`` are dealt at random into groups of ``size``.

    Parameters
    ----------
    signatures : ndarray of uint64, shape (M,)
        As :func:`attribute_signatures` gives them.
    most : int
        So many are one group.
    size : int
        Of a group, about: they all have the same, or one more.
    seed : int

    Returns
    -------
    list of ndarray of int64
        Positions; each attribute is in one group.
    """
    order = np.argsort(signatures, kind="stable")
    if len(order) <= most:
        return [order]
    n = round(len(order) / size)
    dealt = np.argsort(_mix(signatures[order] ^ _seeded(seed)), kind="stable")
    return [order[np.sort(dealt[i::n])] for i in range(n)]


def _seeded(seed: int, number: int = 0) -> np.uint64:
    return _mix(np.array([(seed + (number + 1) * int(_STEP)) & (1 << 64) - 1], np.uint64))[0]


def _combined(x: Attributes, salts: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Sum over attributes of the mixed (value, salt), uint64, one for each of the rows."""
    h = np.empty(len(x) if rows is None else len(rows), np.uint64)
    for block in _blocks(len(h)):
        columns = _columns(x, block) if rows is None else _taken(x, rows[block])
        h[block] = _sum_of_mixed(columns, salts, block.stop - block.start)
    return h


def _sum_of_mixed(columns: Iterator[np.ndarray], salts: np.ndarray, n: int) -> np.ndarray:
    h = np.zeros(n, np.uint64)
    with np.errstate(over="ignore"):
        for column, salt in zip(columns, salts, strict=True):
            h += _mix(_bits(column) ^ salt)
    return h


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(n, start + _BLOCK))


def _columns(x: Attributes, block: slice) -> Iterator[np.ndarray]:
    """Attribute after attribute of consecutive rows."""
    if isinstance(x, CompactAttributes):
        return x.parts(block.start, block.stop)
    return iter(x[block].T)


def _taken(x: Attributes, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Attribute after attribute of some rows."""
    if isinstance(x, CompactAttributes):
        return iter(x.take(rows).T)
    return (column[rows] for column in x.T)


def exact_hashes(x: Attributes, rows: np.ndarray | None = None) -> np.ndarray:
    """A number for each row, different for different rows, uint64."""
    with np.errstate(over="ignore"):
        return _combined(x, _mix(_STEP * (np.arange(x.shape[1], dtype=np.uint64) + np.uint64(1))), rows)


def word_hashes(words: Words) -> np.ndarray:
    """A number for the words (n, V) of each row, different for different ones, uint64 (n,)."""
    weights = words.data.astype(np.float32).view(np.uint32).astype(np.uint64)
    each = _mix(_mix(words.indices.astype(np.uint64) + np.uint64(1)) ^ weights)
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    with np.errstate(over="ignore"):
        return ends[words.indptr[1:]] - ends[words.indptr[:-1]]


def _mix(h: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: a bijection of uint64 that scatters."""
    with np.errstate(over="ignore"):
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return h ^ (h >> np.uint64(31))


def _bits(column: np.ndarray) -> np.ndarray:
    """float32 bits as uint64, one pattern for all zeros and one for all NaNs."""
    clean = np.where(np.isnan(column), np.float32(np.nan), column + np.float32(0))
    return np.ascontiguousarray(clean).view(np.uint32).astype(np.uint64)
