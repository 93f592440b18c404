"""One setting of the network or of its training varied, all else equal: the paper's Figures 6(a, c, d) and 7, Table 2.

    python benchmarks/sweep.py --vary tables=8,32,128,512 --suite CORPUS --seconds 90 --model layers=1 --out runs/sweep
    python benchmarks/sweep.py --vary layers=1,2,3 --suite CORPUS --seconds 90 --out runs/sweep
    python benchmarks/sweep.py --vary heads=1,2,4 --suite CORPUS --seconds 90 --out runs/sweep
    python benchmarks/sweep.py --vary unlabeled=1,5,20 --seconds 60 --seeds 0,1,2 --model layers=1 --out runs/sweep
    python benchmarks/sweep.py --vary ablation=none,ExampleAttn,AttributeAttn,w/oObsInd,w/oAttLabInd,w/oRes,w/oLN ...
    python benchmarks/sweep.py --plot docs/img/sweeps.svg --records docs/sweeps.jsonl

Every value gets a run of its own on Circle-Spiral or on the training tables of a folder (no synthetic ones), on one
thread and with the same time, and all are asked about the same tasks: 100 of Circle-Spiral that none has seen, or the
folder's validation tables. Complete runs are not repeated. With `tables` the run learns from so many tables; with
`heads`, the width of all heads together stays the same. `unlabeled` is the paper's Figure 7: the number of unlabeled
rows per class in training, on 40 tasks, each asked about 500 unlabeled rows with one label per class. Results are also
written to sweep.jsonl in --out, which --records names for a picture, with those of unlabeled.py --json as Figure 6(b).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vsacli.evaluation.results import read_records
from vsacli.evaluation.statistics import summarize

CIRCLE_SPIRAL = "circle-spiral"
NETWORK = {"layers": 3, "width": 32, "heads": 4, "head_width": 8, "ff_width": 64, "channels": 4}
SHOTS = (1, 3, 5)
TASKS_OF_FIGURE_7, UNLABELED_OF_FIGURE_7 = 40, 500
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}
VSA = [sys.executable, "-m", "vsacli"]
PANELS = {  # setting: title, label of the axis
    "tables": ("6(a) tables in meta-training", "tables"),
    "asked": ("6(b) unlabeled rows known together", "unlabeled rows in all (0: one row at a time)"),
    "layers": ("6(c) layers", "pairs of blocks"),
    "heads": ("6(d) heads", "heads"),
    "unlabeled": ("7 unlabeled rows in meta-training", "unlabeled rows per class in training"),
}


@dataclass(frozen=True)
class Point:
    """Accuracy of one run at one number of labels per class.

    Attributes
    ----------
    vary, value : the setting and what it was
    suite, seconds, seed : what else decides the run
    tasks : those that training has seen
    shot : labels per class
    accuracy, stderr : mean over families, and its standard error
    """

    vary: str
    value: str
    suite: str
    seconds: int
    seed: int
    tasks: int
    shot: int
    accuracy: float
    stderr: float


def main() -> None:
    """Train, evaluate, print one row per value; or draw what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vary", metavar="NAME=V,V,...")
    parser.add_argument("--suite", default=CIRCLE_SPIRAL, metavar="DIR", help="circle-spiral, or a folder of tables")
    parser.add_argument("--seconds", type=int, help="of meta-training, for each value")
    parser.add_argument("--out", type=Path, help="folder of all runs")
    parser.add_argument("--seeds", default="0", help="a run for each of them")
    parser.add_argument("--model", action="append", default=[], metavar="FIELD=VALUE", help="the network, beside")
    parser.add_argument("--plot", type=Path, help="draw the figures from --records, or from those of --out")
    parser.add_argument("--records", type=Path, metavar="JSONL")
    args = parser.parse_args()
    if args.vary:
        if not (args.seconds and args.out):
            parser.error("--vary needs --seconds and --out")
        sweep(args)
    if args.plot:
        if not (args.records or args.out):
            parser.error("--plot needs --records or --out")
        records = args.records or args.out / "sweep.jsonl"
        picture(args.plot, read_points(records))


