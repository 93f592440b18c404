"""One setting of the network or of its training varied, all else equal: the paper's Figures 6(c, d) and 7, and Table 2.

    python benchmarks/sweep.py --vary layers=1,2,3,4 --seconds 100 --out runs/sweep
    python benchmarks/sweep.py --vary heads=1,2,4,8 --seconds 100 --out runs/sweep
    python benchmarks/sweep.py --vary unlabeled=1,5,20 --seconds 100 --out runs/sweep
    python benchmarks/sweep.py --vary ablation=none,ExampleAttn,AttributeAttn,w/oObsInd,w/oAttLabInd,w/oRes,w/oLN ...

Every value gets a run of its own on Circle-Spiral, on one thread and with the same time, and all are asked about the
same 100 tasks that none has seen. `unlabeled` is the number of unlabeled rows a class in training (the tasks asked have
20). With heads, the width of all heads together stays the same. Complete runs are not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from vsacli.evaluation.results import read_records
from vsacli.evaluation.statistics import summarize

NETWORK = {"layers": 3, "width": 32, "heads": 4, "head_width": 8, "ff_width": 64, "channels": 4, "standardize": "false"}
SHOTS = (1, 3, 5)


def options(name: str, value: str) -> list[str]:
    """What a value of the varied setting adds to `vsa meta-train`; an option given twice counts as given last."""
    if name == "ablation":
        return [] if value == "none" else ["--ablation", value]
    if name == "unlabeled":
        return ["--unlabeled", value]
    if name == "heads":
        together = NETWORK["heads"] * NETWORK["head_width"]
        return ["--model", f"heads={value}", "--model", f"head_width={together // int(value)}"]
    return ["--model", f"{name}={value}"]


def main() -> None:
    """Train, evaluate, print one row a value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vary", required=True, metavar="NAME=V,V,...")
    parser.add_argument("--seconds", type=int, required=True, help="of meta-training, for each value")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    name, _, values = args.vary.partition("=")
    command = [sys.executable, "-m", "vsacli"]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    print(f"{name:>16s}" + "".join(f"{f'{s} a class':>16s}" for s in SHOTS) + f"{'tasks':>10s}", flush=True)
    for value in values.split(","):
        run = args.out / f"{name}-{value.replace('/', '')}-seed{args.seed}"
        if not (run / "complete").is_file():
            network = [word for k, v in NETWORK.items() for word in ("--model", f"{k}={v}")]
            plan = [
                "--episodes",
                "plain",
                "--shots",
                "1-5",
                "--unlabeled",
                "20",
                "--batch",
                "16",
                "--seed",
                str(args.seed),
            ]
            ends = ["--max-time", f"{args.seconds}s", "--validate-every", f"{max(5, args.seconds // 4)}s"]
            again = ["--resume"] if (run / "state").is_dir() else []
            fresh = ["--synthetic", "circle-spiral", *network, *plan, "--precision", "float32", "--workers", "0"]
            train = [*command, "meta-train", "-q", "-o", str(run), *(again or [*fresh, *ends, *options(name, value)])]
            subprocess.run(train, env=env, check=True)
            (run / "complete").touch()
        results = run / "eval.jsonl"
        ask = ["eval", "--suite", "circle-spiral", "--shots", ",".join(map(str, SHOTS)), "--episodes", "1"]
        ask += ["--methods", "vsa", "--checkpoint", str(run), "--json", str(results), "-q"]
        subprocess.run([*command, *ask], env=env, check=True, stdout=subprocess.DEVNULL)
        records = read_records(results)
        cells = "".join(f"{f'{s.mean:.3f} ± {s.stderr:.3f}':>16s}" for s in summarize(records, "accuracy"))
        tasks = f"{json.loads((run / 'state' / 'state.json').read_text())['tasks_seen']:,}"
        print(f"{value:>16s}{cells}{tasks:>10s}", flush=True)


if __name__ == "__main__":
    main()
