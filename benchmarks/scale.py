"""How far `vsa label` goes, beside scikit-learn and LightGBM doing the same job: seconds and peak memory in one run.

    python benchmarks/scale.py                                    all of it, full size (hours)
    python benchmarks/scale.py --only gigabyte --methods vsa      one job, one method
    python benchmarks/scale.py --scale 0.01                       a smoke test of everything
    python benchmarks/scale.py --only gigabyte --methods vsa --checkpoint tiny
                                   memory alone: it does not depend on the network, and a tiny one takes minutes

Jobs: a million rows of 20 columns; 2,000 columns; 12,000 labels; 200 classes; a CSV of 1 GB, which must stay below
2 GB of memory. The job is the whole one: read the file, encode its columns, learn from the labels, fill in what is
missing, write the file. `vsa` is the command in its own process. The others are a process of the usual lines:
pandas, median and mode for what is missing, scaled numbers and one-hot words, the estimator at its defaults. They may
take --memory-limit of address space and --cpu-limit, and all --timeout; what cannot run says why. CPU seconds are those
of all threads together: what to compare where the machine has other work. Exit status 1 if `vsa` passes its limit.
A tiny network, for --checkpoint:

    vsa meta-train --synthetic prior --model layers=1 --model width=8 --model heads=1 --model head_width=4 \\
        --model ff_width=8 --model ff_layers=1 --model channels=2 --steps 2 --workers 0 -o tiny
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from label_rows import VSA, Run, write_table

METHODS = ("vsa", "label-spreading", "self-training", "lightgbm")
GIGABYTE_LIMIT = 2e9  # bytes of memory for the CSV of 1 GB


@dataclass(frozen=True)
class Job:
    """A table to be made: its rows follow from `file_bytes` where that is given."""

    name: str
    rows: int = 10_000
    columns: int = 20
    labels: int = 50
    classes: int = 3
    file_bytes: float = 0
    words: bool = False  # two columns of text among the others

    def scaled(self, by: float) -> Job:
        """The same with less of everything."""

        def less(number: int, least: int) -> int:
            return max(least, round(number * by))

        classes = less(self.classes, min(self.classes, 8))
        labels = max(less(self.labels, 2 * classes), min(self.labels, 30))
        return Job(
            self.name,
            max(less(self.rows, 400), labels + 400),
            less(self.columns, min(self.columns, 20)),
            labels,
            classes,
            self.file_bytes * by,
            self.words,
        )

    def write(self, path: Path) -> int:
        """Write the table; its number of rows."""
        rows = self.rows
        if self.file_bytes:
            write_table(path, 10_000, self.labels, self.columns, self.classes, words=self.words)
            rows = round(self.file_bytes / path.stat().st_size * 10_000)
            path.unlink()
        write_table(path, rows, self.labels, self.columns, self.classes, words=self.words)
        return rows


JOBS = (
    Job("rows", rows=1_000_000),
    Job("columns", rows=2_000, columns=2_000),
    Job("labels", rows=12_400, labels=12_000),
    Job("classes", rows=10_000, labels=400, classes=200),
    Job("gigabyte", file_bytes=1e9, words=True),
)


def run(command: list[str], path: Path, timeout: float) -> Run | str:
    """Seconds and peak memory of a command; or why there are none."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() - start > timeout:
                process.kill()
                os.wait4(process.pid, 0)
                return f"stopped after {timeout:.0f} s"
            time.sleep(0.02)
        took = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == -signal.SIGXCPU:
            return f"stopped after {usage.ru_utime + usage.ru_stime:.0f} s of CPU, at {usage.ru_maxrss / 1e6:.1f} GB"
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            return lines[-1][:150] if lines else f"ended with {process.returncode}"
    return Run.of(path, took, usage)


