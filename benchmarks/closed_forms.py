"""What closed forms are worth beside the network, for classes (vsacli.nn.closed_forms): on real and on made tables.

    python benchmarks/closed_forms.py --suite DIR --shots 3,5,10,30,100
    python benchmarks/closed_forms.py --made

Accuracy and log loss without -> with them, means over families: so many labels per class, all other rows (at most
1,200) unlabeled. Made tables have straight boundaries in 4, 8 and 20 attributes, noise or none, and 2 or 3 classes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from vsacli.baselines.trained import Trained
from vsacli.evaluation.episodes import EpisodePlan, Setting, usable
from vsacli.evaluation.suites import load_suite
from vsacli.nn.closed_forms import MOST
from vsacli.tasks.episode import Episode

LEAST = 1e-4  # probability that a log loss counts
MADE_ROWS, MADE_DRAWS = 300, 4


def figures(episode: Episode) -> np.ndarray:
    """Accuracy and log loss, without and with closed forms, (2, 2)."""
    y, found = episode.y[episode.n_labeled :][episode.scored], []
    for most in (0.0, MOST):
        with patch("vsacli.nn.closed_forms.MOST", most):
            probabilities = Trained().fit_predict(episode, np.random.default_rng(0)).probabilities[episode.scored]
        right = probabilities[np.arange(len(y)), y]
        found.append([(probabilities.argmax(1) == y).mean(), -np.log(np.maximum(right, LEAST)).mean()])
    return np.array(found)


def real(suite: str, split: str, shots: tuple[int, ...], setting: Setting) -> Iterator[tuple[str, int, Episode]]:
    """The family, the number of labels per class, and the episode."""
    for table in load_suite(suite, split=split).select(kind="classification"):
        for shot in shots:
            plan = EpisodePlan(shots=(shot,), n_episodes=1, setting=setting)
            if not usable(table, (shot,)):
                yield from ((table.family, shot, plan.draw(table, key).episode) for key in plan.all_keys())


def made(shots: tuple[int, ...]) -> Iterator[tuple[str, int, Episode]]:
    """The same of classes with straight boundaries."""
    for noise in (0.0, 0.4):
        for attributes in (4, 8, 20):
            for classes in (2, 3):
                for shot in shots:
                    for draw in range(MADE_DRAWS):
                        rng = np.random.default_rng(draw)
                        x = rng.normal(size=(4000, attributes))
                        scores = x @ rng.normal(size=(attributes, classes))
                        y = (scores + noise * attributes**0.5 * rng.gumbel(size=scores.shape)).argmax(1)
                        labeled = np.concatenate([np.flatnonzero(y == c)[:shot] for c in range(classes)])
                        rows = np.concatenate([labeled, np.setdiff1d(np.arange(4000), labeled)[:MADE_ROWS]])
                        scored = np.ones(len(rows) - len(labeled), bool)
                        episode = Episode(
                            x[rows].astype(np.float32), len(labeled), y[rows], "classification", classes, scored
                        )
                        yield f"{attributes} attributes{', noise' * bool(noise)}", shot, episode


def main() -> None:
    """Print a line for each number of labels; of made tables, for each kind and number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--shots", default="3,5,10,30,100")
    parser.add_argument("--natural", action="store_true", help="labels in each table's own class proportions")
    parser.add_argument("--made", action="store_true")
    args = parser.parse_args()
    shots = tuple(map(int, args.shots.split(",")))
    setting = Setting.natural if args.natural else Setting.pool
    found: dict[tuple[str, int], dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    episodes = made(shots) if args.made else real(args.suite, args.split, shots, setting)
    for family, shot, episode in episodes:
        found[family if args.made else "", shot][family].append(figures(episode))
    print(f"{'':24s}{'labels per class':>16s}{'accuracy':>17s}{'log loss':>17s}")
    for (kind, shot), families in sorted(found.items()):
        mean = np.mean([np.mean(each, 0) for each in families.values()], 0)
        cells = "".join(f"{f'{a:.3f} -> {b:.3f}':>17s}" for a, b in mean.T)
        print(f"{kind or f'{len(families)} families':24s}{shot:>16d}{cells}", flush=True)


if __name__ == "__main__":
    main()
