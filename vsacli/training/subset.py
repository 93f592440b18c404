"""A run on some of the training tables: how accuracy grows with their number (the paper's Figure 6(a))."""

from __future__ import annotations

import numpy as np

from vsacli.errors import UsageError
from vsacli.kinds import TaskKind
from vsacli.tasks.store import TableStore


def limit_training(
    stores: dict[str, TableStore], n: int, kind: TaskKind | None, seed: int
) -> tuple[dict[str, TableStore], int]:
    """Keep `n` training tables of all stores together, of as many families as there can be; other splits stay.

    With the same seed, the tables of a smaller `n` are among those of a larger one.

    Parameters
    ----------
    stores : dict
        By kind of source.
    n : int
    kind : {"classification", "regression"}, optional
        The tables to choose from, if only those of one kind are learned from.
    seed : int

    Returns
    -------
    stores : dict
        In the same order, without the training tables that were not drawn.
    found : int
        Training tables that there are to choose from.

    Raises
    ------
    UsageError
        If there are fewer than `n`.
    """
    usable = [
        (source, i, table.family)
        for source, store in stores.items()
        for i, table in enumerate(store)
        if table.split == "train" and kind in (None, table.kind)
    ]
    if n > len(usable):
        there = f"there {'is 1 table' if len(usable) == 1 else f'are {len(usable):,} tables'} to train on"
        raise UsageError(f"--tables {n}: {there}; give a number up to that, or leave out --tables")
    order = np.random.default_rng([seed, 6]).permutation(len(usable))
    met: dict[str, int] = {}
    rank = {}  # of a table among those of its family: all first ones come before all second ones
    for i in order:
        family = usable[i][2]
        rank[i] = met[family] = met.get(family, -1) + 1
    chosen = sorted(order, key=lambda i: rank[i])[:n]
    kept = {usable[i][:2] for i in chosen}
    return {
        source: TableStore(
            [t for i, t in enumerate(store) if t.split != "train" or (source, i) in kept], store.skipped, store.notes
        )
        for source, store in stores.items()
    }, len(usable)
