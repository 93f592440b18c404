"""What known class proportions are worth, and how to use them: on validation tables, with their true proportions.

    python benchmarks/proportions.py CORPUS [--tables 30] [--shots 1 5] [--checkpoint PATH]

One table of each family, those with a declared target first, at most 800 rows; k labels per class, all other rows
unlabeled. Accuracy and balanced accuracy over families, as answered and with the probabilities multiplied by factors
of several kinds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.inference.proportions import class_factors, multiplied
from vsacli.tasks.store import EncodedTable

MOST_ROWS, LEAST_ROWS, LEAST_OF_CLASS = 800, 100, 7
MOST_ATTRIBUTES, MOST_CLASSES = 25, 10

WAYS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "as answered": lambda proba, wanted: np.ones(len(wanted)),
    "pi": lambda proba, wanted: wanted,
    "pi / mean": lambda proba, wanted: wanted / proba.mean(axis=0),
    "square root": lambda proba, wanted: np.sqrt(wanted / proba.mean(axis=0)),
    "matched": class_factors,
}


def chosen(tables: list[EncodedTable], n: int) -> list[EncodedTable]:
    """One table a family, declared targets first, in an order drawn once."""
    fits = [t for t in tables if t.x.shape[1] <= MOST_ATTRIBUTES and t.n_classes <= MOST_CLASSES]
    order = [fits[i] for i in np.random.default_rng(0).permutation(len(fits))]
    found: dict[str, EncodedTable] = {}
    for table in sorted(order, key=lambda t: "declared" not in t.tags):
        if table.labeled.sum() >= LEAST_ROWS:
            found.setdefault(table.family, table)
    return list(found.values())[:n]


def measure(checkpoint: Checkpoint, table: EncodedTable, shots: list[int]) -> np.ndarray | None:
    """Accuracy, balanced accuracy and log loss of each way at each number of labels, (shots, ways, 3)."""
    rng = np.random.default_rng(sum(map(ord, table.name)))
    rows = rng.permutation(np.flatnonzero(table.labeled))[:MOST_ROWS]
    classes, counts = np.unique(table.y[rows], return_counts=True)
    rows = rows[np.isin(table.y[rows], classes[counts >= LEAST_OF_CLASS])]
    y = np.unique(table.y[rows], return_inverse=True)[1]
    n_classes = len(np.unique(y))
    if n_classes < 2:
        return None
    found = []
    for k in shots:
        given = np.zeros(len(y), bool)
        given[np.concatenate([np.flatnonzero(y == c)[:k] for c in range(n_classes)])] = True
        config = InferenceConfig(device="cpu")
        proba = predict(checkpoint, table.x[rows], given, y[given], n_classes, config=config).proba
        assert proba is not None
        wanted = np.bincount(y[~given], minlength=n_classes) / (~given).sum()
        found.append([figures(multiplied(proba, way(proba, wanted)), y[~given]) for way in WAYS.values()])
    return np.array(found)


def figures(proba: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, balanced accuracy and log loss."""
    right = proba.argmax(axis=1) == y
    loss = -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-6))
    return float(right.mean()), float(np.mean([right[y == c].mean() for c in np.unique(y)])), float(loss.mean())


def main() -> None:
    """Print a row a way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--shots", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    tables = list(load_suite(args.corpus, split="valid").select(kind="classification"))
    measured = [measure(checkpoint, table, args.shots) for table in chosen(tables, args.tables)]
    found = np.array([one for one in measured if one is not None])
    mean = found.mean(axis=0)
    print(f"{len(found)} families; accuracy / balanced accuracy / log loss by labels per class")
    print(f"{'':20}" + "".join(f"{k:>24}" for k in args.shots))
    names = list(WAYS)
    for w, name in enumerate(names):
        print(f"{name:20}" + "".join("{:>10.3f} / {:.3f} / {:.3f}".format(*mean[s, w]) for s in range(len(args.shots))))
    for other in ("as answered", "pi / mean"):
        gain = found[:, :, names.index("matched"), 0] - found[:, :, names.index(other), 0]
        error = gain.std(axis=0) / np.sqrt(len(gain))
        told = ", ".join(f"{g:+.3f} ± {e:.3f}" for g, e in zip(gain.mean(axis=0), error, strict=True))
        print(f"accuracy of matched against {other}: {told}")


if __name__ == "__main__":
    main()
