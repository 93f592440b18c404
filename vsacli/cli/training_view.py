"""How a training run is shown: a live panel on a terminal, a plain line for each report elsewhere."""

from __future__ import annotations

import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from vsacli.cli.console import on_terminal, printable, say


class TrainingView:
    """Show the records of a run while the context is open.

    Parameters
    ----------
    steps, max_time : int, float or None
        The run's end.
    metric : str
        "accuracy" or "mse": the figure shown for validations.
    patience : int or None
    quiet : bool
    """

    def __init__(
        self, *, steps: int | None, max_time: float | None, metric: str, patience: int | None, quiet: bool = False
    ) -> None:
        self.steps, self.max_time, self.metric, self.patience = steps, max_time, metric, patience
        self.quiet = quiet
        self.figures: dict[str, Any] = {}
        self.best: float | None = None
        self.since_best = 0
        self.told_at = time.monotonic()
        self.live: Any = None

    def __enter__(self) -> Self:
        if on_terminal() and not self.quiet:
            from rich.console import Console
            from rich.live import Live

            self.live = Live(get_renderable=self._panel, console=Console(stderr=True), refresh_per_second=2)
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            with suppress(OSError, ValueError):
                self.live.stop()

    def __call__(self, record: dict[str, Any]) -> None:
        """Receive a report of the trainer."""
        self.told_at = time.monotonic()
        self.figures.update(record)
        if f"valid_{self.metric}" in record:
            self.since_best = int(record.get("since_best", 0))
            if record.get("best"):
                self.best = record[f"valid_{self.metric}"]
        if self.quiet:
            return
        if self.live is None:
            say(f"vsa: {self._line(record)}")
        elif "note" in record:
            self.live.console.print(f"note: {printable(record['note'])}", markup=False, highlight=False)

    def _line(self, record: dict[str, Any]) -> str:
        parts = [f"step {record['step']:,}", f"{record['tasks']:,} tasks", clock(record["seconds"])]
        if "note" in record:
            return ", ".join([*parts[:1], f"note: {record['note']}"])
        if "loss" in record:
            parts.append(f"loss {record['loss']:.4f}")
        if "skipped_steps" in record:
            parts.append(f"{record['skipped_steps']:.0f} steps skipped (not finite)")
        if "tasks_per_s" in record:
            parts += [f"{record['tasks_per_s']:.1f} tasks/s", f"{record['waiting']:.0%} waiting for data"]
            parts.append(f"{clock(self._left())} left")
        shown = [k for k in record if k.startswith("valid_") and "loss@" not in k]
        if shown:
            parts.append("validation " + " ".join(f"{k.removeprefix('valid_')} {record[k]:.4f}" for k in shown))
        if "best" in record:
            parts.append("best so far, saved" if record["best"] else f"not better for {record.get('since_best', 0)}")
        return ", ".join(parts)

    def _elapsed(self) -> float:
        return self.figures.get("seconds", 0.0) + time.monotonic() - self.told_at

    def _progress(self) -> float:
        by_steps = self.figures.get("step", 0) / self.steps if self.steps else 0.0
        by_time = self._elapsed() / self.max_time if self.max_time else 0.0
        return min(1.0, max(by_steps, by_time))

    def _left(self) -> float:
        done = self._progress()
        return float("inf") if done <= 0 else self._elapsed() * (1 - done) / done

    def _panel(self) -> Any:
        from rich.console import Group
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        f = self.figures
        end = f" of {self.steps:,}" if self.steps else ""
        rows = [
            ("step", f"{f.get('step', 0):,}{end}, {f.get('tasks', 0):,} tasks"),
            ("time", f"{clock(self._elapsed())}, {clock(self._left())} left"),
            ("loss", f"{f['loss']:.4f}" if "loss" in f else "-"),
            ("validation", self._validation()),
            ("rate", f"{f['tasks_per_s']:.1f} tasks/s, {f['waiting']:.0%} waiting" if "waiting" in f else "-"),
        ]
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold cyan", justify="right", no_wrap=True)
        grid.add_column()
        for what, value in rows:
            grid.add_row(what, value)
        bar = ProgressBar(total=1.0, completed=self._progress(), finished_style="bar.complete")
        return Panel(
            Group(grid, bar), title="vsa meta-train", subtitle="Ctrl-C saves and stops", expand=False, width=64
        )

    def _validation(self) -> str:
        last = self.figures.get(f"valid_{self.metric}")
        if last is None:
            return "-"
        best = "" if self.best is None else f", best {self.best:.4f}"
        worse = f", not better for {self.since_best}" if self.since_best else ""
        limit = f" of {self.patience}" if self.since_best and self.patience else ""
        return f"{self.metric} {last:.4f}{best}{worse}{limit}"


def clock(seconds: float) -> str:
    """``h:mm:ss``, or ``?`` if unknown."""
    if seconds == float("inf"):
        return "?"
    s = max(0, round(seconds))
    return f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}"
