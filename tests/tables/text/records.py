"""Records of a text by the scanner, and which texts it refuses; shared with the fuzzer, so without pytest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from vsacli.tables.text import cells
from vsacli.tables.text.scanner import Dialect, scan


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def read_all(text: str, dialect: Dialect, window: int) -> list[list[str]]:
    """All records as the scanner sees them; a blank line is [], as for csv.reader."""
    data, found, at = as_bytes(text), [], 0
    for records in scan(data, 0, dialect, window):
        assert records.start == at  # pieces follow each other without a gap
        at = records.stop
        last = np.cumsum(records.counts)
        for start, count, end in zip(records.starts, records.counts, last, strict=True):
            ends = records.ends[end - count : end]
            first = np.concatenate(([start], ends[:-1] + 1))
            if count == 1 and start == ends[0]:
                found.append([])
                continue
            joined, offsets = cells.unquoted(data, first, ends, dialect)
            found.append([joined[a:b].tobytes().decode() for a, b in pairwise(offsets)])
    assert at == data.size
    return found


def is_closed(text: str, delimiter: str) -> bool:
    """Whether every quote that opens a cell is closed, by the states of csv's reader; `"a"b` is plain from b on."""
    state = "start"
    for char in text:
        if state == "quoted":
            state = "maybe" if char == '"' else state
        elif state == "maybe" and char == '"':
            state = "quoted"
        elif char in delimiter + "\r\n":
            state = "start"
        else:
            state = "quoted" if state == "start" and char == '"' else "plain"
    return state != "quoted"
