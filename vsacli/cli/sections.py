"""Tables of results on stdout: drawn with rich on a terminal, aligned plain text to a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from vsacli.cli.console import printable


@dataclass
class Section:
    """A titled table.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of list of str
        As many cells as columns. The first column is text, the others are numbers.
    notes : list of str
        Lines below the table.
    strong : set of (row, column)
        Cells to stress (in plain text they carry their own mark).
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    strong: set[tuple[int, int]] = field(default_factory=set)


def show(sections: Sequence[Section], closing: Sequence[str] = ()) -> None:
    """Write the sections, then closing lines; names and classes in them come from people's files."""
    sections, closing = [_printable(section) for section in sections], [printable(line) for line in closing]
    if sys.stdout is not None and sys.stdout.isatty():
        _show_rich(sections, closing)
        return
    parts = [plain(section) for section in sections] + (["\n".join(closing)] if closing else [])
    print("\n\n".join(parts))


def _printable(section: Section) -> Section:
    return Section(
        printable(section.title),
        [printable(name) for name in section.columns],
        [[printable(cell) for cell in row] for row in section.rows],
        [printable(note) for note in section.notes],
        section.strong,
    )


def plain(section: Section) -> str:
    """A section as aligned text: columns two spaces apart, so that it can be read and cut."""
    lines = [section.title]
    if section.columns:
        grid = [section.columns, *section.rows]
        widths = [max(len(row[j]) for row in grid) for j in range(len(section.columns))]
        for row in grid:
            cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, *section.notes])


def _show_rich(sections: Sequence[Section], closing: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    for section in sections:
        console.print(Text(section.title, style="bold cyan"))
        if section.columns:
            table = Table(box=SIMPLE_HEAD, pad_edge=False)
            for j, column in enumerate(section.columns):
                table.add_column(Text(column), justify="right" if j else "left", no_wrap=not j)
            for i, row in enumerate(section.rows):
                table.add_row(*(Text(c, style="bold" if (i, j) in section.strong else "") for j, c in enumerate(row)))
            console.print(table)
        for note in section.notes:
            console.print(Text(note, style="dim"))
        console.print()
    for line in closing:
        console.print(Text(line, style="bold"))
