"""Every learning method of the paper, meta-trained with the same time and compared on the same episodes.

    python benchmarks/compare_methods.py --seconds 1800 --out runs/compare                 # Table 1(a): Circle-Spiral
    python benchmarks/compare_methods.py --seconds 900 --out runs/compare --suite CORPUS  # Table 1(b)'s counterpart
    python benchmarks/compare_methods.py --seconds 900 --out runs/compare --suite CORPUS --kind regression  # Table 4's
    python benchmarks/compare_methods.py --seconds 60 --out runs/quick --methods vsa,proto,hml --episodes 1

Networks and episodes are the paper's; since its 5,000 epochs are out of reach, the learning rate is higher, warms up
and falls. With `--preset small` all methods are trained by our own recipe instead, and ours is the small network. Each
run has one thread and `--seconds` of processor time, validation included, so that neither other runs (`--jobs`) nor
other work on the machine take any of it. A method whose folder is complete is not trained again, one that was cut off
is resumed, with the same settings, and so is the comparison. Of a corpus the episodes are `varied` ones of up to 40
attributes: whole tables of a thousand columns would take AttHML's time alone. Printed beside the paper's figures:
accuracy (or squared error), and what a step costs in training (its Table 3), in processor time on batches that are the
same for all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processor_clock import ProcessorClock

from vsacli.evaluation.results import read_records
from vsacli.evaluation.statistics import summarize
from vsacli.methods.registry import NETWORKS
from vsacli.training.request import Request
from vsacli.training.run import RUN_FILE, RunSpec

CIRCLE_SPIRAL = "circle-spiral"
RATES = {"meta-rbf-gp": 1e-2, "lp": 1e-2}  # a handful of numbers, which have far to go
RATE = 5e-4
SHOTS = {"classification": (1, 3, 5), "regression": (10, 15, 20)}
WARM_UP, MEASURED = 2, 12  # steps
DONE = "compared.json"  # in a run's folder when it is complete

# Mean of the paper's tables by method and number of labels.
PAPER_CIRCLE_SPIRAL = {
    "GP": (0.357, 0.379, 0.401),
    "LP": (0.361, 0.380, 0.396),
    "MAML": (0.441, 0.486, 0.502),
    "Proto": (0.461, 0.503, 0.510),
    "HML": (0.536, 0.660, 0.692),
    "AttHML": (0.661, 0.972, 0.991),
    "SemiProto": (0.662, 0.710, 0.731),
    "MetaLP": (0.344, 0.639, 0.761),
    "AttHMLLP": (0.345, 0.351, 0.804),
    "Ours": (0.974, 0.991, 0.992),
}
PAPER_OPENML = {
    "GP": (0.602, 0.644, 0.663),
    "LP": (0.587, 0.623, 0.635),
    "MAML": (0.547, 0.575, 0.583),
    "Proto": (0.548, 0.575, 0.584),
    "HML": (0.546, 0.582, 0.598),
    "AttHML": (0.581, 0.634, 0.659),
    "SemiProto": (0.607, 0.654, 0.671),
    "MetaLP": (0.604, 0.644, 0.660),
    "AttHMLLP": (0.527, 0.574, 0.586),
    "Ours": (0.647, 0.703, 0.715),
}
PAPER_REGRESSION = {
    "GP": (0.899, 0.861, 0.834),
    "MAML": (0.992, 0.996, 0.957),
    "MetaGP": (0.989, 0.994, 0.961),
    "HML": (0.763, 0.715, 0.687),
    "AttHML": (0.665, 0.620, 0.581),
    "SemiMetaGP": (0.845, 0.787, 0.729),
    "Ours": (0.628, 0.600, 0.550),
}
PAPER_HOURS = {
    "GP": 3.0,
    "LP": 2.3,
    "MAML": 18.6,
    "Proto": 2.0,
    "HML": 7.6,
    "AttHML": 50.0,
    "SemiProto": 3.1,
    "MetaLP": 4.5,
    "AttHMLLP": 34.4,
    "Ours": 9.9,
}


@dataclass
class Cost:
    """What meta-training a method took."""

    weights: int
    steps: int
    tasks: int
    trained: float  # processor seconds, validation included
    step: float  # processor milliseconds of a step: forward, backward, Adam


def main() -> None:
    """Train what is not trained yet, evaluate, print."""
    args = arguments()
    methods = chosen(args)
    os.environ["OMP_NUM_THREADS"] = "1"  # read by processes when they start
    runs = {m: args.out / f"{suite_name(args)}-{args.kind}" / m for m in methods}
    refuse_others(runs, args)
    todo = {m: run for m, run in runs.items() if not (run / DONE).is_file()}
    for method in runs.keys() - todo.keys():
        print(f"{method}: trained already, {runs[method]}", flush=True)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.jobs, mp_context=spawn, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(train, method, run, args) for method, run in todo.items()]):
            print(done.result(), flush=True)
    results = args.out / f"{suite_name(args)}-{args.kind}.jsonl"
    evaluate(runs, results, args)
    print(accuracy_table(results, methods, args))
    print()
    print(cost_table({m: Cost(**json.loads((run / DONE).read_text())) for m, run in runs.items()}))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, required=True, help="of the processor, for each method")
    parser.add_argument("--out", type=Path, required=True, help="folder of all runs and results")
    parser.add_argument("--suite", default=CIRCLE_SPIRAL, metavar="DIR", help="circle-spiral, or a folder of tables")
    parser.add_argument("--kind", default="classification", choices=list(SHOTS))
    parser.add_argument("--methods", help="some of them, with commas; default: all that serve the kind")
    parser.add_argument("--also", default="", help="methods to evaluate beside, as in knn,logistic,gp")
    parser.add_argument("--episodes", type=int, default=2, help="of each table and number of labels, in the comparison")
    parser.add_argument("--split", help="of a folder, for the comparison; default: as vsa eval chooses")
    parser.add_argument("--learning-rate", type=float, default=RATE)
    parser.add_argument("--rate", action="append", default=[], metavar="METHOD=R", help="its learning rate; repeatable")
    parser.add_argument(
        "--preset", default="paper", choices=("paper", "small", "default"), help="recipe, and our network"
    )
    parser.add_argument("--validations", type=int, help="in a run; default: 40, or 6 of a corpus, which take longer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, and processes of the comparison")
    args = parser.parse_args()
    if args.suite == CIRCLE_SPIRAL and args.kind == "regression":
        parser.error("circle-spiral has classes only; give a folder with --suite")
    if args.suite != CIRCLE_SPIRAL and not Path(args.suite).is_dir():
        parser.error(f"--suite {args.suite}: no such folder")
    return args


def chosen(args: argparse.Namespace) -> list[str]:
    """The methods, in the paper's order with ours last."""
    usable = [m for m, info in NETWORKS.items() if args.kind in info.kinds]
    asked = args.methods.split(",") if args.methods else usable
    unknown = sorted(set(asked) - set(usable))
    if unknown:
        sys.exit(f"no method for {args.kind}: {', '.join(unknown)}; there are {', '.join(usable)}")
    return sorted(asked, key=lambda m: (m == "vsa", usable.index(m)))


