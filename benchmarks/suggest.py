"""Is labeling the suggested rows better than labeling random ones? The same budget, on the same tables.

    python benchmarks/suggest.py --suite DIR --kind classification --labels 2 --budget 10
    python benchmarks/suggest.py --suite DIR --kind regression --labels 10 --budget 10

Of each table --labels rows per class (of a regression: in all) are labeled and the others are not. A rule then chooses
--budget rows of one half of these, their labels are given, and the answers on the other half are scored: accuracy, or
minus the squared error in units of the target's variance. "gain" is what labeling improves; the last line is the gain
of the suggested rows over that of random ones. All rules see the same splits; random ones are drawn three times.

The rule was chosen on every second family of the suite (--families tuning); figures to report are those of the others
(--families held-out, the default).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.embed import embed
from vsacli.inference.predict import predict
from vsacli.insight.choose_rows import choose_rows
from vsacli.structure.distances import squared_distances
from vsacli.tasks.draw import draw_balanced
from vsacli.tasks.store import EncodedTable

Rule = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]


def random_rows(unlabeled: np.ndarray, _l: np.ndarray, _u: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(len(unlabeled))[:n]


def least_certain(_z: np.ndarray, _l: np.ndarray, uncertainty: np.ndarray, n: int, _r: object) -> np.ndarray:
    return np.argsort(-uncertainty, kind="stable")[:n]


def k_center(unlabeled: np.ndarray, labeled: np.ndarray, _u: np.ndarray, n: int, _r: object) -> np.ndarray:
    """Sener & Savarese, 2018: the row farthest from all that are labeled or chosen, again and again."""
    between, near = squared_distances(unlabeled, unlabeled), squared_distances(unlabeled, labeled).min(axis=1)
    chosen: list[int] = []
    for _ in range(n):
        chosen.append(int(near.argmax()))
        near = np.minimum(near, between[chosen[-1]])
    return np.array(chosen)


def suggested(z: np.ndarray, labeled: np.ndarray, uncertainty: np.ndarray, n: int, _r: object) -> np.ndarray:
    return choose_rows(z, labeled, uncertainty, n)


RULES: dict[str, Rule] = {
    "random": random_rows,
    "least certain": least_certain,
    "k-center": k_center,
    "suggested": suggested,
}


@dataclass
class Split:
    """Rows of a table: labeled at first, to choose from, to be scored."""

    table: EncodedTable
    rows: np.ndarray
    labeled: np.ndarray
    pool: np.ndarray
    test: np.ndarray


def split_table(table: EncodedTable, labels: int, most_rows: int, rng: np.random.Generator) -> Split | None:
    rows = rng.permutation(np.flatnonzero(table.labeled))[:most_rows]
    labeled = np.zeros(len(rows), bool)
    if table.kind == "classification":
        drawn = draw_balanced(rng, table.y[rows], labels, 0)
        if drawn is None:
            return None
        labeled[drawn[0]] = True
    else:
        labeled[rng.permutation(len(rows))[:labels]] = True
    rest = rng.permutation(np.flatnonzero(~labeled))
    return Split(table, rows, labeled, rest[: len(rest) // 2], rest[len(rest) // 2 :])


class Scorer:
    """The answers for a split, given some labels."""

    def __init__(self, checkpoint: Checkpoint, split: Split) -> None:
        self.checkpoint, self.split = checkpoint, split
        self.x, self.y = split.table.x[split.rows], split.table.y[split.rows]

    def ask(self, labeled: np.ndarray) -> tuple[float, np.ndarray]:
        """The score on the test rows, and the uncertainty of all rows (n,), 0 for labeled ones."""
        classes, y, n = self._targets(labeled)
        found = predict(self.checkpoint, self.x, labeled, y, n, config=InferenceConfig(device="cpu"))
        uncertainty, answer = np.zeros(len(self.y)), np.zeros(len(self.y))
        if found.proba is not None:
            uncertainty[~labeled] = 1 - found.proba.max(axis=1)
            answer[~labeled] = classes[found.proba.argmax(axis=1)]
            return float((answer == self.y)[self.split.test].mean()), uncertainty
        answer[~labeled], uncertainty[~labeled] = found.numbers
        return -float(np.mean((answer - self.y)[self.split.test] ** 2) / self.y.var()), uncertainty

    def embeddings(self, labeled: np.ndarray) -> np.ndarray:
        _, y, n = self._targets(labeled)
        return embed(self.checkpoint, self.x, labeled, y, n, config=InferenceConfig(device="cpu"))

    def _targets(self, labeled: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        if self.checkpoint.kind == "regression":
            return self.y[:0], self.y[labeled], 0
        classes, codes = np.unique(self.y[labeled], return_inverse=True)
        return classes, codes, len(classes)


def compare(
    checkpoint: Checkpoint, table: EncodedTable, labels: int, budget: int, repeats: int, rows: int
) -> dict[str, float] | None:
    """Mean score of a table before labeling ("before") and with the rows of each rule."""
    scores: dict[str, list[float]] = {name: [] for name in ("before", *RULES)}
    for repeat in range(repeats):
        split = split_table(table, labels, rows, np.random.default_rng(repeat))
        if split is None or len(split.pool) < 2 * budget:
            return None
        scorer = Scorer(checkpoint, split)
        before, uncertainty = scorer.ask(split.labeled)
        scores["before"].append(before)
        z = scorer.embeddings(split.labeled)
        for name, rule in RULES.items():
            for draw in range(3 if name == "random" else 1):
                rng = np.random.default_rng((repeat, draw))
                chosen = rule(z[split.pool], z[split.labeled], uncertainty[split.pool], budget, rng)
                labeled = split.labeled.copy()
                labeled[split.pool[chosen]] = True
                scores[name].append(scorer.ask(labeled)[0])
    return {name: float(np.mean(values)) for name, values in scores.items()}


def read_tables(args: argparse.Namespace) -> list[EncodedTable]:
    tables = [
        t
        for t in load_suite(args.suite, target=args.target).select(kind=args.kind)
        if t.labeled.sum() >= 200 and t.x.shape[1] <= 30 and t.n_classes <= 8
    ]
    families = {t.family: t for t in reversed(tables)}
    first = {"tuning": 0, "held-out": 1}.get(args.families)
    return [families[f] for f in sorted(families)][first :: 1 if first is None else 2]


def main() -> None:
    """Print a line a rule, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True, help="a folder; one table of each family (of a validation split)")
    parser.add_argument("--target", default="target", help="the label column of a folder without manifest")
    parser.add_argument("--kind", choices=["classification", "regression"], default="classification")
    parser.add_argument("--families", choices=["tuning", "held-out", "all"], default="held-out")
    parser.add_argument("--labels", type=int, default=2, help="labels per class at first (of a regression: in all)")
    parser.add_argument("--budget", type=int, default=10, help="rows labeled then")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=400, help="most rows of a table")
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    checkpoint = load_checkpoint(args.checkpoint, kind=args.kind)
    compared = (
        compare(checkpoint, table, args.labels, args.budget, args.repeats, args.rows) for table in read_tables(args)
    )
    found = [scores for scores in compared if scores is not None]
    if not found:
        parser.error(f"{args.suite} has no table of 200 rows, and at most 30 attributes and 8 classes")
    before = np.array([s["before"] for s in found])
    random = np.array([s["random"] for s in found])
    print(f"{len(found)} tables, {args.labels} labels {'per class' if args.kind == 'classification' else ''}".rstrip())
    print(f"before labeling: score {before.mean():.4f}")
    for rule in RULES:
        score = np.array([s[rule] for s in found])
        gap = score - random
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        print(
            f"{args.budget} rows, {rule:14s} score {score.mean():.4f}, gain {(score - before).mean():+.4f}, "
            f"over random {gap.mean():+.4f} ± {error:.4f}, better on {np.mean(gap > 0):.0%}"
        )
    best = np.array([s["suggested"] for s in found])
    print(f"gain of suggested rows / gain of random rows: {(best - before).mean() / (random - before).mean():.2f}")


if __name__ == "__main__":
    main()
