"""What it is worth that a closed form answers where it is far surer than the network (vsacli.nn.answers.with_exact).

    python benchmarks/exact_answers.py --suite DIR --labels 10,20,40

On the tables of numbers of a suite, with so many labels drawn at random and up to 200 other rows: squared error in
variances of a table's numbers, and the geometric mean of its ratio on tables that are well known already (by the
network alone, at least 85% of the variance) and on the others.
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

import numpy as np

from vsacli.baselines.trained import load
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.inference.reading import Known
from vsacli.nn.answers import FAR_SURER
from vsacli.tasks.store import EncodedTable

UNLABELED, FEWEST, WELL_KNOWN = 200, 20, 0.15


def both_ways(table: EncodedTable, n_labels: int, rng: np.random.Generator) -> np.ndarray:
    """The squared errors, and shares of targets in intervals of 90%, without and with the closed form, (2, 2)."""
    order = rng.permutation(np.flatnonzero(table.labeled))[: n_labels + UNLABELED]
    truth, labeled, found = table.y[order[n_labels:]], np.arange(len(order)) < n_labels, []
    for surer in (1e9, FAR_SURER):
        with patch("vsacli.nn.answers.FAR_SURER", surer):
            answers = predict(
                load(None, "regression"),
                table.x[order],
                labeled,
                table.y[order[:n_labels]],
                config=InferenceConfig(device="cpu"),
                known=Known(further=table.further, logarithms=False),
            )
        mean, std = answers.numbers
        away = np.abs(mean - truth)
        found.append([np.square(away).mean() / table.y[table.labeled].var(), (away <= 1.645 * std).mean()])
    return np.array(found)


def main() -> None:
    """Print a line for each number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--labels", default="10,20,40")
    args = parser.parse_args()
    tables = load_suite(args.suite, split=args.split).select(kind="regression")
    print(f"{'labels':>6s} {'tables':>6s} {'squared error':>18s} {'in 90%':>18s}   ratio of errors: well known, others")
    for n_labels in map(int, args.labels.split(",")):
        asked = [t for t in tables if t.labeled.sum() >= n_labels + FEWEST]
        found = np.array(
            [both_ways(t, n_labels, np.random.default_rng([place, n_labels])) for place, t in enumerate(asked)]
        )
        before, after = found[:, 0, 0], found[:, 1, 0]
        known, ratios = before < WELL_KNOWN, np.log(np.maximum(after, 1e-9) / np.maximum(before, 1e-9))
        cells = "".join(f"{f'{a:.3f} -> {b:.3f}':>19s}" for a, b in found.mean(0).T)
        said = f"{np.exp(ratios[known].mean()):.2f} ({known.sum()}), {np.exp(ratios[~known].mean()):.3f}"
        print(f"{n_labels:>6d} {len(asked):>6d}{cells}   {said}", flush=True)


if __name__ == "__main__":
    main()
