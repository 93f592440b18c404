"""What stands above the header of a text file: a line `sep=;`, comment lines, or whatever the user says.

All of it is kept and belongs to no row. Comment lines begin with `#`. They are only taken for comments if the
first other line has other cells than they do: `#id,x,y` above `1,2,3` is the header.
"""

from __future__ import annotations

import re

import numpy as np

from vsacli.errors import DataError
from vsacli.support.wording import number_of
from vsacli.tables.text.scanner import Bytes, Dialect
from vsacli.tables.text.spans import header_size

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def sep_line(data: Bytes, start: int) -> tuple[int | None, int]:
    """Read a first line `sep=;`: the delimiter it names, and where the table begins."""
    match = re.match(rb'("?)sep=([^"\r\n])\1(?:\r\n|\r|\n)', data[start : start + 16].tobytes(), re.IGNORECASE)
    if match is None or match[2] >= b"\x80":
        return None, start
    return match[2][0], start + match.end()


def line_start(data: Bytes, start: int, number: int, name: str) -> int:
    """Return the first byte of line `number`, counted from 1 at byte `start`.

    Raises
    ------
    DataError
        There are not so many lines.
    """
    view, at = data.data, start
    for line in range(1, number):
        match = _LINE.match(view, at)
        assert match is not None
        at = match.end()
        if at >= data.size > start:
            raise DataError(f"{name} has {number_of(line, 'line')}, so the header is not in line {number}")
    return at


def comment_lines(data: Bytes, start: int, marks: bytes) -> tuple[int, int]:
    """Find the comment lines above a header.

    Parameters
    ----------
    data : uint8[n]
    start : int
    marks : bytes
        The delimiters that the file may have.

    Returns
    -------
    count : int
        How many lines at the top are comments or blank; 0 if the header is the first line.
    stop : int
        First byte after them.
    """
    view, at = data.data, start
    begins: list[int] = []  # of the comment lines, and of the line after them
    lines: list[int] = []
    number = 0
    while at < data.size:
        match = _LINE.match(view, at)
        assert match is not None
        number += 1
        line = match.group().strip()
        if line:
            begins.append(at)
            lines.append(number)
            if not line.startswith(b"#"):
                break
        at = match.end()
    else:
        return 0, start
    if len(begins) < 2:
        return 0, start
    sizes = np.array([[header_size(data, begin, Dialect(mark)) for begin in begins] for mark in marks])
    widths = sizes[sizes[:, -1].argmax()]  # with the delimiter that makes most cells of the first other line
    if widths[-1] < 2:
        return 0, start
    header = int(np.flatnonzero(widths == widths[-1])[0])
    return lines[header] - 1, begins[header]
