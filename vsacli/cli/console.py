"""What `vsa` prints to stderr: plain lines to a pipe or a log, a small layout and progress to a terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from vsacli.support.progress import Progress, silent

Fact = tuple[str, str]  # (what, its value), one line of a summary

LONGEST_NAME = 300
LONGEST_LINE = 10_000
_LONG_NAME = re.compile(rf"[^,;:()\"]{{{LONGEST_NAME},}}")

PLAIN_PROGRESS_SECONDS = 15.0  # a log gets a progress line no more often than this


def say(text: str) -> None:
    """Write `text` and a line end to stderr; a closed or broken stderr is not a reason to fail."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """`text` with line ends, control characters and lone surrogates spelled out: names come from people's files.

    Very long ones are cut: a name of more than `LONGEST_NAME` characters without a mark between, a line at
    `LONGEST_LINE`.
    """
    if len(text) > LONGEST_NAME:
        text = _LONG_NAME.sub(lambda name: f"{name[0][: LONGEST_NAME // 2]}…{name[0][-20:]}", text[: 2 * LONGEST_LINE])
        text = text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def on_terminal() -> bool:
    """Whether stderr is a terminal that a layout can be drawn on."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def show_facts(title: str, facts: Sequence[Fact], quiet: bool = False) -> None:
    """Print a summary: an aligned, coloured layout on a terminal, `title: what: value` lines elsewhere."""
    if quiet:
        return
    if not on_terminal():
        for what, value in facts:
            say(f"{title}: {what}: {printable(value)}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold cyan", justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for what, value in facts:
        grid.add_row(Text(what), Text(printable(value), style="yellow" if what == "note" else ""))
    with suppress(OSError, ValueError):
        Console(stderr=True, highlight=False).print(grid)


@contextmanager
def progress_shown(quiet: bool = False) -> Iterator[Progress]:
    """Give the library a callback that shows its progress."""
    if quiet:
        yield silent
    elif on_terminal():
        with _bars() as progress:
            yield progress
    else:
        yield _PlainProgress()


class _PlainProgress:
    """Lines for a log; a run shorter than the interval says nothing."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= PLAIN_PROGRESS_SECONDS:
            self._last = now
            share = f" ({done / total:.0%})" if total else ""
            say(f"vsa: {step}: {done:,} of {total:,}{share}")


@contextmanager
def _bars() -> Iterator[Progress]:
    """One bar that follows the steps and leaves the terminal clean."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None)

        def show(step: str, done: int, total: int) -> None:
            bars.update(task, description=printable(step), completed=done, total=total or None)

        yield show
