"""Tables with many classes: the network in groups of classes beside neighbours, logistic regression and a graph.

    python benchmarks/many_classes.py [--classes 26 50 100 200 384 1000] [--shots 1 3]
    python benchmarks/many_classes.py --suite CORPUS [--together 9] [--least 10]

Made tables: clusters that are clear, close, of correlated attributes among noise, on a curved surface, or of different
widths and skewed; 5 unlabeled rows for each class. Accuracy, log loss, and for the network the mean confidence. With
--suite: validation tables with at least so many classes, at most 100 attributes and 600 rows, all rows but the labels
unlabeled; all classes read together, in groups of at most 16, and in groups of at most --together. Mean over families.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from vsacli.baselines.registry import make_method
from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.tasks.cache import cache_folder
from vsacli.tasks.draw import draw_balanced
from vsacli.tasks.episode import Episode
from vsacli.tasks.folder import cached_folder

KINDS = ("clear", "close", "noisy", "curved", "skewed")
UNLABELED = 5
MOST_ROWS, MOST_ATTRIBUTES, LEAST_OF_CLASS = 600, 100, 6
FLOOR = 1e-6


def made(kind: str, classes: int, shots: int, rng: np.random.Generator) -> Episode:
    """A table of clusters with ``shots`` labels each."""
    y = np.concatenate([np.tile(np.arange(classes), shots), rng.integers(0, classes, UNLABELED * classes)])
    n = len(y)
    centres = rng.normal(size=(classes, 10))[y]
    noise = rng.normal(size=(n, 10))
    if kind == "clear":
        x = 3 * centres + noise
    elif kind == "close":
        x = 1.5 * centres + noise
    elif kind == "noisy":
        x = np.concatenate([3 * centres @ rng.normal(size=(10, 10)) / np.sqrt(10) + noise, rng.normal(size=(n, 6))], 1)
    elif kind == "curved":
        z = rng.uniform(size=(classes, 2))[y] + 0.35 / np.sqrt(classes) * rng.normal(size=(n, 2))
        x = np.cos(3 * z @ rng.normal(size=(2, 12)) + rng.uniform(0, 6, 12)) + 0.05 * rng.normal(size=(n, 12))
    else:
        x = np.exp(0.4 * (3 * centres + noise * np.exp(0.6 * rng.normal(size=(classes, 1)))[y]))
    return episode(x.astype(np.float32), y, shots * classes, classes)


def episode(x: np.ndarray, y: np.ndarray, n_labeled: int, classes: int) -> Episode:
    """Rows as an episode, labeled ones first."""
    return Episode(x, n_labeled, y.astype(np.int64), "classification", classes, np.ones(len(y) - n_labeled, bool))


def asked(checkpoint: Checkpoint, task: Episode, config: InferenceConfig) -> np.ndarray:
    """The network's class probabilities."""
    labeled = np.arange(len(task.x)) < task.n_labeled
    return predict(checkpoint, task.x, labeled, task.y[labeled], task.n_classes, config=config).probabilities


def figures(proba: np.ndarray, answer: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, log loss, and mean confidence."""
    right = proba.argmax(1) == answer
    loss = -np.log(np.maximum(proba[np.arange(len(answer)), answer], FLOOR))
    return float(right.mean()), float(loss.mean()), float(proba.max(1).mean())


def show(name: str, found: list[tuple[float, float, float]], seconds: float) -> None:
    """One line: means."""
    accuracy, loss, confidence = np.mean(found, 0)
    said = f"accuracy {accuracy:.3f}  log loss {loss:.2f}  confidence {confidence:.3f}"
    print(f"  {name:<16} {said}  {seconds:7.1f} s of CPU")


def made_tables(args: argparse.Namespace) -> None:
    """Every method on made tables, by number of classes and labels of each."""
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    others = {name: make_method(name) for name in ("knn", "logistic", "graph")}
    for classes in args.classes:
        for shots in args.shots:
            found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
            by_kind: dict[str, list[str]] = defaultdict(list)
            seconds: dict[str, float] = defaultdict(float)
            for k, kind in enumerate(KINDS):
                task = made(kind, classes, shots, np.random.default_rng([classes, shots, k]))
                for name in ("vsa", *others):
                    if name == "logistic" and classes > args.logistic_to:
                        continue
                    start = time.process_time()
                    if name == "vsa":
                        proba = asked(checkpoint, task, InferenceConfig(device="cpu"))
                    else:
                        proba = others[name].fit_predict(task, np.random.default_rng(0)).probabilities
                    seconds[name] += time.process_time() - start
                    found[name].append(figures(proba, task.answer))
                    by_kind[name].append(f"{found[name][-1][0]:.3f}")
            print(f"{classes} classes, {shots} labels of each ({', '.join(KINDS)})")
            for name, values in found.items():
                show(name, values, seconds[name])
                print(f"  {'':<16} {' '.join(by_kind[name])}", flush=True)


def real_tables(args: argparse.Namespace) -> None:
    """The network on real tables, its classes read together or in groups."""
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    whole = InferenceConfig(device="cpu", classes_together=10**6)
    configs = {"together": whole} | {
        f"groups of {size}": replace(whole, classes_together=size) for size in (16, args.together)
    }
    tables = cached_folder(args.suite, cache_folder()).select(kind="classification", split=args.split).tables
    rng = np.random.default_rng(0)
    for shots in args.shots:
        found: dict[str, dict[str, list[tuple[float, float, float]]]] = defaultdict(lambda: defaultdict(list))
        seconds: dict[str, float] = defaultdict(float)
        for table in tables:
            rows = rng.permutation(np.flatnonzero(table.y >= 0))[:MOST_ROWS]
            classes, count = np.unique(table.y[rows], return_counts=True)
            rows = rows[np.isin(table.y[rows], classes[count >= LEAST_OF_CLASS])]
            classes, y = np.unique(table.y[rows], return_inverse=True)
            if len(classes) < args.least or table.x.shape[1] > MOST_ATTRIBUTES:
                continue
            drawn = draw_balanced(rng, y, shots, 0)
            assert drawn is not None
            order = np.concatenate([drawn[0], np.setdiff1d(np.arange(len(y)), drawn[0])])
            task = episode(table.x[rows][order], y[order], len(drawn[0]), len(classes))
            line = []
            for name, config in configs.items():
                start = time.process_time()
                proba = asked(checkpoint, task, config)
                seconds[name] += time.process_time() - start
                found[name][table.family].append(figures(proba, task.answer))
                line.append(f"{found[name][table.family][-1][0]:.3f}")
            print(f"    {table.name:<40} {len(classes):>3} classes  {' '.join(line)}", flush=True)
        print(f"{shots} labels of each class, {len(found['together'])} families ({', '.join(configs)})")
        for name, families in found.items():
            show(name, [tuple(np.mean(values, 0)) for values in families.values()], seconds[name])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--classes", type=int, nargs="+", default=[26, 50, 100, 200, 384, 1000])
    parser.add_argument("--shots", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--logistic-to", type=int, default=384, help="most classes of logistic regression")
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--together", type=int, default=9)
    parser.add_argument("--least", type=int, default=10, help="fewest classes of a real table")
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    if args.suite:
        real_tables(args)
    else:
        made_tables(args)


if __name__ == "__main__":
    main()
