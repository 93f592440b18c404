"""How long `vsa eval TABLE --target COL` takes, on made tables of both kinds of labels.

    python benchmarks/eval_table.py --rows 1000 --columns 20 --labels 1000,100
    python benchmarks/eval_table.py --samples

Two thirds of the columns are numbers, the others words; so many of the rows have a label. Seconds by the clock and of
the processor, start of the command included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = {"wine.csv": "cultivar", "elements.csv": "metal", "diabetes.csv": "progression"}
WORDS = np.array(["red", "green", "blue", "grey", "pink"])


def make_table(path: Path, n: int, columns: int, labels: int, classes: bool) -> None:
    """Columns that a few hidden numbers explain in part, as they explain the label."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 6))
    x = hidden @ rng.normal(size=(6, columns)) + rng.normal(size=(n, columns))
    cells = np.char.mod("%.3f", x)
    for j in range(2 * columns // 3, columns):
        cells[:, j] = WORDS[np.digitize(x[:, j] / x[:, j].std(), [-1.0, -0.3, 0.3, 1.0])]
    score = hidden[:, 0] + hidden[:, 1] * hidden[:, 2] + 0.5 * rng.normal(size=n)
    label = (
        np.array(["low", "middle", "high"])[np.digitize(score, [-0.6, 0.6])] if classes else np.char.mod("%.3f", score)
    )
    label = np.where(np.arange(n) < labels, label, "")
    lines = [",".join([*(f"x{j}" for j in range(columns)), "label"])]
    lines += [",".join([*row, y]) for row, y in zip(cells, label, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def seconds(path: Path, target: str, *options: str) -> tuple[float, float]:
    """Seconds of `vsa eval`: by the clock, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "vsacli", "eval", str(path), "--target", target, *options]
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sample_tables() -> None:
    """Print a row of Markdown per sample table: seconds of the processor as it is, with --full, with --thorough."""
    for name, target in SAMPLES.items():
        path = ROOT / "sample_data" / name
        found = [seconds(path, target, *options)[1] for options in ((), ("--full",), ("--thorough",))]
        print(f"| `sample_data/{name}` | {' | '.join(f'{s:.1f}' for s in found)} |", flush=True)


def main() -> None:
    """Print one line per table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--labels", default="1000,100")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--samples", action="store_true", help="sample tables, also with --full and with --thorough")
    args = parser.parse_args()
    if args.samples:
        sample_tables()
        return
    for kind in ("classes", "numbers"):
        for labels in map(int, args.labels.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.csv"
                make_table(path, args.rows, args.columns, labels, kind == "classes")
                wall, cpu = seconds(path, "label", *["--thorough"] * args.thorough)
            print(
                f"{args.rows:,} rows, {args.columns} columns, {labels:,} labels ({kind}): {wall:.1f} s, "
                f"{cpu:.1f} s of the processor",
                flush=True,
            )


if __name__ == "__main__":
    main()
