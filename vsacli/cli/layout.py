"""A titled table within so many columns: names are shortened and columns stand below each other, numbers stay whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

LONGEST_NAME = 24  # of a name in a table that is too wide
LONGEST_HEADER = 14  # of the header of a column of numbers in such a table
LEAST = 8  # no name is cut to less
GAP = 2


@dataclass
class Section:
    """A titled table.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of list of str
        As many cells as columns.
    notes : list of str
        Lines below the table.
    strong : set of (row, column)
        Cells to stress (in plain text they carry their own mark).
    names : set of int
        The columns that hold names, which may be shortened; the others hold numbers.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    strong: set[tuple[int, int]] = field(default_factory=set)
    names: set[int] = field(default_factory=lambda: {0})


@dataclass(frozen=True)
class Block:
    """Some columns of a section, each cell padded to its column's width; the header is the first line."""

    lines: list[list[str]]
    strong: set[tuple[int, int]]


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def shortened(text: str, width: int) -> str:
    """A name within so many columns: its middle is left out, as names often differ at their ends."""
    if width_of(text) <= width:
        return text
    head, tail = (width + 1) // 2 - 1, width // 2
    start = end = ""
    for c in text:
        if width_of(start + c) > head:
            break
        start += c
    for c in reversed(text):
        if width_of(c + end) > tail:
            break
        end = c + end
    return f"{start}…{end}"


def told_apart(names: Sequence[str], width: int) -> list[str]:
    """Names within so many columns of which those that differ still do.

    What all of the long ones begin and end with is left out if their middles differ; the last resort is a number.
    """
    short = {name: shortened(name, width) for name in names}
    if len(set(short.values())) < len(short):
        long = [name for name in short if short[name] != name]
        head = _common(long)
        tail = min(_common([name[::-1] for name in long]), min(map(len, long)) - head)
        spare = max(0, width - 2 - max(len(name) - head - tail for name in long))
        head, tail = max(0, head - spare // 2), max(0, tail - spare // 2)
        own = {name: f"{'…' if head else ''}{name[head : len(name) - tail]}{'…' if tail else ''}" for name in long}
        short |= {name: shortened(text, width) for name, text in own.items()}
    if len(set(short.values())) < len(short):
        digits = len(str(len(short)))
        short = {
            name: f"{shortened(text, width - digits - 1)} {number}"
            for number, (name, text) in enumerate(short.items(), 1)
        }
    return [short[name] for name in names]


def _common(names: Sequence[str]) -> int:
    """Number of characters with which all names begin."""
    return next((i for i, c in enumerate(zip(*names, strict=False)) if len(set(c)) > 1), min(map(len, names)))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` columns, broken between words if possible; `indent` begins all but the first."""
    lines, line = [], ""
    for word in text.split(" "):
        if line.strip() and width_of(f"{line} {word}") > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line.strip() else line + word
        while width_of(line) > width:  # a word that is longer than a line
            cut = len(line)
            while width_of(line[:cut]) > width:
                cut -= 1
            lines.append(line[:cut])
            line = indent + line[cut:]
    return [*lines, line]


def blocks(section: Section, width: int) -> list[Block]:
    """The table of a section within so many columns, as one block if it fits; the first column begins each block."""
    grid = [section.columns, *section.rows]
    if not section.columns:
        return []
    if sum(_widths(grid)) + GAP * (len(section.columns) - 1) > width:
        numbers = [max((width_of(row[j]) for row in section.rows), default=0) for j in range(len(section.columns))]
        most = [
            max(LEAST, min(LONGEST_NAME, width // 3)) if j in section.names else max(LONGEST_HEADER, numbers[j])
            for j in range(len(section.columns))
        ]
        header = told_apart(section.columns, min(most))
        header = [
            short if width_of(name) > most[j] else name
            for j, (name, short) in enumerate(zip(section.columns, header, strict=True))
        ]
        columns = [[row[j] for row in section.rows] for j in range(len(header))]
        columns = [told_apart(cells, most[j]) if j in section.names else cells for j, cells in enumerate(columns)]
        grid = [header, *([cells[i] for cells in columns] for i in range(len(section.rows)))]
    widths = _widths(grid)
    return [_block(section, grid, widths, chosen) for chosen in _groups(widths, width)]


def _widths(grid: Sequence[Sequence[str]]) -> list[int]:
    return [max(width_of(row[j]) for row in grid) for j in range(len(grid[0]))]


def _groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """Which columns stand side by side: as many as fit, the first one always."""
    groups, taken = [[0]], widths[0]
    for j in range(1, len(widths)):
        if taken + GAP + widths[j] > width and len(groups[-1]) > 1:
            groups.append([0])
            taken = widths[0]
        groups[-1].append(j)
        taken += GAP + widths[j]
    return groups


def _block(section: Section, grid: Sequence[Sequence[str]], widths: Sequence[int], chosen: Sequence[int]) -> Block:
    def padded(cell: str, j: int) -> str:
        space = " " * (widths[j] - width_of(cell))
        return cell + space if j in section.names else space + cell

    lines = [[padded(row[j], j) for j in chosen] for row in grid]
    strong = {(i, chosen.index(j)) for i, j in section.strong if j in chosen}
    return Block(lines, strong)
