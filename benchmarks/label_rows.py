"""Rows a second and peak memory of `vsa label` on large tables.

    python benchmarks/label_rows.py [--rows 100000 1000000] [--labels 50] [--columns 20]

A table: half its columns numbers, the rest small integers, categories and flags; three classes. Each run is the
real command in its own process, whose peak memory (ru_maxrss) is reported. Limits on 2 cores: 100,000 unlabeled
rows with 50 labels at 5,000 rows/s or more and below 1.5 GB; 1,000,000 rows add at most the size of the file
to the memory. A run with 12,000 labels and 400 unlabeled rows is measured too. Exit status 1 if a limit is passed.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

VSA = Path(sys.executable).parent / "vsa"
BLOCK = 100_000  # rows drawn at a time
WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe", "ri") for b in ("den", "ful", "gar", "hol", "jam")]


@dataclass
class Run:
    """One labeling run: sizes in bytes, time in seconds; `cpu_seconds` is what all its threads took together."""

    file_bytes: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    @classmethod
    def of(cls, path: Path, seconds: float, usage: resource.struct_rusage) -> Run:
        """What the system says of an ended process."""
        unit = 1 if sys.platform == "darwin" else 1024
        return cls(path.stat().st_size, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def write_table(path: Path, rows: int, labels: int, columns: int, classes: int = 3, *, words: bool = False) -> None:
    """A table of `rows` rows, `labels` of them labeled (spread over the file), and `columns` columns + label.

    With more than 3 classes every class has its share of the labels. `words` makes two of the columns free text.
    """
    rng = np.random.default_rng(0)
    places = np.linspace(0, rows - 1, labels).astype(int)
    given = np.arange(labels) % classes  # class of each
    names = pa.array([f"class {c:03d}" for c in range(classes)] if classes > 3 else ["alpha", "beta", "gamma"])
    with path.open("wb") as file:
        for start in range(0, rows, BLOCK):
            n = min(BLOCK, rows - start)
            here = (places >= start) & (places < start + n)
            code = rng.integers(0, classes, n)
            if classes > 3:
                code[places[here] - start] = given[here]
            frame: dict[str, pa.Array] = {}
            for j in range(columns):
                signal = code * (3 / classes * rng.normal(0.8, 0.2)) + rng.normal(0, 1, n)
                if words and j in (1, 3):
                    drawn = rng.integers(0, len(WORDS), (n, 4)) // 2 * 2 + code[:, None] % 2
                    frame[f"t{j}"] = pc.binary_join_element_wise(*(_spelled(WORDS, word) for word in drawn.T), " ")
                elif j % 2 == 0:
                    frame[f"x{j}"] = pa.array(np.round(signal, 3))
                elif j % 6 == 1:
                    frame[f"n{j}"] = pa.array(np.clip(signal * 3 + 5, 0, 20).astype(int))
                elif j % 6 == 3:
                    frame[f"c{j}"] = _spelled(["low", "mid", "high", "top"], np.clip(signal, 0, 3).astype(int))
                else:
                    frame[f"b{j}"] = _spelled(["no", "yes"], signal > 1)
            shown = np.zeros(n, bool)
            shown[places[here] - start] = True
            frame["label"] = pc.if_else(pa.array(shown), names.take(pa.array(code)), "")
            if not start:
                file.write((",".join(frame) + "\n").encode())
            csv.write_csv(pa.table(frame), file, csv.WriteOptions(include_header=False, quoting_style="none"))


def _spelled(words: list[str], which: np.ndarray) -> pa.Array:
    return pa.array(words).take(pa.array(which.astype(int)))


def measure(path: Path, output: Path) -> Run:
    """Run the real command once."""
    command = [str(VSA), "label", str(path), "-t", "label", "-o", str(output), "-q"]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, dict(os.environ))
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed with {os.waitstatus_to_exitcode(status)}")
    return Run.of(path, took, usage)


def main() -> int:
    """Measure each size; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--no-many-labels", action="store_true", help="leave out the run with 12,000 labels")
    args = parser.parse_args()
    problems = []
    runs: dict[int, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            path = Path(folder) / f"{rows}.csv"
            write_table(path, rows, args.labels, args.columns)
            runs[rows] = run = measure(path, Path(folder) / "out.csv")
            show(f"{rows:,} rows, {args.labels} labels", rows, run)
            path.unlink()
        if not args.no_many_labels:
            path = Path(folder) / "labels.csv"
            write_table(path, 12_400, 12_000, args.columns)
            show("12,400 rows, 12,000 labels", 12_400, measure(path, Path(folder) / "out.csv"))
    first = runs[args.rows[0]]
    if args.rows[0] / first.seconds < 5000:
        problems.append(f"fewer than 5,000 rows/s at {args.rows[0]:,} rows")
    if first.peak_bytes > 1.5e9:
        problems.append(f"more than 1.5 GB at {args.rows[0]:,} rows")
    for rows in args.rows[1:]:
        growth = runs[rows].peak_bytes - first.peak_bytes
        print(f"memory from {args.rows[0]:,} to {rows:,} rows: +{growth / 1e6:.0f} MB")
        if growth > runs[rows].file_bytes:
            problems.append(f"{rows:,} rows take more memory than the file is long")
    for problem in problems:
        print(f"LIMIT PASSED: {problem}")
    return bool(problems)


def show(what: str, rows: int, run: Run) -> None:
    """One line of the table."""
    print(
        f"{what:<28} {run.file_bytes / 1e6:7.1f} MB file {run.seconds:8.2f} s {rows / run.seconds:10,.0f} rows/s "
        f"{run.peak_bytes / 1e6:8.0f} MB peak",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
