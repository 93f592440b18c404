"""How long `vsa` takes to start, beside the plainest program that imports the same libraries.

    python benchmarks/startup.py [--runs N]

Limits: `vsa --help` 1.5 times `import typer, rich`; `vsa label` on a small table 1.7 times
`import torch, pandas, sklearn`. Each figure is the median over runs that take turns, so that a busy
machine slows both sides. Exit status 1 if a limit is passed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VSA = Path(sys.executable).parent / "vsa"
SAMPLE = ROOT / "sample_data" / "wine.csv"

PAIRS = (
    ("vsa --help", [VSA, "--help"], "import typer, rich", 1.5),
    ("vsa label wine.csv", [VSA, "label", SAMPLE, "-t", "cultivar", "-q"], "import torch, pandas, sklearn", 1.7),
)


def seconds(command: list) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Measure both pairs; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    status = 0
    for name, command, imports, limit in PAIRS:
        plain = [sys.executable, "-c", imports]
        seconds(command)  # the first of each reads from disk
        seconds(plain)
        pairs = [(seconds(command), seconds(plain)) for _ in range(runs)]
        ours, base = (statistics.median(times) for times in zip(*pairs, strict=True))
        verdict = "ok" if ours <= limit * base else "TOO SLOW"
        status |= verdict != "ok"
        print(f"{name:<20} {ours:.3f} s   {imports}: {base:.3f} s   ratio {ours / base:.2f} (limit {limit}) {verdict}")
    return status


if __name__ == "__main__":
    sys.exit(main())
