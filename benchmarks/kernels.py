"""The kernel ridge answers that the networks read, each model by itself, on the episodes of `vsa eval`.

    python benchmarks/kernels.py --suite CORPUS [--split train] [--kind regression] [--shots 1,3,5,10] [--most 150]

Prints the mean over families of accuracy (regression: squared error in units of the target's variance) of the six
models of `vsacli.nn.kernel_ridge`. By default classes have all other rows of a table unlabeled.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from combine import figure

from vsacli.evaluation.episodes import EpisodePlan, Setting, usable
from vsacli.evaluation.suites import load_suite
from vsacli.nn.kernel_ridge import MODELS, MORE_MODELS, kernel_ridge_answers
from vsacli.tasks.collate import collate

NAMES = ("linear", "RBF", "Laplace", "weighted", "few", "all")


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--kind", choices=("classification", "regression"), default="classification")
    parser.add_argument("--shots")
    parser.add_argument("--most", type=int, default=150, help="attributes of a table at most")
    args = parser.parse_args()
    classes = args.kind == "classification"
    shots = tuple(int(s) for s in (args.shots or ("1,3,5,10" if classes else "10,20,50")).split(","))
    plan = EpisodePlan(shots=shots, n_episodes=1, setting=Setting.pool if classes else Setting.balanced)
    found: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for table in load_suite(args.suite, split=args.split).select(kind=args.kind):
        if usable(table, shots) or table.x.shape[1] > args.most:
            continue
        for key in plan.all_keys():
            drawn = plan.draw(table, key)
            episode = drawn.episode
            answers = kernel_ridge_answers(collate([episode]).tasks, more=True)[0].double().numpy()
            of_unlabeled = answers[episode.n_labeled :, :, : MODELS + MORE_MODELS]  # (U, C, 6)
            given = episode.y[: episode.n_labeled]
            for i, name in enumerate(NAMES):
                if classes:
                    answer = of_unlabeled[:, :, i] + np.eye(episode.n_classes)[given].mean(0)
                else:
                    answer = drawn.center + drawn.spread * (of_unlabeled[:, 0, i] + given.mean(dtype=np.float64))
                found[name, key.shot][table.family].append(figure(table, drawn, answer))
    families = len(found[NAMES[0], shots[0]])
    print(f"{'accuracy' if classes else 'squared error'}, mean over {families} families, by number of labels")
    print(f"{'':9}" + "".join(f"{s:>9d}" for s in shots) + "     mean")
    for name in NAMES:
        means = [float(np.mean([np.mean(v) for v in found[name, s].values()])) for s in shots]
        print(f"{name:9}" + "".join(f"{m:9.4f}" for m in [*means, float(np.mean(means))]))


if __name__ == "__main__":
    main()
