"""Attributes of a large table in a fraction of the memory.

Most attributes take few values: an indicator two, a rating ten, a price with two decimals some thousand. Such an
attribute is held as its distinct values and one or two bytes per row (an eighth of a byte, if there are two values).
Attributes of one column that take more values, but together few, as those of a text that occurs many times, share
one number per row. Others stay float32. What comes out are the same bits that went in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_BLOCK = 1 << 20  # rows looked at together
_MOST = 1 << 16  # values that two bytes tell apart


@dataclass(frozen=True)
class _Attribute:
    """One attribute: its distinct values as the bits of float32, and which of them each row has."""

    values: np.ndarray | None  # uint32 (k,); None: `codes` are the bits themselves
    codes: np.ndarray  # uint8, uint16 or uint32 (n,); bits of uint8 (n / 8,) if there are two values

    @classmethod
    def of(cls, bits: np.ndarray) -> _Attribute | None:
        """Pack an attribute, uint32 (n,); None if it takes too many values."""
        values = _few_values(bits)
        if values is None:
            return None
        if len(values) <= 2:
            return cls(values, np.packbits(bits != values[:1]))
        codes = np.empty(len(bits), np.uint8 if len(values) <= 256 else np.uint16)
        for start in range(0, len(bits), _BLOCK):
            codes[start : start + _BLOCK] = np.searchsorted(values, bits[start : start + _BLOCK])
        return cls(values, codes)

    def part(self, start: int, stop: int) -> np.ndarray:
        """The bits of consecutive rows."""
        if self.values is None:
            return self.codes[start:stop]
        if len(self.values) > 2:
            return self.values[self.codes[start:stop]]
        first = start // 8
        second = np.unpackbits(self.codes[first : -(-stop // 8)])[start - 8 * first : stop - 8 * first]
        return self.values[np.minimum(second, len(self.values) - 1)]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """The bits of some rows."""
        if self.values is None:
            return self.codes[rows]
        if len(self.values) > 2:
            return self.values[self.codes[rows]]
        second = (self.codes[rows >> 3] >> (7 - (rows & 7)).astype(np.uint8)) & 1
        return self.values[np.minimum(second, len(self.values) - 1)]


class CompactAttributes:
    """Attributes x (n, M), packed column by column; what `vsacli.inference.predict.predict` reads of an array.

    Attributes
    ----------
    shape : tuple of int
        (n, M)
    """

    def __init__(self, n_rows: int) -> None:
        self._attributes: list[_Attribute] = []
        self._n_rows = n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self._attributes)

    def __len__(self) -> int:
        return self._n_rows

    def append(self, part: np.ndarray) -> None:
        """Add the attributes of ``part``, float32 (n, m)."""
        bits = part.view(np.uint32)
        packed = [_Attribute.of(np.ascontiguousarray(column)) for column in bits.T]
        many = [j for j, attribute in enumerate(packed) if attribute is None]
        together = _together(bits, many) if len(many) > 1 else None
        for k, j in enumerate(many):
            packed[j] = _Attribute(None, bits[:, j].copy()) if together is None else together[k]
        self._attributes += [attribute for attribute in packed if attribute is not None]

    def parts(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Attribute after attribute of consecutive rows, float32 (stop - start,)."""
        for attribute in self._attributes:
            yield attribute.part(start, stop).view(np.float32)

    def take(self, rows: np.ndarray, attributes: np.ndarray | None = None) -> np.ndarray:
        """Some rows, with some attributes or all, float32 (rows, attributes)."""
        chosen = range(len(self._attributes)) if attributes is None else attributes
        out = np.empty((len(rows), len(chosen)), np.float32)
        for j, a in enumerate(chosen):
            out[:, j] = self._attributes[a].take(rows).view(np.float32)
        return out


def _few_values(bits: np.ndarray) -> np.ndarray | None:
    """The distinct values, sorted, if two bytes tell them apart."""
    values = np.empty(0, bits.dtype)
    for start in range(0, len(bits), _BLOCK):
        block = bits[start : start + _BLOCK]
        if len(values) <= 2:  # an indicator needs no sorting
            both = np.unique(block[:2]) if not len(values) else values
            if len(block) and bool(np.all((block == both[0]) | (block == both[-1]))):
                values = both
                continue
        values = np.union1d(values, block)
        if len(values) > _MOST:
            return None
    return values


def _together(bits: np.ndarray, chosen: list[int]) -> list[_Attribute] | None:
    """Pack some of the attributes uint32 (n, m) with one number per row, if that takes less room; else None."""
    n = len(bits)
    most = n // 4  # distinct rows
    hashes = np.empty(0, np.uint64)
    for start in range(0, n, _BLOCK):
        hashes = np.union1d(hashes, _hashes(bits[start : start + _BLOCK, chosen]))
        if len(hashes) > most:
            return None
    codes = np.empty(n, np.uint16 if len(hashes) <= _MOST else np.uint32)
    values = np.empty((len(hashes), len(chosen)), np.uint32)
    for start in range(0, n, _BLOCK):
        block = bits[start : start + _BLOCK, chosen]
        codes[start : start + _BLOCK] = which = np.searchsorted(hashes, _hashes(block))
        values[which] = block
    for start in range(0, n, _BLOCK):  # two rows of one hash
        if not np.array_equal(values[codes[start : start + _BLOCK]], bits[start : start + _BLOCK, chosen]):
            return None
    return [_Attribute(np.ascontiguousarray(column), codes) for column in values.T]


def _hashes(bits: np.ndarray) -> np.ndarray:
    """A number for each row of uint32 (n, m)."""
    h = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        h = (h ^ column) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return h


def take_rows(x: np.ndarray | CompactAttributes, rows: np.ndarray, attributes: np.ndarray | None = None) -> np.ndarray:
    """Some rows of attributes however they are held, float32 (rows, attributes)."""
    if isinstance(x, CompactAttributes):
        return x.take(rows, attributes)
    return x[rows] if attributes is None else x[np.ix_(rows, attributes)]
