"""Time of reading a CSV, filling its empty labels and writing it, beside `pandas.read_csv(dtype=str)` alone.

    python benchmarks/csv_roundtrip.py [--rows 1000000] [--columns 16] [--quoted] [--repeat 3]

Makes its file in a temporary folder and prints one line per step, peak memory above the file's size, and
the ratio, whose goal is 3 or less.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GOAL = 3.0


def make_file(path: Path, n_rows: int, n_columns: int, quoted: bool) -> None:
    """Write a table of ids, numbers, dates, words and a label column that is nearly empty."""
    rng = np.random.default_rng(0)
    words = np.array(["oak", "maple", "silver birch", "ash", "weeping willow"])
    if quoted:
        words = np.array(['"oak"', '"maple, red"', '"birch ""silver"""', '"ash"', '"willow"'])
    with path.open("w", newline="") as file:
        names = [f"c{j}" for j in range(n_columns - 1)]
        file.write(",".join([*names, "label"]) + "\n")
        for begin in range(0, n_rows, 50_000):
            n = min(50_000, n_rows - begin)
            columns: list[list[str]] = [[f"{k:07d}" for k in range(begin, begin + n)]]
            for j in range(1, n_columns - 1):
                if j % 4 == 0:
                    columns.append(words[rng.integers(0, len(words), n)].tolist())
                elif j % 4 == 1:
                    columns.append([f"{v:.3f}" for v in rng.normal(50, 20, n).tolist()])
                elif j % 4 == 2:
                    columns.append([str(v) for v in rng.integers(0, 1000, n).tolist()])
                else:
                    columns.append([f"2024-{m:02d}-{d:02d}" for m, d in rng.integers(1, 13, (n, 2)).tolist()])
            columns.append(
                ["tree" if k % 1000 == 0 else "shrub" if k % 1000 == 1 else "" for k in range(begin, begin + n)]
            )
            file.write("\n".join(map(",".join, zip(*columns, strict=True))) + "\n")


def run_pandas(path: Path) -> dict[str, float]:
    import pandas as pd

    begin = time.perf_counter()
    pd.read_csv(path, dtype=str)
    return {"pandas.read_csv(dtype=str)": time.perf_counter() - begin}


def run_vsacli(path: Path) -> dict[str, float]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from vsacli.tables.output import open_output
    from vsacli.tables.read import read_table

    begin = time.perf_counter()
    table = read_table(path)
    read = time.perf_counter()
    for j in range(len(table.columns)):
        table.column(j)
    cells = time.perf_counter()
    target = table.find("label")
    rows = np.flatnonzero(pc.equal(table.column(target), "").to_numpy(zero_copy_only=False))
    values = pa.array(np.where(rows % 2, "shrub", "tree"))
    found = time.perf_counter()
    with open_output(path.with_suffix(".out.csv"), inputs=[path]) as sink:
        table.write(sink, target, rows, values)
    return {"read": read - begin, "all columns": cells - read, "splice and write": time.perf_counter() - found}


def child(which: str, path: Path) -> dict[str, float]:
    """Run one side in a process of its own; its times in seconds, and "peak", bytes above the start's."""
    code = (
        "import resource, sys, pathlib, json\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parent.parent)]!r}\n"
        "import csv_roundtrip as b, pyarrow.compute, pandas\n"
        "import vsacli.tables.text.table, vsacli.tables.output\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"times = b.run_{which}(pathlib.Path({str(path)!r}))\n"
        "times['peak'] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "print(json.dumps(times))\n"
    )
    import json

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--quoted", action="store_true", help="words in quotes, with delimiters and quotes in them")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        make_file(path, options.rows, options.columns, options.quoted)
        size = path.stat().st_size
        print(f"{options.rows} rows x {options.columns} columns, {size / 1e6:.0f} MB")
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.repeat):
            for which in ("pandas", "vsacli"):
                times = child(which, path)
                peak = times.pop("peak")
                if which not in best or sum(times.values()) < sum(best[which].values()):
                    best[which] = times
                    print(f"  {which}: peak {peak / size:.2f} x the file", end="")
                    print("".join(f", {step} {seconds:.2f} s" for step, seconds in times.items()))
    ours = best["vsacli"]["read"] + best["vsacli"]["splice and write"]
    theirs = sum(best["pandas"].values())
    print(f"read + splice + write / pandas.read_csv(dtype=str): {ours / theirs:.2f} (goal: at most {GOAL:g})")
    print(f"  the same with all columns read as cells: {sum(best['vsacli'].values()) / theirs:.2f}")


if __name__ == "__main__":
    main()
