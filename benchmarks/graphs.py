"""Label propagation by metrics and strengths, over training tables: what the graph of `vsacli.structure` is made of.

    python benchmarks/graphs.py CORPUS [--tables 60] [--shots 1 5 10]

One table of each family with a declared target, at most 900 rows; k labels per class, all other rows unlabeled. The
mean accuracy and balanced accuracy over families, beside logistic regression on the labels alone. "classes" is the
graph in the space in which classes are round (vsacli.structure.class_space), from the answers of "as used" at 0.9 on.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from vsacli.structure.class_space import ClassSpace
from vsacli.structure.graph import Graph
from vsacli.structure.metric import Metric
from vsacli.support.threads import one_thread
from vsacli.tasks.cache import cache_folder
from vsacli.tasks.draw import draw_balanced
from vsacli.tasks.folder import cached_folder
from vsacli.tasks.store import EncodedTable

MOST_ROWS = 900
LEAST_OF_CLASS = 6
STRENGTHS = (0.99, 0.95, 0.9, 0.8, 0.5)


def z_scores(x: np.ndarray) -> np.ndarray:
    """Every attribute as z-scores, also those of two values."""
    metric = Metric.fit(x)
    points = np.where(np.isfinite(x), x - metric.centre, 0.0)
    return points / np.maximum(points.std(0), 1e-6)


def ranks(x: np.ndarray) -> np.ndarray:
    """Ranks of numbers, of unit spread; attributes of two values as in `Metric`."""
    points = Metric.fit(x).apply(x)
    for j in np.flatnonzero(Metric.fit(x).limited):
        seen = np.isfinite(x[:, j])
        points[seen, j] = np.sqrt(3) * ((rankdata(x[seen, j]) - 0.5) / seen.sum() * 2 - 1)
    return points


def principal(x: np.ndarray) -> np.ndarray:
    """The principal components that hold nine tenths of the variance."""
    points = Metric.fit(x).apply(x)
    u, s, _ = np.linalg.svd(points - points.mean(0), full_matrices=False)
    k = max(2, int(np.searchsorted(np.cumsum(s**2) / (s**2).sum(), 0.9)) + 1)
    return u[:, :k] * s[:k]


METRICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as used": lambda x: Metric.fit(x).apply(x),
    "z-scores": z_scores,
    "ranks": ranks,
    "both": lambda x: np.concatenate([Metric.fit(x).apply(x), ranks(x)], 1),
    "principal": principal,
}


def shares(graph: Graph, labeled: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    """Shares of the classes (n, C) of all rows, each class scaled to the same mass."""
    scores = np.maximum(graph.influence(labeled, alpha) @ np.eye(y.max() + 1)[y[labeled]], 1e-12)
    scores /= scores.sum(0)
    return scores / scores.sum(1, keepdims=True)


def figures(answer: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy and balanced accuracy."""
    right = answer == y
    return float(right.mean()), float(np.mean([right[y == c].mean() for c in np.unique(y)]))


def chosen_rows(table: EncodedTable, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Attributes and classes of some rows of a table, without rare classes."""
    rows = rng.permutation(np.flatnonzero(table.y >= 0))[:MOST_ROWS]
    classes, count = np.unique(table.y[rows], return_counts=True)
    rows = rows[np.isin(table.y[rows], classes[count >= LEAST_OF_CLASS])]
    return table.x[rows], np.unique(table.y[rows], return_inverse=True)[1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--shots", type=int, nargs="+", default=[1, 5, 10])
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    tables = cached_folder(args.corpus, cache_folder()).select(kind="classification", split="train").tables
    families = {t.family: t for t in tables if "declared" in t.tags}
    chosen = [families[f] for f in rng.permutation(sorted(families))[: args.tables]]
    found: dict[tuple[str, float], dict[int, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for table in chosen:
        x, y = chosen_rows(table, rng)
        if not len(y) or y.max() < 1:
            continue
        graphs = {name: Graph.of(metric(x)) for name, metric in METRICS.items()}
        points = Metric.fit(x).apply(x)
        for shots in args.shots:
            drawn = draw_balanced(rng, y, shots, 0)
            assert drawn is not None
            labeled = drawn[0]
            rest = np.setdiff1d(np.arange(len(y)), labeled)
            first = shares(graphs["as used"], labeled, y, 0.9)
            known = np.full(len(y), -1)
            known[labeled] = y[labeled]
            space = ClassSpace.fit(points, known, y.max() + 1, first)
            for name, graph in [*graphs.items(), ("classes", Graph.of(space.place(points)))]:
                for alpha in STRENGTHS if name in ("as used", "classes") else (0.99, 0.8):
                    answer = shares(graph, labeled, y, alpha).argmax(1)
                    found[name, alpha][shots].append(figures(answer[rest], y[rest]))
            model = LogisticRegression(max_iter=300).fit(points[labeled], y[labeled])
            found["logistic", 0][shots].append(figures(model.predict(points[rest]), y[rest]))
    print(f"{len(chosen)} families; accuracy / balanced accuracy by labels per class")
    print(f"{'metric':<12}{'strength':>9}" + "".join(f"{k:>16}" for k in args.shots))
    for (name, alpha), by_shots in found.items():
        cells = [f"{a:.4f} / {b:.4f}" for a, b in (np.mean(by_shots[k], 0) for k in args.shots)]
        print(f"{name:<12}{alpha or '':>9}" + "".join(f"{c:>16}" for c in cells))


if __name__ == "__main__":
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        main()