def read_points(path: Path) -> list[Point]:
    """Those of a file; of results that were taken twice the last ones."""
    points = [Point(**json.loads(line)) for line in path.read_text().splitlines()]
    return list({(p.vary, p.value, p.suite, p.seed, p.shot): p for p in points}.values())


def sweep(args: argparse.Namespace) -> None:
    """All values of a setting, each by each seed."""
    name, _, values = args.vary.partition("=")
    shots = (1,) if name == "unlabeled" else SHOTS
    print(
        f"{name:>16s}{'seed':>6s}" + "".join(f"{f'{s} per class':>16s}" for s in shots) + f"{'tasks':>10s}", flush=True
    )
    for value in values.split(","):
        for seed in map(int, args.seeds.split(",")):
            called = [suite_name(args), *args.model, name, value.replace("/", ""), f"{args.seconds}s", f"seed{seed}"]
            run = args.out / "-".join(called)
            if not (run / "complete").is_file():
                again = ["--resume"] if (run / "state").is_dir() else recipe(name, value, seed, args)
                subprocess.run([*VSA, "meta-train", "-q", "-o", str(run), *again], env=ENVIRONMENT, check=True)
                (run / "complete").touch()
            tasks = json.loads((run / "state" / "state.json").read_text())["tasks_seen"]
            found = one_label_among_many(run) if name == "unlabeled" else asked(run, args.suite)
            points = [
                Point(name, value, suite_name(args), args.seconds, seed, tasks, shot, mean, error)
                for shot, mean, error in found
            ]
            with (args.out / "sweep.jsonl").open("a") as file:
                file.writelines(json.dumps(asdict(p)) + "\n" for p in points)
            cells = "".join(f"{f'{p.accuracy:.3f} ± {p.stderr:.3f}':>16s}" for p in points)
            print(f"{value:>16s}{seed:>6d}{cells}{tasks:>10,d}", flush=True)


def suite_name(args: argparse.Namespace) -> str:
    """What the suite's runs are called."""
    return args.suite if args.suite == CIRCLE_SPIRAL else Path(args.suite).resolve().name


def recipe(name: str, value: str, seed: int, args: argparse.Namespace) -> list[str]:
    """The options of `vsa meta-train`; of a field of the network given twice the last one counts."""
    read = value if name == "unlabeled" else None
    fields = [*(f"{k}={v}" for k, v in NETWORK.items()), *args.model]
    network = [word for field in fields for word in ("--model", field)]
    ends = ["--max-time", f"{args.seconds}s", "--seed", str(seed), "--workers", "0"]
    if args.suite == CIRCLE_SPIRAL:
        source = ["--synthetic", CIRCLE_SPIRAL, "--model", "standardize=false", "--precision", "float32"]
        drawn = ["--episodes", "plain", "--shots", "1-5", "--unlabeled", read or "20", "--batch", "16"]
        ends += ["--validate-every", f"{max(5, args.seconds // 4)}s"]
    else:
        source = ["--data", args.suite]
        drawn = ["--episodes", "varied", "--shots", "1-5", "--unlabeled", read or "5-20", "--attributes", "3-20"]
        drawn += ["--cells", "8000"]
        ends += ["--validate-every", f"{args.seconds}s"]  # on a corpus they take their time
    return [*source, *network, *drawn, *ends, *varied(name, value)]


def varied(name: str, value: str) -> list[str]:
    """What a value of the setting changes."""
    if name == "ablation":
        return [] if value == "none" else ["--ablation", value]
    if name == "tables":
        return ["--tables", value]
    if name == "unlabeled":
        return ["--tables", str(TASKS_OF_FIGURE_7)]
    if name == "heads":
        together = NETWORK["heads"] * NETWORK["head_width"]
        return ["--model", f"heads={value}", "--model", f"head_width={together // int(value)}"]
    return ["--model", f"{name}={value}"]


