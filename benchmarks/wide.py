"""What reading a wide table in groups of attributes does to the answers, and to time.

    python benchmarks/wide.py --suite DIR --labels 1,5,10
    python benchmarks/wide.py --suite DIR --kind regression --labels 10,50 --sizes 64,128,all

Every table of the suite with at least --least attributes, validation tables and others: from each, so many labels (a
class) are drawn and 20 more rows (per class; for numbers 80 in all) of at most five classes are left unlabeled. For
regression there are few such tables, so tables of 600 attributes are also made: of a few hidden factors, of sparse
linear effects, of hidden factors seen through tanh. Accuracies are means over classes, errors are squared and in units
of the spread of the rows asked. Groups are of so many attributes; "all" is one group, "default" what `vsa label` does:
of very many attributes only those are read that tell most of the classes. Tables that the network was trained on (with
at most 64 of their attributes at a time) are among these: compare groups here, not methods.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.metrics import balanced_accuracy
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.kinds import TaskKind

ALL, DEFAULT = 1 << 30, 0
Task = tuple[np.ndarray, np.ndarray, np.ndarray]  # x (N, M), y (N,) and labeled (N,), labeled rows first


def classes(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, labels: int) -> Task | None:
    """So many labels per class of at most five classes, and at most 20 other rows of each."""
    there, count = np.unique(y, return_counts=True)
    there = there[count >= labels + 3]
    if len(there) < 2:
        return None
    chosen = rng.permutation(there)[:5]
    rows = [rng.permutation(np.flatnonzero(y == c))[: labels + 20] for c in chosen]
    order = np.concatenate([r[:labels] for r in rows] + [r[labels:] for r in rows])
    codes = np.searchsorted(np.sort(chosen), y[order])
    return x[order], codes, np.arange(len(order)) < labels * len(chosen)


def numbers(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, labels: int) -> Task | None:
    """So many labels, and 80 other rows."""
    order = rng.permutation(len(y))[: labels + 80]
    return x[order], y[order].astype(np.float64), np.arange(len(order)) < labels


def made(name: str, seed: int, n: int = 400, m: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """A wide regression table."""
    rng = np.random.default_rng(seed)
    if name == "sparse":
        x = rng.normal(size=(n, m))
        y = x[:, :10] @ rng.normal(size=10) + 0.3 * rng.normal(size=n)
    else:
        hidden = rng.normal(size=(n, 6 if name == "factors" else 20))
        x = hidden @ rng.normal(size=(hidden.shape[1], m))
        x = x + rng.normal(size=(n, m)) if name == "factors" else np.tanh(x / 3) + 0.5 * rng.normal(size=(n, m))
        y = hidden[:, 0] + hidden[:, 1] * hidden[:, 2] if name == "factors" else np.sin(hidden[:, 0])
        y = y + 0.3 * rng.normal(size=n)
    return x.astype(np.float32), y


def score(checkpoint: Checkpoint, task: Task, size: int) -> float:
    """Balanced accuracy, or squared error in units of the spread of the rows asked."""
    x, y, labeled = task
    config = InferenceConfig(device="cpu")
    if size != DEFAULT:
        config = replace(config, attributes_together=(size * 3 // 2, size))
    n_classes = int(y.max()) + 1 if checkpoint.kind == "classification" else 0
    answer = predict(checkpoint, x, labeled, y[labeled], n_classes, config=config)
    truth = y[~labeled]
    if answer.proba is not None:
        return balanced_accuracy(truth, answer.proba.argmax(1))
    assert answer.mean is not None
    return float(((answer.mean - truth) ** 2).mean() / truth.var())


def main() -> None:
    """Print one row a number of labels: the mean over tables for each size of groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--kind", choices=["classification", "regression"], default="classification")
    parser.add_argument("--checkpoint")
    parser.add_argument("--labels", default="1,5,10")
    parser.add_argument("--sizes", default="64,128,256,512,all", help="attributes of a group")
    parser.add_argument("--least", type=int, default=200, help="least attributes of a table")
    parser.add_argument("--repeats", type=int, default=4, help="draws of each table")
    args = parser.parse_args()
    kind: TaskKind = args.kind
    checkpoint = load_checkpoint(args.checkpoint, kind=kind)
    tables = [
        (t.name, t.x, t.y)
        for t in load_suite(args.suite, split="all").select(kind=kind)
        if t.x.shape[1] >= args.least and t.labeled.all()
    ]
    if kind == "regression":
        tables += [(f"{name} {seed}", *made(name, seed)) for name in ("factors", "sparse", "tanh") for seed in (0, 1)]
    names = {ALL: "all", DEFAULT: "default"}
    sizes = [*(ALL if size == "all" else int(size) for size in args.sizes.split(",")), DEFAULT]
    print(f"{len(tables)} tables: {', '.join(f'{name} ({x.shape[1]})' for name, x, _ in tables)}")
    print("labels   " + "".join(f"{names.get(s, s):>9}" for s in sizes))
    spent: dict[int, float] = defaultdict(float)
    for labels in map(int, args.labels.split(",")):
        found: dict[int, list[float]] = defaultdict(list)
        for _, x, y in tables:
            for repeat in range(args.repeats):
                rng = np.random.default_rng([repeat, labels])
                task = (classes if kind == "classification" else numbers)(rng, x, y, labels)
                for size in sizes if task is not None else ():
                    assert task is not None
                    start = time.process_time()
                    found[size].append(score(checkpoint, task, size))
                    spent[size] += time.process_time() - start
        print(f"{labels:<9}" + "".join(f"{np.mean(found[s]):9.3f}" for s in sizes), flush=True)
    print("CPU s    " + "".join(f"{spent[s]:9.1f}" for s in sizes))


if __name__ == "__main__":
    main()
