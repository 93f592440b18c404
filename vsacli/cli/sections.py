"""Tables of results on stdout: drawn with rich on a terminal, aligned plain text to a pipe or a file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from vsacli.cli.console import printable
from vsacli.cli.layout import GAP, Section, blocks, width_of, wrapped

PLAIN_WIDTH = 100  # of a table that goes to a pipe or a file
LEAST_WIDTH = 40  # a narrower terminal breaks lines itself
BETWEEN = " " * GAP
COMMAND = "  vsa "  # begins a closing line that is copied, so it is not broken


def show(sections: Sequence[Section], closing: Sequence[str] = ()) -> None:
    """Write the sections, then closing lines; names and classes in them come from people's files."""
    sections, closing = [_printable(section) for section in sections], [printable(line) for line in closing]
    if sys.stdout is not None and sys.stdout.isatty():
        _show_rich(sections, closing, width())
        return
    parts = [plain(section) for section in sections]
    if closing:
        parts.append("\n".join(line for text in closing for line in _closing_lines(text, PLAIN_WIDTH)))
    print("\n\n".join(parts))


def width() -> int:
    """Columns that the output may take: those of the terminal, or `PLAIN_WIDTH`."""
    if sys.stdout is None or not sys.stdout.isatty():
        return PLAIN_WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def plain(section: Section, width: int = PLAIN_WIDTH) -> str:
    """A section as aligned text: columns two spaces apart, so that it can be read and cut."""
    parts = ["\n".join(BETWEEN.join(line).rstrip() for line in block.lines) for block in blocks(section, width)]
    table = ["\n\n".join(parts)] if parts else []
    return "\n".join([*wrapped(section.title, width, BETWEEN), *table, *_notes(section, width)])


def _notes(section: Section, width: int) -> list[str]:
    return [line for note in section.notes for line in wrapped(note, width, BETWEEN)]


def _closing_lines(text: str, width: int) -> list[str]:
    return [text] if text.startswith(COMMAND) else wrapped(text, width)


def _printable(section: Section) -> Section:
    return Section(
        printable(section.title),
        [printable(name) for name in section.columns],
        [[printable(cell) for cell in row] for row in section.rows],
        [printable(note) for note in section.notes],
        section.strong,
        section.names,
    )


def _show_rich(sections: Sequence[Section], closing: Sequence[str], width: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)

    def say(text: Text) -> None:  # its lines are as wide as they may be already
        console.print(text, soft_wrap=True)

    for section in sections:
        for line in wrapped(section.title, width, BETWEEN):
            say(Text(line, style="bold cyan"))
        for number, block in enumerate(blocks(section, width)):
            if number:
                console.print()
            header, *rows = block.lines
            say(Text(BETWEEN.join(header)))
            say(Text("─" * width_of(BETWEEN.join(header)), style="dim"))
            for i, row in enumerate(rows):
                line = Text()
                for j, cell in enumerate(row):
                    line.append(BETWEEN if j else "")
                    line.append(cell, style="bold" if (i, j) in block.strong else "")
                say(line)
        for line in _notes(section, width):
            say(Text(line, style="dim"))
        console.print()
    for text in closing:
        for line in _closing_lines(text, width):
            say(Text(line, style="bold"))