def asked(run: Path, suite: str) -> list[tuple[int, float, float]]:
    """Accuracy by number of labels per class, each with its mean and standard error, by `vsa eval`."""
    results = run / "eval.jsonl"
    ask = ["eval", "--suite", suite, "--task", "classification", "--shots", ",".join(map(str, SHOTS))]
    ask += ["--episodes", "1", "--jobs", "1", "--device", "cpu"]
    ask += ["--methods", "vsa", "--checkpoint", str(run), "--json", str(results), "-q"]
    subprocess.run([*VSA, *ask], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return [(s.shot, s.mean, s.stderr) for s in summarize(read_records(results), "accuracy")]


def one_label_among_many(run: Path) -> list[tuple[int, float, float]]:
    """Accuracy with one label per class and 500 unlabeled rows, all read together, on 100 tasks of Circle-Spiral."""
    import torch

    from vsacli.checkpoints.resolve import load_checkpoint
    from vsacli.evaluation.suites import circle_spiral_tables
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict

    torch.set_num_threads(1)
    checkpoint = load_checkpoint(run, kind="classification")
    together = InferenceConfig(device="cpu", chunk_rows=1 << 20, memory=4 << 30)
    right = []
    for table in circle_spiral_tables(0, n_examples=UNLABELED_OF_FIGURE_7 + 5):
        first = np.array([np.flatnonzero(table.y == c)[0] for c in range(table.n_classes)])
        others = np.setdiff1d(np.arange(len(table.y)), first)[:UNLABELED_OF_FIGURE_7]
        rows = np.concatenate([first, others])
        known = np.arange(len(rows)) < len(first)
        answer = predict(checkpoint, table.x[rows], known, table.y[first], table.n_classes, config=together)
        assert answer.proba is not None
        right.append(float((answer.proba.argmax(1) == table.y[others]).mean()))
    return [(1, float(np.mean(right)), float(np.std(right, ddof=1) / np.sqrt(len(right))))]


def picture(path: Path, points: list[Point]) -> None:
    """A panel for each setting on each suite: accuracy by its value, a line for each number of labels per class."""
    import matplotlib

    matplotlib.rcParams.update({"svg.hashsalt": "vsa", "svg.fonttype": "none", "font.size": 8})
    from matplotlib.figure import Figure

    panels = [(name, s) for name in PANELS for s in sorted({p.suite for p in points if p.vary == name})]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.1 * columns, 2.6 * rows), layout="constrained", facecolor="white")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    shots = sorted({p.shot for p in points})
    for axes, (name, suite) in zip(grid, panels, strict=False):
        own = [p for p in points if (p.vary, p.suite) == (name, suite)]
        values = sorted({p.value for p in own}, key=float)
        for color, shot in enumerate(shots):
            line = [[p for p in own if (p.value, p.shot) == (value, shot)] for value in values]
            if not all(line):
                continue
            means = [float(np.mean([p.accuracy for p in at])) for at in line]
            errors = [deviation(at) for at in line]
            label = f"{shot} label{'s' * (shot > 1)} per class"
            axes.errorbar(
                range(len(values)), means, errors, marker="o", ms=3, capsize=2, color=f"C{color}", label=label
            )
            for i, at in enumerate(line):
                if len(at) > 1:  # seeds
                    axes.plot([i] * len(at), [p.accuracy for p in at], "x", ms=4, color=f"C{color}", alpha=0.5)
        title, label = PANELS[name]
        axes.set_title(f"{title}\n{suite}", fontsize=8)
        axes.set_xticks(range(len(values)), values)
        axes.set(xlabel=label, ylabel="accuracy")
        axes.grid(alpha=0.3)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    lines = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    names = sorted(lines, key=lambda label: int(label.split()[0]))
    figure.legend([lines[n] for n in names], names, loc="outside lower center", ncols=len(names), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def deviation(points: list[Point]) -> float:
    """The standard error of a mean over seeds; of a single run that over families."""
    if len(points) == 1:
        return points[0].stderr
    return float(np.std([p.accuracy for p in points], ddof=1) / np.sqrt(len(points)))


if __name__ == "__main__":
    main()
