"""Whether more unlabeled rows help: the same rows, labeled with more and more others known beside them.

    python benchmarks/unlabeled.py --suite DIR --shots 1,3,5,10 --counts 0,20,100,1000 [--plot PATH] [--checkpoint PATH]

From every classification table of the suite's validation split that has enough rows, labels of each class are drawn,
and unlabeled rows in the table's own proportions. The first --scored of these are asked for one by one (count 0), in
groups of 20, or together with others, up to the largest count in all. Labels and scored rows are the same each time, so
differences are paired: they are to count 0, over families, beside their standard error. The paper's Figure 6(b).
--methods compares others with the network. With --json, means of the first method are written as records that
sweep.py --plot draws.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from vsacli.baselines.base import Method
from vsacli.baselines.registry import make_method
from vsacli.evaluation.episodes import EpisodePlan, Setting, usable
from vsacli.evaluation.statistics import standard_error
from vsacli.evaluation.suites import load_suite
from vsacli.tasks.episode import Episode


def accuracy(method: Method, episode: Episode, scored: int, count: int) -> float:
    """Share of right answers for the first ``scored`` unlabeled rows, ``count`` unlabeled rows known at a time."""
    size, n = min(max(count, 1), scored), episode.n_labeled
    right: list[np.ndarray] = []
    for start in range(0, scored, size):
        part = np.arange(n + start, n + min(start + size, scored))
        others = np.arange(n + scored, n + scored + max(0, count - len(part)))
        rows = np.concatenate([np.arange(n), part, others])
        asked = replace(episode, x=episode.x[rows], y=episode.y[rows], scored=episode.scored[rows[n:] - n])
        answer = method.fit_predict(asked, np.random.default_rng(0))
        right.append(answer.probabilities[: len(part)].argmax(1) == episode.y[part])
    return float(np.concatenate(right).mean())


def main() -> None:
    """Print one row a method and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--methods", default="vsa")
    parser.add_argument("--checkpoint")
    parser.add_argument("--shots", default="1,3,5,10", help="labels per class")
    parser.add_argument("--counts", default="0,20,100,1000", help="unlabeled rows that are known together, in all")
    parser.add_argument("--scored", type=int, default=60, help="rows that are asked for")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--most-attributes", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    made = {
        name: make_method(name, checkpoint=args.checkpoint) if name == "vsa" else make_method(name)
        for name in args.methods.split(",")
    }
    shots, counts = (tuple(int(s) for s in text.split(",")) for text in (args.shots, args.counts))
    need = max(args.scored, *counts)
    plan = EpisodePlan(shots, need, args.draws, setting=Setting.pool)
    found: dict[tuple[str, int], dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    used = set()
    for table in load_suite(args.suite, split=args.split).select(kind="classification"):
        if table.x.shape[1] > args.most_attributes or not table.labeled.all() or usable(table, shots):
            continue
        for key in plan.all_keys():
            episode = plan.draw(table, key).episode
            if episode.n_unlabeled < need:
                continue
            used.add(table.name)
            for name, method in made.items():
                values = [accuracy(method, episode, args.scored, count) for count in counts]
                found[name, key.shot][table.family].append(values)
    if not used:
        parser.error(f"no table has {need} rows beside its labels; see --counts")
    means = report(found, len(used), args.scored, counts)
    if args.json:
        records = [
            {"vary": "asked", "value": str(count), "suite": Path(args.suite).resolve().name, "seconds": 0, "seed": 0}
            | {"tasks": 0, "shot": shot, "accuracy": float(np.mean(v)), "stderr": standard_error(v)}
            for (name, shot), families in means.items()
            if name == next(iter(made))
            for count, v in zip(counts, families.T, strict=True)
        ]
        args.json.write_text("".join(json.dumps(r) + "\n" for r in records))
    if args.plot:
        picture(args.plot, counts, {key: families.mean(0) for key, families in means.items()})


def report(
    found: dict[tuple[str, int], dict[str, list[list[float]]]], n_tables: int, scored: int, counts: tuple[int, ...]
) -> dict[tuple[str, int], np.ndarray]:
    """Print accuracies and changes; returns accuracies (families, counts) by method and number of labels."""
    print(f"{n_tables} tables; accuracy on the same {scored} rows of a table, by unlabeled rows known together")
    print("method        labels per class  families" + "".join(f"{c:>24d}" for c in counts))
    means = {}
    for (name, shot), families in found.items():
        values = means[name, shot] = np.array([np.mean(v, axis=0) for v in families.values()])
        change = values - values[:, :1]
        cells = [f"{values[:, 0].mean():.4f}"] + [
            f"{v.mean():.4f} ({d.mean():+.3f}±{standard_error(d):.3f})"
            for v, d in zip(values.T[1:], change.T[1:], strict=True)
        ]
        print(f"{name:12s}  {shot:16d}  {len(values):8d}" + "".join(f"{c:>24s}" for c in cells))
    return means


def picture(path: Path, counts: tuple[int, ...], means: dict[tuple[str, int], np.ndarray]) -> None:
    """Accuracy by unlabeled rows, a line for each method and number of labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(name for name, _ in means))
    for (name, shot), values in means.items():
        label = f"{shot} label{'s' * (shot > 1)} per class" + (f", {name}" if len(names) > 1 else "")
        style = ("-", "--", ":", "-.")[names.index(name) % 4]
        axes.plot(range(len(counts)), values, marker="o", linestyle=style, label=label)
    axes.set_xticks(range(len(counts)), [f"{c:,}" for c in counts])
    axes.set(xlabel="unlabeled rows known together (0: one row at a time)", ylabel="accuracy")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
