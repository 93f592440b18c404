"""How hard the tasks of the prior are, beside a folder of real tables.

    python benchmarks/prior_difficulty.py [--tasks 300] [--manifest FOLDER/manifest.csv] [--regression]

Draws tasks of assorted sizes (as real tables: 60 to 1,000 rows, 2 to 30 attributes, mostly 2 or 3 classes), fits
a random forest, a linear model and nearest neighbours in 3-fold cross-validation, and prints deciles of accuracy (R² in
regression) and of skill = (accuracy - majority rate) / (1 - majority rate), by family. With a manifest that has
`rf_score` and `base_score`, the same deciles of the real tables.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from vsacli.tasks.synthetic.prior import FAMILIES, sample_prior

DECILES = (5, 10, 25, 50, 75, 90, 95)


def models(regression: bool) -> dict[str, object]:
    """The three probes, as one would use them without tuning."""
    if regression:
        forest = RandomForestRegressor(60, min_samples_leaf=2, random_state=0)
        return {"forest": forest, "linear": Ridge(), "neighbours": KNeighborsRegressor(7)}
    forest = RandomForestClassifier(60, min_samples_leaf=2, random_state=0)
    return {"forest": forest, "linear": LogisticRegression(max_iter=300), "neighbours": KNeighborsClassifier(7)}


def line(name: str, values: np.ndarray) -> str:
    """Deciles of some values in one row of text."""
    return f"{name:34s}{len(values):5d}" + "".join(f"{q:7.2f}" for q in np.percentile(values, DECILES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--manifest", type=Path)
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    kind = "regression" if args.regression else "classification"
    rng = np.random.default_rng(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    families = list(FAMILIES)
    weights = np.array([FAMILIES[name][0] for name in families])

    rows: list[dict[str, float | str]] = []
    warnings.simplefilter("ignore")
    for _ in range(args.tasks):
        family = str(rng.choice(families, p=weights / weights.sum()))
        n = int(np.exp(rng.uniform(np.log(60), np.log(1000))))
        m = int(np.exp(rng.uniform(np.log(2), np.log(30))))
        c = int(rng.choice([2, 3, 4, 5, 8], p=[0.6, 0.18, 0.1, 0.07, 0.05]))
        batch = sample_prior(1, n, m, kind=kind, n_classes=c, generator=generator, families={family: 1.0})
        x, y = batch.x[0].numpy(), batch.y[0].numpy()
        base = 0.0 if args.regression else np.bincount(y).max() / n
        row: dict[str, float | str] = {"family": family, "base": base}
        for name, model in models(args.regression).items():
            row[name] = max(0.0, float(cross_val_score(model, x, y, cv=3).mean()))
        rows.append(row)

    print(" " * 34 + "  n  " + "".join(f"{'p' + str(q):>7s}" for q in DECILES))
    column = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    base = column["base"].astype(float)
    if args.manifest:
        import pandas as pd

        real = pd.read_csv(args.manifest).query("kind == @kind")
        print(line("real tables: forest", real.rf_score.to_numpy()))
        if not args.regression:
            print(line("real tables: majority", real.base_score.to_numpy()))
        print(line("real tables: forest skill", ((real.rf_score - real.base_score) / (1 - real.base_score)).to_numpy()))
    for name in models(args.regression):
        print(line(f"prior: {name}", column[name].astype(float)))
    if not args.regression:
        print(line("prior: majority", base))
    for name in models(args.regression):
        print(line(f"prior: {name} skill", (column[name].astype(float) - base) / (1 - base)))
    for family in families:
        mine = column["family"] == family
        if mine.any():
            skill = (column["forest"].astype(float) - base) / (1 - base)
            print(line(f"prior, {family} only: forest skill", skill[mine]))
    best = np.array([max(models(args.regression), key=lambda name: row[name]) for row in rows])
    print("best model of the three:", {name: f"{np.mean(best == name):.2f}" for name in models(args.regression)})


if __name__ == "__main__":
    main()
