"""The training data of a run, in a few lines for people and in full for the run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from vsacli.kinds import TaskKind
from vsacli.support.wording import number_of
from vsacli.tasks.store import EncodedTable, TableStore
from vsacli.training.sources import Collection

NAMED = 5  # skipped tables that are named one by one


def profile(collection: Collection, kind: TaskKind) -> list[tuple[str, str]]:
    """Facts of the tables: how many, of what size, which split, what was skipped and why."""
    facts = []
    for name, store in collection.stores.items():
        facts.append((name, f"{number_of(len(store), 'table')}, {_splits(store.tables)}"))
        for k in ("classification", "regression"):
            tables = [t for t in store if t.kind == k]
            if tables:
                facts.append((f"{name} {k}", _sizes(tables)))
        facts.extend(_skipped(name, store.skipped))
    if collection.drawn_from is not None:
        kept = collection.tables.select(split="train")
        families = number_of(len({t.family for t in kept}), "family", "families")
        facts.append(("learned from", f"{len(kept):,} of {collection.drawn_from:,} training tables, of {families}"))
    if collection.prior:
        facts.append(("prior", f"random {kind} tasks, {collection.prior:.0%} of the episodes"))
    return facts


def _splits(tables: Sequence[EncodedTable]) -> str:
    count = Counter(t.split for t in tables)
    return ", ".join(f"{count[s]} {s}" for s in ("train", "valid", "test") if count[s])


def _sizes(tables: Sequence[EncodedTable]) -> str:
    parts = [
        number_of(len({t.family for t in tables}), "family", "families"),
        f"rows {_range([len(t.x) for t in tables])}",
        f"labeled {_range([int(t.labeled.sum()) for t in tables])}",
        f"attributes {_range([t.x.shape[1] for t in tables])}",
    ]
    if tables[0].kind == "classification":
        parts.append(f"classes {_range([t.n_classes for t in tables])}")
    holes = np.mean([np.isnan(t.x).mean() for t in tables])
    return ", ".join([*parts, f"{holes:.1%} of values not observed"])


def _range(values: Sequence[int]) -> str:
    low, middle, high = min(values), int(np.median(values)), max(values)
    return f"{low:,}" if low == high else f"{low:,}-{high:,} (median {middle:,})"


def _skipped(name: str, skipped: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    lines = [(f"{name} skipped", f"{table}: {reason}") for table, reason in skipped[:NAMED]]
    if len(skipped) > NAMED:
        lines.append((f"{name} skipped", f"{len(skipped) - NAMED} more, named in split.json"))
    return lines


def split_record(tables: TableStore) -> dict[str, Any]:
    """The split and what was skipped, as saved in the run's folder."""
    return {
        "tables": [
            {"name": t.name, "family": t.family, "kind": t.kind, "shape": list(t.x.shape), "split": t.split}
            for t in tables
        ],
        "skipped": [list(s) for s in tables.skipped],
    }
