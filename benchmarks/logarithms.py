"""What it is worth to answer logarithms of numbers where these fit the labels better (vsacli.inference.target_scale).

    python benchmarks/logarithms.py --suite DIR --labels 10,20,40 --draws 3

On the tables of a suite whose numbers are all above 0, with so many labels drawn at random and up to 250 other rows:
how often logarithms are chosen, and there, both ways of answering. Errors are in deviations of a table's numbers; the
means are over families.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from vsacli.baselines.trained import load
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.inference.reading import Known
from vsacli.tasks.store import EncodedTable

UNLABELED, FEWEST = 250, 20
COLUMNS = ("squared error", "absolute", "median", "in 90%")


def figures(mean: np.ndarray, std: np.ndarray, truth: np.ndarray, spread: float) -> list[float]:
    """The figures of `COLUMNS`."""
    away = np.abs(mean - truth)
    errors = [np.square(away).mean() / spread**2, away.mean() / spread, np.median(away) / spread]
    return [*map(float, errors), float((away <= 1.645 * std).mean())]


def both_ways(table: EncodedTable, n_labels: int, rng: np.random.Generator) -> np.ndarray | None:
    """The figures of answers as the numbers stand and as chosen, (2, 4); None if logarithms are not chosen."""
    order = rng.permutation(np.flatnonzero(table.labeled))[: n_labels + UNLABELED]
    y = table.y[order[:n_labels]]
    labeled = np.arange(len(order)) < n_labels
    network, config, found = load(None, "regression"), InferenceConfig(device="cpu"), []
    for logarithms in (True, False):
        known = Known(further=table.further, logarithms=logarithms)
        answers = predict(network, table.x[order], labeled, y, config=config, known=known)
        if logarithms and not answers.logarithms:
            return None
        found.append(figures(*answers.numbers, table.y[order[n_labels:]], float(table.y[table.labeled].std())))
    return np.array(found[::-1])


def main() -> None:
    """Print a table for each number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--labels", default="10,20,40")
    parser.add_argument("--draws", type=int, default=1)
    args = parser.parse_args()
    tables = load_suite(args.suite, split=args.split).select(kind="regression")
    positive = [t for t in tables if t.y[t.labeled].min() > 0]
    print(f"{'labels':>6s} {'chosen':>12s} {'families':>8s}  " + "".join(f"{name:>18s}" for name in COLUMNS))
    for n_labels in map(int, args.labels.split(",")):
        by_family: dict[str, list[np.ndarray]] = defaultdict(list)
        asked = [t for t in positive if t.labeled.sum() >= n_labels + FEWEST]
        for place, table in enumerate(asked):
            for draw in range(args.draws):
                found = both_ways(table, n_labels, np.random.default_rng([place, n_labels, draw]))
                if found is not None:
                    by_family[table.family].append(found)
        chosen = f"{sum(map(len, by_family.values()))} of {len(asked) * args.draws}"
        mean = np.mean([np.mean(each, axis=0) for each in by_family.values()], axis=0)  # (2, 4)
        cells = "".join(f"{f'{stands:.3f} -> {logs:.3f}':>18s}" for stands, logs in mean.T)
        print(f"{n_labels:>6d} {chosen:>12s} {len(by_family):>8d}  {cells}", flush=True)


if __name__ == "__main__":
    main()
