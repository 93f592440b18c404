"""In whose company rows are answered: all read at once, in chunks, or asked about beside some that were read.

    python benchmarks/company.py --suite DIR --labels 5 whole chunks=64 chunks=256 asked=64 asked=256
    python benchmarks/company.py --suite DIR --kind regression --labels 50 whole chunks=256 asked=256
    python benchmarks/company.py --made 6000 --labels 128 chunks=256 asked=128   # a made table, for the time

From every table of the suite's validation split with at least --rows rows, so many labels (per class) are drawn, all
other rows are unlabeled, and the accuracy over them, or the squared error in units of their variance, is averaged over
families. Differences are to the first way, paired by family; processor time is of answers alone.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.kinds import TaskKind
from vsacli.tasks.draw import draw_balanced
from vsacli.tasks.store import EncodedTable

ROOM = 4 << 30  # bytes of a pass: enough for all rows at once


def main() -> None:
    """Print one row a way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="+", metavar="whole|chunks=ROWS|asked=ROWS")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--suite")
    source.add_argument("--made", type=int, metavar="ROWS", help="20 columns; three classes or a number along a line")
    parser.add_argument("--kind", choices=["classification", "regression"], default="classification")
    parser.add_argument("--checkpoint")
    parser.add_argument("--labels", type=int, default=5, help="labels, per class if there are classes")
    parser.add_argument("--rows", type=int, default=600, help="least rows of a table")
    parser.add_argument("--most-attributes", type=int, default=40)
    parser.add_argument("--draws", type=int, default=1)
    args = parser.parse_args()
    checkpoint = load_checkpoint(args.checkpoint, kind=args.kind)
    if args.suite is None:
        tables = [made_table(args.made, args.kind)]
    else:
        tables = [
            t
            for t in load_suite(args.suite, split="valid").select(kind=args.kind)
            if len(t.x) >= args.rows and t.x.shape[1] <= args.most_attributes and t.labeled.all()
        ]
    scores: dict[str, dict[str, list[float]]] = {way: defaultdict(list) for way in args.ways}
    seconds: dict[str, float] = defaultdict(float)
    for table in tables:
        for draw in range(args.draws):
            labeled = given_rows(table, args.labels, draw)
            if labeled is None:
                continue
            shown, codes = np.unique(table.y[labeled], return_inverse=True)
            y, n_classes = (codes, len(shown)) if args.kind == "classification" else (table.y[labeled], 0)
            for way in args.ways:
                start = time.process_time()
                found = predict(checkpoint, table.x, labeled, y, n_classes, config=config_of(way))
                seconds[way] += time.process_time() - start
                truth = table.y[~labeled]
                if n_classes:
                    score = (shown[found.probabilities.argmax(1)] == truth).mean()
                else:
                    score = np.mean((found.numbers[0] - truth) ** 2) / truth.var()
                scores[way][table.family].append(float(score))
    values = {way: np.array([np.mean(v) for v in scores[way].values()]) for way in args.ways}
    first = values[args.ways[0]]
    print(f"{len(tables)} tables of {len(first)} families, {args.labels} labels, all other rows unlabeled")
    for way in args.ways:
        change = values[way] - first
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else 0.0
        what = "accuracy" if args.kind == "classification" else "error"
        print(
            f"{way:12} {what} {values[way].mean():.4f}, difference {change.mean():+.4f} ± {error:.4f}, "
            f"{seconds[way]:6.1f} s"
        )


def made_table(rows: int, kind: TaskKind) -> EncodedTable:
    """Normal columns, and a target along a line: a number, or cut into three classes of equal size."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 20)).astype(np.float32)
    y = x @ rng.normal(size=20)
    if kind == "classification":
        y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    n_classes = 3 if kind == "classification" else 1
    return EncodedTable("made", "made", kind, x, np.arange(20, dtype=np.int32), y, n_classes)


def given_rows(table: EncodedTable, labels: int, draw: int) -> np.ndarray | None:
    """Labeled rows, bool (n,), drawn by class if there are classes; None if there are too few."""
    rng = np.random.default_rng(draw)
    labeled = np.zeros(len(table.x), bool)
    if table.kind == "regression":
        labeled[rng.choice(len(table.x), labels, replace=False)] = True
        return labeled
    drawn = draw_balanced(rng, table.y, labels, 0)
    if drawn is None:
        return None
    labeled[drawn[0]] = True
    return labeled


def config_of(way: str) -> InferenceConfig:
    """How a table is read that way; without a student."""
    name, _, size = way.partition("=")
    if name == "whole":
        return InferenceConfig(device="cpu", chunk_rows=1 << 30, memory=ROOM, student_from=None)
    if name == "chunks":
        return InferenceConfig(device="cpu", chunk_rows=int(size), memory=ROOM, beside_rows=0, student_from=None)
    if name != "asked":
        raise SystemExit(f"company.py: {way}: give whole, chunks=ROWS or asked=ROWS")
    together = int(size)
    return InferenceConfig(device="cpu", memory=ROOM, chunk_rows=together, beside_rows=together, student_from=None)


if __name__ == "__main__":
    main()
