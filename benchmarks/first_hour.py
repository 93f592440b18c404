"""The fifteen first things that a new user does: seconds of the processor and lines printed (docs/first-hour.md).

    python benchmarks/first_hour.py

Commands run one after another in an empty folder beside `sample_data`, on one thread. The tests in
tests/test_first_hour.py run them as well and check what they say. Another version is measured if PYTHONPATH names its
folder.
"""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Thing:
    """A command, what a person learns from it, its exit status, and words that it prints."""

    command: str
    outcome: str
    says: str
    status: int = 0


WINE, ELEMENTS = "sample_data/wine.csv -t cultivar", "sample_data/elements.csv -t metal"
THINGS = (
    Thing("vsa", "the commands, one line each", "Fill in the missing labels", 2),
    Thing("vsa label sample_data/wine.csv", "what is missing: `--target`", "Missing option '--target'", 2),
    Thing("vsa label sample_data/wine.csv -t cultivr", "did you mean 'cultivar'?", "did you mean 'cultivar'?", 2),
    Thing(f"vsa label {WINE} --dry-run", "task, labels, columns, about how long", "dry run: nothing was filled in"),
    Thing(f"vsa label {WINE} --preview", "ten filled rows and their confidence", "163 of 163 missing labels filled in"),
    Thing(f"vsa label {WINE} > labeled.csv", "the table, filled in; a summary", "filled: 163"),
    Thing(f"vsa eval {WINE}", "one table, a verdict, the next command", "Hidden labels, answered"),
    Thing(f"vsa eval {WINE} --full", "every figure, classes, doubtful labels", "Known classes (rows)"),
    Thing(f"vsa label {WINE} --min-confidence 0.8 -o sure.csv", "uncertain cells stay empty", "below --min-confidence"),
    Thing(
        "vsa label sample_data/diabetes.csv -t progression --confidence -o numbers.csv",
        "numbers with their deviation",
        "task: regression",
    ),
    Thing(f"vsa label {ELEMENTS} -o out.csv --report report.html", "a page on the run", "classification of 'metal'"),
    Thing(f"vsa label {ELEMENTS} -o out.csv --suggest-to next.csv", "ten rows to label next", "filled: 88"),
    Thing(f"vsa label {ELEMENTS} -o out.csv --labeled next.csv", "more labels, the same table", "labels: 40 given"),
    Thing("vsa label sample_data/readings.parquet -t state -o out.parquet", "Parquet in, Parquet out", "filled: "),
    Thing("cat sample_data/moons.csv | vsa label - -t moon -q | tail -n 1", "a table in a pipe", ","),
)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    seconds: float
    out: str
    errors: str

    @property
    def lines(self) -> int:
        """Lines that a person sees."""
        return len(self.out.splitlines()) + len(self.errors.splitlines())


def prepare(folder: Path, python: str = sys.executable) -> dict[str, str]:
    """Put what the commands name into a folder; returns the environment in which they run."""
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    (folder / "bin").mkdir()
    vsa = folder / "bin" / "vsa"
    vsa.write_text(f'#!/bin/sh\nexec "{python}" -m vsacli "$@"\n')
    vsa.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VSA_")}
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    source = os.environ.get("PYTHONPATH") or str(ROOT)
    return environment | {"PATH": path, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(thing: Thing, folder: Path, environment: dict[str, str]) -> Done:
    """Run a command as a shell does; before labels are given back, somebody has to fill them in."""
    if "--labeled next.csv" in thing.command:
        fill_in(folder / "next.csv", "metal")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["bash", "-c", thing.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Done(done.returncode, seconds, done.stdout.decode(), done.stderr.decode())


def fill_in(path: Path, target: str) -> None:
    """Take the guesses as labels."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, target: row[f"{target}_guess"]} for row in rows)


def main() -> None:
    """Print a row a command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = prepare(folder)
        for number, thing in enumerate(THINGS, 1):
            done = run(thing, folder, environment)
            mark = "" if done.status == thing.status else f" (exit status {done.status})"
            command = thing.command.replace("|", r"\|")
            print(f"| {number} | `{command}` | {done.seconds:.1f} | {done.lines} | {thing.outcome}{mark} |", flush=True)


if __name__ == "__main__":
    main()