def fill_in(method: str, file: str, output: str) -> None:
    """What a user would write with pandas and scikit-learn."""
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = pd.read_csv(file)
    missing = table["label"].isna()
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", max_categories=12, sparse_output=False, dtype=np.float32),  # pyright: ignore[reportArgumentType]  # any float
    )
    encoder = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )
    x: Any = encoder.fit_transform(table.drop(columns="label"))
    classes, codes = np.unique(table["label"][~missing].astype(str), return_inverse=True)
    if method == "lightgbm":
        from lightgbm import LGBMClassifier

        x = np.asarray(x, np.float32)
        answer = LGBMClassifier(verbosity=-1).fit(x[~missing], codes).predict(x[missing])
    else:
        y = np.full(len(table), -1)
        y[~missing] = codes
        if method == "label-spreading":
            from sklearn.semi_supervised import LabelSpreading

            answer = LabelSpreading().fit(x, y).transduction_[missing]
        else:
            from sklearn.linear_model import LogisticRegression
            from sklearn.semi_supervised import SelfTrainingClassifier

            answer = SelfTrainingClassifier(LogisticRegression(max_iter=1000)).fit(x, y).predict(x[missing])
    table["label"] = table["label"].astype(object)
    table.loc[missing, "label"] = classes[np.asarray(answer, int)]
    table.to_csv(output, index=False)


def main() -> int:
    """Run each job with each method; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", choices=[job.name for job in JOBS], help="jobs to run")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--scale", type=float, default=1.0, help="share of every size")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one run")
    parser.add_argument("--cpu-limit", type=int, default=7200, help="CPU seconds for one run of the others")
    parser.add_argument("--checkpoint", help="network of vsa, in place of the default one")
    parser.add_argument("--folder", type=Path, help="where tables are written, and used again if they are there")
    parser.add_argument("--memory-limit", type=float, default=16, help="GB of address space of the others")
    parser.add_argument("--fill-in", nargs=3, metavar=("METHOD", "FILE", "OUTPUT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fill_in:
        limit = int(args.memory_limit * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (args.cpu_limit, args.cpu_limit + 5))
        fill_in(*args.fill_in)
        return 0
    passed = False
    if args.checkpoint:
        print(f"vsa with the network {args.checkpoint}")
    with tempfile.TemporaryDirectory() as temporary:
        output = Path(temporary) / "out.csv"
        if args.folder:
            args.folder.mkdir(parents=True, exist_ok=True)
        for job in JOBS:
            if args.only and job.name not in args.only:
                continue
            job = job.scaled(args.scale)
            path = (args.folder or Path(temporary)) / f"{job.name}.csv"
            rows = rows_of(path) if path.exists() else job.write(path)
            print(
                f"{job.name}: {rows:,} rows, {job.columns:,} columns, {job.labels:,} labels, {job.classes:,} classes, "
                f"{path.stat().st_size / 1e6:,.1f} MB",
                flush=True,
            )
            ours: Run | None = None
            for method in args.methods:
                command = [str(VSA), "label", str(path), "-t", "label", "-o", str(output), "-q"]
                if args.checkpoint:
                    command += ["--checkpoint", args.checkpoint]
                if method != "vsa":
                    limits = ["--memory-limit", str(args.memory_limit), "--cpu-limit", str(args.cpu_limit)]
                    command = [sys.executable, __file__, *limits, "--fill-in", method, str(path), str(output)]
                found = run(command, path, args.timeout)
                if isinstance(found, Run) and method == "vsa":
                    ours = found
                    passed |= job.name == "gigabyte" and found.peak_bytes > GIGABYTE_LIMIT
                elif method == "vsa":
                    passed = True
                print(line(method, found, rows, ours), flush=True)
                output.unlink(missing_ok=True)
            if args.folder is None:
                path.unlink()
    if passed:
        print("LIMIT PASSED: vsa failed, or took more than 2 GB for the CSV of 1 GB")
    return int(passed)


def rows_of(path: Path) -> int:
    """Rows of a table that `Job.write` wrote: its lines but the header."""
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 24), b"")) - 1


def line(method: str, found: Run | str, rows: int, ours: Run | None) -> str:
    """One line of the table; ratios are those of `vsa` to the method."""
    if isinstance(found, str):
        return f"  {method:<16} {found}"
    ratios = ""
    if ours is not None and method != "vsa":
        seconds, memory = ours.cpu_seconds / found.cpu_seconds, ours.peak_bytes / found.peak_bytes
        ratios = f"   vsa: {seconds:.2f} times the CPU time, {memory:.2f} times the memory"
    return (
        f"  {method:<16} {found.seconds:9.1f} s {rows / found.seconds:9,.0f} rows/s {found.cpu_seconds:9.1f} s of CPU "
        f"{found.peak_bytes / 1e6:8,.0f} MB{ratios}"
    )


if __name__ == "__main__":
    sys.exit(main())