def suite_name(args: argparse.Namespace) -> str:
    """What the suite's runs are called."""
    return Path(args.suite).resolve().name if args.suite != CIRCLE_SPIRAL else args.suite


def refuse_others(runs: dict[str, Path], args: argparse.Namespace) -> None:
    """End here if a run, complete or cut off, has other settings than those asked for."""
    for method, run in runs.items():
        if (run / RUN_FILE).is_file():
            theirs, ours = RunSpec.load(run).config.to_dict(), new_run(method, args).config.to_dict()
            if unlike := [name for name in ours if ours[name] != theirs[name]]:
                sys.exit(f"{run} has other settings ({', '.join(unlike)}): repeat its own, or give another --out")


def train(method: str, run: Path, args: argparse.Namespace) -> str:
    """Meta-train a method, or the rest of it, and record what it took; returns a line about it."""
    import torch

    from vsacli.training.assemble import assemble
    from vsacli.training.distributed import Group
    from vsacli.training.run import sole_run

    start, resumed = time.monotonic(), (run / "state").is_dir()
    with sole_run(run):
        spec = RunSpec.load(run) if resumed else new_run(method, args)
        trainer = assemble(spec, run, torch.device("cpu"), group=Group(), resumed=resumed).trainer
        trainer.clock = ProcessorClock(trainer.clock.before)
        trainer.run()
    cost = Cost(
        weights=count_weights(run / "model.safetensors"),
        steps=trainer.step,
        tasks=trainer.tasks_seen,
        trained=round(trainer.clock.elapsed, 1),
        step=step_milliseconds(spec),
    )
    (run / DONE).write_text(json.dumps(vars(cost)) + "\n")
    return f"{method}: {cost.steps:,} steps, {time.monotonic() - start:,.0f} s in all, {run}"


def new_run(method: str, args: argparse.Namespace) -> RunSpec:
    """The run of a method, from the start."""
    import torch

    return request(method, args).new_run(torch.device("cpu"), shlex.join(sys.argv))


