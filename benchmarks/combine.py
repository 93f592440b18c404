"""Whether other methods know what the network does not: averages of answers, and a ceiling, on the same episodes.

    python benchmarks/combine.py --suite DIR [--kind regression] [--methods vsa,forest,logistic,gp] [--draws 2]

Prints the mean over families of accuracy (regression: squared error) of each method, of the averages of the first
method's answers with each other's, and of all; and of a random forest that is given the labels of all other rows of
the table ("ceiling"): how much the attributes tell at all.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from functools import partial

import numpy as np

from vsacli.baselines.base import Method
from vsacli.baselines.registry import make_method
from vsacli.evaluation.episodes import DrawnEpisode, EpisodePlan, make_episode, usable
from vsacli.evaluation.suites import load_suite
from vsacli.tasks.store import EncodedTable


def answers(method: Method, drawn: DrawnEpisode, rng: np.random.Generator) -> np.ndarray:
    """Class probabilities (U, C), or means (U,) in the table's own units."""
    prediction = method.fit_predict(drawn.episode, rng)
    if prediction.proba is not None:
        return prediction.proba
    return drawn.center + drawn.spread * prediction.numbers[0]


def figure(table: EncodedTable, drawn: DrawnEpisode, answer: np.ndarray) -> float:
    """Accuracy, or the squared error on targets of unit deviation."""
    y = table.y[drawn.rows[drawn.episode.n_labeled :]]
    if table.kind == "classification":
        return float((answer.argmax(1) == y).mean())
    return float(((answer - y) ** 2).mean() / table.y[table.labeled].var())


def main() -> None:
    """Print one row a method or combination."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--kind", choices=("classification", "regression"), default="classification")
    parser.add_argument("--methods")
    parser.add_argument("--checkpoint")
    parser.add_argument("--shots")
    parser.add_argument("--draws", type=int, default=2)
    args = parser.parse_args()
    classes = args.kind == "classification"
    names = (args.methods or ("vsa,logistic,forest,gp" if classes else "vsa,ridge,forest,gp")).split(",")
    shots = tuple(int(s) for s in (args.shots or ("1,3,5,10" if classes else "10,15,20")).split(","))
    made: dict[str, Method] = {
        n: make_method(n, checkpoint=args.checkpoint) if n == "vsa" and args.checkpoint else make_method(n)
        for n in names
    }
    forest = make_method("forest")
    plan = EpisodePlan(shots=shots, n_episodes=args.draws)
    found: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(partial(defaultdict, list))
    for table in load_suite(args.suite, split=args.split).select(kind=args.kind):
        if usable(table, shots):
            continue
        for key in plan.all_keys():
            drawn = plan.draw(table, key)
            each = {n: answers(m, drawn, np.random.default_rng(key.number)) for n, m in made.items()}
            tried = dict(each)
            for other in names[1:]:
                tried[f"{names[0]} + {other}"] = np.mean([each[names[0]], each[other]], axis=0)
            tried[" + ".join(names)] = np.mean(list(each.values()), axis=0)
            asked = drawn.rows[drawn.episode.n_labeled :]
            whole = make_episode(table, np.setdiff1d(np.flatnonzero(table.labeled), asked), asked)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ceiling = answers(forest, whole, np.random.default_rng(0))
            for name, answer in tried.items():
                found[name, key.shot][table.family].append(figure(table, drawn, answer))
            found["ceiling", key.shot][table.family].append(figure(table, whole, ceiling))
    rows = list(dict.fromkeys(name for name, _ in found))
    families = len(found["ceiling", shots[0]])
    print(f"{'accuracy' if classes else 'squared error'}, mean over {families} families, by number of labels")
    width = max(map(len, rows))
    print(" " * width + "".join(f"{s:>9d}" for s in shots) + "     mean")
    for name in rows:
        means = [float(np.mean([np.mean(v) for v in found[name, s].values()])) for s in shots]
        print(f"{name:{width}s}" + "".join(f"{m:9.4f}" for m in [*means, float(np.mean(means))]))


if __name__ == "__main__":
    main()
