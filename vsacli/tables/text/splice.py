"""Replace stretches of a piece of bytes and leave all others as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vsacli.tables.text.scanner import Bytes, Positions


def splice(piece: Bytes, first: Positions, stop: Positions, text: Bytes, offsets: Positions) -> Bytes:
    """Put `text[offsets[k]:offsets[k + 1]]` in place of `piece[first[k]:stop[k]]`, for all k.

    Parameters
    ----------
    first, stop : int64[r]
        Ascending stretches that do not overlap; an empty one inserts.
    text : uint8[t]
    offsets : int64[r + 1]

    Returns
    -------
    uint8[n]
        A new piece, or the same one if there is nothing to replace.
    """
    if not first.size:
        return piece
    kept = np.concatenate((first, [piece.size])) - np.concatenate(([0], stop))
    from_piece = _every_other(kept, stop - first)
    into_result = _every_other(kept, np.diff(offsets))
    result = np.empty(into_result.size, dtype=np.uint8)
    result[into_result] = piece[from_piece]
    result[~into_result] = text[offsets[0] : offsets[-1]]
    return result


def _every_other(kept: Positions, between: Positions) -> NDArray[np.bool_]:
    """Return kept[0] times True, between[0] times False, kept[1] times True, ..."""
    lengths = np.empty(2 * kept.size - 1, dtype=np.int64)
    lengths[::2], lengths[1::2] = kept, between
    return np.repeat(np.arange(lengths.size) % 2 == 0, lengths)