def request(method: str, args: argparse.Namespace) -> Request:
    """What is asked of the run of a method."""
    circle = args.suite == CIRCLE_SPIRAL
    rates = RATES | {m: float(r) for m, _, r in (text.partition("=") for text in args.rate)}
    training: dict[str, Any] = {
        "max_time": args.seconds,
        "validate_every": max(5, args.seconds // (args.validations or (40 if circle else 6))),
        "learning_rate": rates.get(method, args.learning_rate),
        "workers": 0,
        "seed": args.seed,
    }
    if args.preset == "paper":
        training |= {"schedule": "cosine", "warmup": 0.05, "average": 0.99}
    if not circle:
        training |= {"plain": False}
    return Request(
        data=None if circle else [args.suite],
        synthetic=[CIRCLE_SPIRAL] if circle else None,
        kind=args.kind,
        preset=args.preset if method == "vsa" or args.preset == "paper" else "default",
        method=method,
        episodes={} if circle else {"attributes": (3, 40), "tasks": (8, 8)},
        training=training,
    )


def step_milliseconds(spec: RunSpec) -> float:
    """Mean processor time of a step of a run, on its first batches."""
    import torch

    from vsacli.methods.registry import build_network
    from vsacli.tasks.cache import cache_folder
    from vsacli.training.batches import OVERHEAD, StepBatches
    from vsacli.training.optimizer import build_optimizers
    from vsacli.training.sources import collect
    from vsacli.training.update import Updater

    config, device = spec.config, torch.device("cpu")
    tables = collect(spec.sources, spec.kind, cache=cache_folder(), plain=config.plain)
    sampler = tables.sampler(spec.kind, config.episodes, config.seed, config.plain)
    batches = StepBatches(sampler, overhead=OVERHEAD["cpu"])
    net = build_network(config.model)
    update = Updater(config, net, net, build_optimizers(net, config), device, True, lambda note: None)
    total = 0.0
    for step in range(WARM_UP + MEASURED):
        parts = batches[step]
        if not isinstance(parts, list):
            raise parts
        start = time.process_time()
        update(parts, 1.0, 1.0)
        total += time.process_time() - start if step >= WARM_UP else 0.0
    return total / MEASURED * 1e3


def count_weights(path: Path) -> int:
    """Numbers in a file of weights."""
    from safetensors.numpy import load_file

    return sum(v.size for v in load_file(path).values())


def evaluate(runs: dict[str, Path], results: Path, args: argparse.Namespace) -> None:
    """`vsa eval` of all runs at once; it resumes where it was cut off."""
    names = [*runs, *filter(None, args.also.split(","))]
    command = [sys.executable, "-m", "vsacli", "eval", "--suite", args.suite, "--task", args.kind]
    command += ["--methods", ",".join(names)]
    command += [word for run in runs.values() for word in ("--checkpoint", str(run))]
    command += ["--shots", ",".join(map(str, SHOTS[args.kind])), "--episodes", str(args.episodes), "--device", "cpu"]
    command += ["--seed", str(args.seed), "--jobs", str(args.jobs), "--json", str(results)]
    command += ["--split", args.split] if args.split else []
    print(shlex.join(["vsa", *command[3:]]), flush=True)
    if subprocess.run(command, check=False).returncode:
        sys.exit("the comparison failed; the same command resumes from here")


def accuracy_table(results: Path, methods: list[str], args: argparse.Namespace) -> str:
    """Ours beside the paper's; * where not different from the best at the 5% level."""
    classes = args.kind == "classification"
    paper, what = PAPER_REGRESSION, "Table 4, squared error"
    if classes:
        circle = args.suite == CIRCLE_SPIRAL
        paper, what = (PAPER_CIRCLE_SPIRAL, "Table 1(a)") if circle else (PAPER_OPENML, "Table 1(b)")
        what += ", accuracy"
    records = [r for r in read_records(results) if r.kind == args.kind]
    found = {(s.method, s.shot): s for s in summarize(records, "accuracy" if classes else "mse")}
    shots = SHOTS[args.kind]
    lines = [f"{what}: {args.seconds} s of the processor each on {suite_name(args)}; in brackets the paper's"]
    lines.append(f"{'method':<18s}" + "".join(f"{f'labels: {k}':>26s}" for k in shots))
    for method in [*methods, *filter(None, args.also.split(","))]:
        title = NETWORKS[method].title if method in NETWORKS else ""
        cells = ""
        for i, shot in enumerate(shots):
            s = found.get((method, shot))
            told = "failed" if s is None else f"{s.mean:.3f} ± {s.stderr:.3f}{'*' if s.bold else ' '}"
            cells += f"{f'{told} ({paper[title][i]:.3f})' if title in paper else told:>26s}"
        lines.append(f"{method:<18s}{cells}")
    return "\n".join(lines)


def cost_table(costs: dict[str, Cost]) -> str:
    """What a step takes, in itself and relative to ours, beside the paper's hours relative to ours."""
    ours = costs.get("vsa")
    lines = [
        "Table 3, cost of meta-training on one thread; relative to ours, in brackets the paper's hours over its own"
    ]
    lines.append(
        f"{'method':<18s}{'weights':>9s}{'steps':>9s}{'tasks':>10s}{'CPU s':>9s}{'ms a step':>11s}{'relative':>16s}"
    )
    for method, c in costs.items():
        relative = "" if ours is None else f"{c.step / ours.step:.2f}"
        hours = PAPER_HOURS.get(NETWORKS[method].title)
        relative += "" if hours is None else f" ({hours / PAPER_HOURS['Ours']:.2f})"
        lines.append(
            f"{method:<18s}{c.weights:>9,d}{c.steps:>9,d}{c.tasks:>10,d}{c.trained:>9,.0f}{c.step:>11.1f}"
            f"{relative:>16s}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
