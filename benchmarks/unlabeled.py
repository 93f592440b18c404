"""Whether more unlabeled rows help: the same rows, labeled with more and more others read beside them.

    python benchmarks/unlabeled.py --suite DIR --shots 1,3,5,10 --counts 0,5,20,100 [--plot PATH] [--checkpoint PATH]

From every classification table of the suite's validation split that has enough rows, labeled rows and --scored rows a
class are drawn. These are asked for one by one (count 0), in groups of 5 a class, all together, or together with
others, up to the largest count a class. Labels and scored rows are the same each time, so differences are paired:
they are to count 0, over families, beside their standard error. The paper's Figure 6(b). With --json, means as records
that sweep.py --plot draws.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.tasks.store import EncodedTable


def draw(table: EncodedTable, shots: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Labeled rows and unlabeled ones, (C, shots) and (C, n), or None where a class has too few."""
    rows = [rng.permutation(np.flatnonzero(table.y == c)) for c in range(table.n_classes)]
    if min(len(r) for r in rows) < shots + n:
        return None
    return np.array([r[:shots] for r in rows]), np.array([r[shots : shots + n] for r in rows])


def accuracy(
    checkpoint: Checkpoint, table: EncodedTable, labeled: np.ndarray, unlabeled: np.ndarray, scored: int, count: int
) -> float:
    """Share of right answers for the first ``scored`` unlabeled rows a class, read ``count`` a class at a time."""
    config = replace(InferenceConfig(), chunk_rows=1 if count == 0 else 1 << 20, memory=4 << 30)
    size = scored if count == 0 else min(count, scored)
    right: list[np.ndarray] = []
    for start in range(0, scored, size):
        part = unlabeled[:, start : start + size]
        asked = part.size
        others = unlabeled[:, scored : scored + count - size] if count > size else unlabeled[:, :0]
        rows = np.concatenate([labeled.ravel(), part.ravel(), others.ravel()])
        known = np.arange(len(rows)) < labeled.size
        answer = predict(
            checkpoint, table.x[rows], known, table.y[rows][known], table.n_classes, device="cpu", config=config
        )
        assert answer.proba is not None
        right.append(answer.proba.argmax(1)[:asked] == table.y[part.ravel()])
    return float(np.concatenate(right).mean())


def main() -> None:
    """Print one row a number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--checkpoint")
    parser.add_argument("--shots", default="1,3,5,10", help="labels a class")
    parser.add_argument("--counts", default="0,5,20,100", help="unlabeled rows a class that are read together")
    parser.add_argument("--scored", type=int, default=20, help="rows a class that are asked for")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--most-attributes", type=int, default=40)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    shots, counts = ([int(s) for s in text.split(",")] for text in (args.shots, args.counts))
    need = max(args.scored, *counts)
    found: dict[int, dict[str, list[list[float]]]] = {s: defaultdict(list) for s in shots}
    used = set()
    for table in load_suite(args.suite, split=args.split).select(kind="classification"):
        if table.x.shape[1] > args.most_attributes or not table.labeled.all():
            continue
        for shot in shots:
            for number in range(args.draws):
                drawn = draw(table, shot, need, np.random.default_rng([number, shot]))
                if drawn is not None:
                    used.add(table.name)
                    found[shot][table.family].append(
                        [accuracy(checkpoint, table, *drawn, args.scored, count) for count in counts]
                    )
    print(
        f"{len(used)} tables; accuracy on the same {args.scored} rows a class, by unlabeled rows a class read together"
    )
    print("labels a class  families" + "".join(f"{c:>24d}" for c in counts))
    means, records = {}, []
    for shot in shots:
        values = np.array([np.mean(v, axis=0) for v in found[shot].values()])  # (families, counts)
        change = values - values[:, :1]
        error = change.std(0, ddof=1) / np.sqrt(len(change))
        means[shot] = values.mean(0)
        spread = values.std(0, ddof=1) / np.sqrt(len(values))
        records += [
            {"vary": "asked", "value": str(c), "suite": Path(args.suite).resolve().name, "seconds": 0, "seed": 0}
            | {"tasks": 0, "shot": shot, "accuracy": float(m), "stderr": float(e)}
            for c, m, e in zip(counts, means[shot], spread, strict=True)
        ]
        cells = [f"{means[shot][0]:.4f}"]
        cells += [
            f"{m:.4f} ({d:+.3f}±{e:.3f})"
            for m, d, e in zip(means[shot][1:], change.mean(0)[1:], error[1:], strict=True)
        ]
        print(f"{shot:14d}  {len(values):8d}" + "".join(f"{c:>24s}" for c in cells))
    if args.json:
        args.json.write_text("".join(json.dumps(r) + "\n" for r in records))
    if args.plot:
        picture(args.plot, counts, means)


def picture(path: Path, counts: list[int], means: dict[int, np.ndarray]) -> None:
    """Accuracy by unlabeled rows, a line for each number of labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    for shot, values in means.items():
        axes.plot(range(len(counts)), values, marker="o", label=f"{shot} label{'s' * (shot > 1)} a class")
    axes.set_xticks(range(len(counts)), [str(c) for c in counts])
    axes.set(xlabel="unlabeled rows a class read together (0: one row at a time)", ylabel="accuracy")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
