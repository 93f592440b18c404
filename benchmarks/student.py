"""What a student saves on tables of very many rows, and what it costs in right answers.

    python benchmarks/student.py [--rows 60000] [--checkpoint PATH]

Each table has a known truth: groups of rows with normal attributes, and tasks of the synthetic prior. It is answered
twice by the same network with 10 labels a class: with the student, and by the network alone (`vsa label --exact`).
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
from vsacli.tasks.prior_source import random_tasks

LABELS = 10  # per class


def tables(rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, attributes (n, M) and classes (n,)."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    x = np.stack([y * rng.normal(0.8, 0.2) + rng.normal(size=rows) for _ in range(20)], 1)
    x[:, 1::2] = np.round(2 * x[:, 1::2])
    yield "groups", x.astype(np.float32), y
    for i, (attributes, classes) in enumerate([(8, 2), (12, 3), (20, 5), (16, 2), (10, 2), (30, 4), (6, 3), (24, 8)]):
        xs, ys = random_tasks(rng, "classification", 1, rows, attributes, classes)
        if len(np.unique(xs[0][:1000], axis=0)) < 500:
            continue  # most rows are alike: there is nothing to save
        yield f"prior {i + 1}", xs[0], np.unique(ys[0], return_inverse=True)[1]


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    torch.set_num_threads(1)
    checkpoint = load_checkpoint(args.checkpoint, kind="classification")
    with_student = InferenceConfig(device="cpu", student_from=min(args.rows // 2, STUDENT_FROM))
    for name, x, y in tables(args.rows):
        n_classes = int(y.max()) + 1
        given = np.zeros(len(y), bool)
        for c in range(n_classes):
            given[np.flatnonzero(y == c)[:LABELS]] = True
        found: list[tuple[float, Answers]] = []
        for config in (with_student, replace(with_student, student_from=None)):
            start = time.process_time()
            answers = predict(checkpoint, x, given, y[given], n_classes, config=config)
            found.append((time.process_time() - start, answers))
        (fast, student), (slow, network) = found
        right = [np.mean(a.probabilities.argmax(1) == y[~given]) for a in (student, network)]
        same = np.mean(student.probabilities.argmax(1) == network.probabilities.argmax(1))
        share = student.student_rows / np.sum(~given)
        print(
            f"{name:8} {x.shape[1]:3} attributes {n_classes} classes   student {share:4.0%} of the rows"
            f"   accuracy {right[0]:.4f} against {right[1]:.4f}   same class {same:.3f}"
            f"   {fast:5.1f} s of CPU against {slow:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
