"""What reading a table in chunks does to accuracy: the same rows labeled in chunks of several sizes.

    python benchmarks/chunking.py --suite DIR --labels 5 --sizes 16,64,256,1024

From every classification table of the suite's validation split with at least --rows rows, so many
labels per class are drawn, all other rows are unlabeled, and the accuracy over them is averaged over
families. Differences are to the largest size, paired by table.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.tasks.draw import draw_balanced


def main() -> None:
    """Print one row a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--checkpoint")
    parser.add_argument("--labels", type=int, default=5, help="labels per class")
    parser.add_argument("--sizes", default="16,64,256,1024", help="unlabeled rows read together")
    parser.add_argument("--rows", type=int, default=600, help="least rows of a table")
    parser.add_argument("--most-attributes", type=int, default=40)
    args = parser.parse_args()
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    sizes = sorted(int(s) for s in args.sizes.split(","))
    tables = [
        t
        for t in load_suite(args.suite, split="valid").select(kind="classification")
        if len(t.x) >= args.rows and t.x.shape[1] <= args.most_attributes and t.labeled.all()
    ]
    hits: dict[int, dict[str, list[float]]] = {s: defaultdict(list) for s in sizes}
    for table in tables:
        drawn = draw_balanced(np.random.default_rng(0), table.y, args.labels, 0)
        if drawn is None:
            continue
        labeled = np.zeros(len(table.x), bool)
        labeled[drawn[0]] = True
        shown, codes = np.unique(table.y[labeled], return_inverse=True)
        for size in sizes:
            config = InferenceConfig(device="cpu", chunk_rows=size, memory=4 << 30)
            p = predict(checkpoint, table.x, labeled, codes, len(shown), config=config)
            hits[size][table.family].append(float((shown[p.probabilities.argmax(1)] == table.y[~labeled]).mean()))
    values = {s: np.array([np.mean(v) for v in hits[s].values()]) for s in sizes}
    whole = values[sizes[-1]]
    print(f"{len(tables)} tables of {len(whole)} families, {args.labels} labels per class, all other rows unlabeled")
    for size in sizes:
        change = values[size] - whole
        error = change.std(ddof=1) / np.sqrt(len(change))
        mean = values[size].mean()
        print(f"chunks of {size:5d} rows: accuracy {mean:.4f}, difference {change.mean():+.4f} ± {error:.4f}")


if __name__ == "__main__":
    main()
