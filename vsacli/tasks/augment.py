"""Making many tasks out of one table: other targets, class subsets and merges, attribute changes.

Variety of tasks, not steps, limits what a network learns from a few hundred tables, so every
column may serve as a target and every table is seen through random subsets and transforms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vsacli.tasks.store import EncodedTable


@dataclass(frozen=True)
class AugmentConfig:
    """Chances of each change; all 0 gives the paper's plain episodes."""

    other_target: float = 0.15  # another column of the table is the target
    column_subset: float = 0.2  # only a random subset of the columns is seen (wide tables always are)
    class_subset: float = 0.3  # only a random subset of the classes is seen
    class_merge: float = 0.1  # two or more classes become one
    transform: float = 0.3  # some attributes get a random monotone transform
    product: float = 0.1  # some attributes are multiplied pairwise
    noise_attributes: float = 0.1  # attributes without meaning are added
    hide: float = 0.15  # values at random become "not observed"


PLAIN = AugmentConfig(0, 0, 0, 0, 0, 0, 0, 0)


def classes_from_numbers(rng: np.random.Generator, values: np.ndarray, most: int) -> np.ndarray:
    """Bin numbers into 2 to ``most`` ordered classes at random cuts; -1 where NaN.

    Cuts are quantiles half of the time and random quantile levels otherwise (imbalanced classes).
    """
    seen = values[np.isfinite(values)]
    c = int(rng.integers(2, min(most, 5) + 1)) if most > 2 else 2
    levels = np.arange(1, c) / c if rng.random() < 0.5 else np.sort(rng.uniform(0.1, 0.9, c - 1))
    cuts = np.unique(np.quantile(seen, levels))
    codes = np.searchsorted(cuts, values, side="left").astype(np.int64)
    return np.where(np.isfinite(values), codes, -1)


def column_as_classes(rng: np.random.Generator, table: EncodedTable, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A random column as a class target: its codes and the attributes that are left, or None.

    One-hot siblings give their category, other columns are binned.
    """
    source = rng.choice(np.unique(table.column))
    own = np.flatnonzero(table.column == source)
    left = np.flatnonzero(table.column != source)
    if not len(left):
        return None
    block = table.x[:, own]
    if len(own) > 1:
        unseen = ~np.isfinite(block).all(1)
        codes = np.where(unseen, -1, np.nan_to_num(block).argmax(1)).astype(np.int64)
    else:
        values = block[:, 0]
        distinct = np.unique(values[np.isfinite(values)])
        if len(distinct) < 2:
            return None
        if len(distinct) <= most:
            codes = np.where(np.isfinite(values), np.searchsorted(distinct, values), -1).astype(np.int64)
        else:
            codes = classes_from_numbers(rng, values, most)
    return codes, left


def column_as_numbers(rng: np.random.Generator, table: EncodedTable) -> tuple[np.ndarray, np.ndarray] | None:
    """A random numeric column as a regression target, and the attributes that are left, or None."""
    columns, counts = np.unique(table.column, return_counts=True)
    for source in rng.permutation(columns[counts == 1])[:5]:
        own = np.flatnonzero(table.column == source)[0]
        values = table.x[:, own]
        if len(np.unique(values[np.isfinite(values)])) >= 10 and len(columns) > 1:
            return values.astype(np.float32), np.flatnonzero(table.column != source)
    return None


def limit_classes(
    rng: np.random.Generator, codes: np.ndarray, most: int, least_rows: int, c: AugmentConfig
) -> np.ndarray:
    """Drop rare classes, take subsets and merge; new codes 0..C-1, -1 for rows that are dropped."""
    values, counts = np.unique(codes[codes >= 0], return_counts=True)
    values = values[counts >= least_rows]
    if len(values) > 3 and rng.random() < c.class_merge:
        merged = rng.choice(values, size=int(rng.integers(2, len(values) - 1)), replace=False)
        codes = np.where(np.isin(codes, merged), merged[0], codes)
        values = np.setdiff1d(values, merged[1:])
    keep = len(values)
    if keep > 2 and rng.random() < c.class_subset:
        keep = int(rng.integers(2, keep + 1))
    keep = min(keep, most)
    if keep < len(values):
        values = rng.choice(values, size=keep, replace=False)
    values = np.sort(values)
    table = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
    table[values] = np.arange(len(values))
    return table[codes]  # -1 reads the last entry, which is -1


def choose_attributes(
    rng: np.random.Generator, column: np.ndarray, left: np.ndarray, most: int, c: AugmentConfig
) -> np.ndarray:
    """Attributes of a random subset of source columns, at most ``most`` of them."""
    sources = rng.permutation(np.unique(column[left]))
    if len(sources) > 1 and rng.random() < c.column_subset:
        sources = sources[: int(rng.integers((len(sources) + 1) // 2, len(sources) + 1))]
    picked: list[int] = []
    for s in sources:
        picked.extend(left[column[left] == s])
        if len(picked) >= most:
            break
    return np.asarray(picked[:most], np.int64)


def change_attributes(rng: np.random.Generator, x: np.ndarray, c: AugmentConfig, most: int) -> np.ndarray:
    """Random signs, monotone transforms, products, noise attributes and hidden values.

    Parameters
    ----------
    x : ndarray of float32, shape (N, M)
        NaN where not observed.
    most : int
        Attributes at most, noise included.
    """
    n, m = x.shape
    x = x * rng.choice(np.array([-1, 1], np.float32), m)
    if rng.random() < c.transform:
        which = np.flatnonzero(rng.random(m) < 0.5)
        part = x[:, which]
        power = rng.uniform(0.3, 3.0, len(which)).astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            bent = np.sign(part) * np.abs(part) ** power
            grown = np.exp(np.clip(part * power / 2, -6, 6)) - 1
        x[:, which] = np.where(rng.random(len(which)) < 0.5, bent, grown)
    if m > 1 and rng.random() < c.product:
        pairs = rng.integers(0, m, (max(1, m // 4), 2))
        x[:, pairs[:, 0]] = x[:, pairs[:, 0]] * x[:, pairs[:, 1]]
    extra = min(most - m, int(rng.integers(1, max(2, m))))
    if extra > 0 and rng.random() < c.noise_attributes:
        noise = rng.standard_normal((n, extra), dtype=np.float32)
        if rng.random() < 0.5:  # rows of a real attribute in another order look real and mean nothing
            noise = rng.permuted(x[:, rng.integers(0, m, extra)], axis=0)
        x = np.concatenate([x, noise], 1)
    if rng.random() < c.hide:
        rate = rng.uniform(0, 0.4, x.shape[1])
        x[rng.random(x.shape) < rate] = np.nan
    return np.clip(x, -1e4, 1e4)
