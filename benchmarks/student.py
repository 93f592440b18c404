"""What a student saves on tables of very many rows, and what it costs in right answers.

    python benchmarks/student.py [--rows 60000] [--kind regression] [--checkpoint PATH]

Each table has a known truth: groups of rows with normal attributes (classes only), and tasks of the synthetic prior. It
is answered twice by the same network, with 10 labels a class or 30 numbers: with the student, and by the network alone
(`vsa label --exact`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.inference.answers import Answers
from vsacli.inference.config import STUDENT_FROM, InferenceConfig
from vsacli.inference.predict import predict
from vsacli.kinds import TaskKind
from vsacli.tasks.prior_source import random_tasks

LABELS, NUMBERS = 10, 30  # per class, or in all
SIZES = [(8, 2), (12, 3), (20, 5), (16, 2), (10, 2), (30, 4), (6, 3), (24, 8)]  # attributes and classes


def tables(kind: TaskKind, rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, attributes (n, M) and classes or numbers (n,)."""
    rng = np.random.default_rng(0)
    if kind == "classification":
        y = rng.integers(0, 3, rows)
        x = np.stack([y * rng.normal(0.8, 0.2) + rng.normal(size=rows) for _ in range(20)], 1)
        x[:, 1::2] = np.round(2 * x[:, 1::2])
        yield "groups", x.astype(np.float32), y
    for i, (attributes, classes) in enumerate(SIZES):
        xs, ys = random_tasks(rng, kind, 1, rows, attributes, classes)
        if len(np.unique(xs[0][:1000], axis=0)) < 500:
            continue  # most rows are alike: there is nothing to save
        y = np.unique(ys[0], return_inverse=True)[1] if kind == "classification" else ys[0].astype(np.float64)
        yield f"prior {i + 1}", xs[0], y


def labeled(y: np.ndarray, n_classes: int) -> np.ndarray:
    """The rows whose labels are given, bool (n,)."""
    given = np.zeros(len(y), bool)
    for c in range(n_classes):
        given[np.flatnonzero(y == c)[:LABELS]] = True
    if not n_classes:
        given[:NUMBERS] = True
    return given


def compared(student: Answers, network: Answers, truth: np.ndarray) -> str:
    """How often both are right, and alike; for numbers, squared errors in units of the spread."""
    if student.proba is None:
        (mean, _), (other, _) = student.numbers, network.numbers
        errors = [np.mean((m - truth) ** 2) / truth.var() for m in (mean, other)]
        apart = np.sqrt(np.mean((mean - other) ** 2) / truth.var())
        return f"squared error {errors[0]:.4f} against {errors[1]:.4f}   apart {apart:.3f}"
    right = [np.mean(a.probabilities.argmax(1) == truth) for a in (student, network)]
    same = np.mean(student.probabilities.argmax(1) == network.probabilities.argmax(1))
    return f"accuracy {right[0]:.4f} against {right[1]:.4f}   same class {same:.3f}"


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--kind", choices=["classification", "regression"], default="classification")
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    torch.set_num_threads(1)
    checkpoint = load_checkpoint(args.checkpoint, kind=args.kind)
    with_student = InferenceConfig(device="cpu", student_from=min(args.rows // 2, STUDENT_FROM))
    for name, x, y in tables(args.kind, args.rows):
        n_classes = int(y.max()) + 1 if args.kind == "classification" else 0
        given = labeled(y, n_classes)
        found: list[tuple[float, Answers]] = []
        for config in (with_student, replace(with_student, student_from=None)):
            start = time.process_time()
            answers = predict(checkpoint, x, given, y[given], n_classes, config=config)
            found.append((time.process_time() - start, answers))
        (fast, student), (slow, network) = found
        share = student.student_rows / np.sum(~given)
        size = f"{x.shape[1]:3} attributes" + (f" {n_classes} classes" if n_classes else "")
        print(
            f"{name:8} {size}   student {share:4.0%} of the rows   {compared(student, network, y[~given])}"
            f"   {fast:5.1f} s of CPU against {slow:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
