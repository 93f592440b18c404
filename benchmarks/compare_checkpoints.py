"""Whether one checkpoint is better than another: the same episodes of validation tables, many draws of each, paired.

    python benchmarks/compare_checkpoints.py --suite DIR --kind regression RUN-A RUN-B [--draws 8]
    python benchmarks/compare_checkpoints.py --suite DIR --pool RUN-A RUN-B [--draws 2]

With ``--pool`` all other rows of a table, up to 600, are unlabeled, and the networks read their structure; without it
episodes are those of the paper (20 unlabeled rows of each class).

Prints for each checkpoint the accuracy (or squared error) by number of labels, the negative log likelihood, the seconds
of processor time, and the mean difference to the first checkpoint with its standard error over families.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
import torch

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.tasks.episode import Episode
from vsacli.training.run import POOL_ROWS
from vsacli.training.validate import ValidationPlan, batches_by_size, score_batch, validation_episodes

CELLS = 30_000  # rows x slots answered together


def figures(checkpoint: str, episodes: dict[int, list[Episode]]) -> dict[tuple[int, str], np.ndarray]:
    """Mean score and negative log likelihood by number of labels and family."""
    model = load_checkpoint(checkpoint).model.eval()
    found: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for labels, group in episodes.items():
        for batch in batches_by_size(group, CELLS):
            scores, losses = score_batch(model, batch, torch.device("cpu"), None)
            for episode, score, loss in zip(batch, scores, losses, strict=True):
                found[labels, episode.family].append((score, loss))
    return {key: np.mean(values, 0) for key, values in found.items()}


def by_family(values: dict[tuple[int, str], np.ndarray]) -> dict[str, float]:
    """The score of each family, averaged over numbers of labels."""
    families: dict[str, list[float]] = defaultdict(list)
    for (_, family), (score, _) in values.items():
        families[family].append(float(score))
    return {family: float(np.mean(scores)) for family, scores in families.items()}


def main() -> None:
    """Print a row for each checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+")
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--kind", choices=("classification", "regression"), default="classification")
    parser.add_argument("--pool", action="store_true", help="all other rows are unlabeled")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--most-attributes", type=int, default=100, help="wider tables are left out")
    parser.add_argument("--seed", type=int, default=4242)
    args = parser.parse_args()
    suite, episodes = load_suite(args.suite, split=args.split), defaultdict[int, list[Episode]](list)
    for draw in range(args.draws):
        plan = ValidationPlan(repeats=1, max_attributes=args.most_attributes, seed=args.seed + draw)
        if args.pool:
            plan = replace(plan, repeats=0, pool_rows=POOL_ROWS)
        for labels, group in validation_episodes(suite, args.kind, plan).items():
            episodes[labels] += group
    families = {e.family for group in episodes.values() for e in group}
    score = "accuracy" if args.kind == "classification" else "squared error"
    count = sum(len(group) for group in episodes.values())
    print(f"{score} by number of labels, {count:,} episodes of {len(families)} families")
    width = max(map(len, args.checkpoints))
    head = "".join(f"{k:>8d}" for k in episodes)
    print(f"{'':{width}s}{head}    mean     nll   seconds   against the first")
    first: dict[str, float] = {}
    for checkpoint in args.checkpoints:
        start = time.process_time()
        values = figures(checkpoint, episodes)
        seconds = time.process_time() - start
        means = [np.mean([v for (k, _), v in values.items() if k == labels], 0) for labels in episodes]
        own = by_family(values)
        first = first or own
        apart = np.array([own[f] - first[f] for f in families])
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        cells = "".join(f"{m[0]:8.4f}" for m in means)
        mean, loss = np.mean(means, 0)
        print(
            f"{checkpoint:{width}s}{cells}{mean:8.4f}{loss:8.4f}{seconds:10.0f}   {apart.mean():+.4f} ± {error:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
