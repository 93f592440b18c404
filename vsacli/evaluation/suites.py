"""Where the tables of a suite come from: a folder, the paper's synthetic data, OpenML."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vsacli.errors import UsageError
from vsacli.tasks.store import EncodedTable, TableStore

Progress = Callable[[int, int, str], None]
CIRCLE_SPIRAL = "circle-spiral"
UNSEEN = 1_000_003  # added to the seed of synthetic suites


def load_suite(
    name: str, *, split: str | None = None, target: str = "target", seed: int = 0, progress: Progress | None = None
) -> TableStore:
    """The tables of a suite.

    Parameters
    ----------
    name : str
        A folder, or "circle-spiral": a hundred tasks as the paper describes them.
    split : {"all", "train", "valid", "test"}, optional
        Which tables of a folder. By default the validation tables of a folder with a manifest that has
        training tables, too, and all tables of any other.
    target : str
        Name of the label column, for a folder without manifest.
    seed : int
        Of synthetic data.

    Raises
    ------
    UsageError, InputError
        No such suite, or no table in it.
    """
    if name == CIRCLE_SPIRAL and not Path(name).is_dir():
        return TableStore(circle_spiral_tables(seed))
    folder = Path(name)
    if not folder.is_dir():
        raise UsageError(f"no suite '{name}': give a folder of tables, or {CIRCLE_SPIRAL}")
    from vsacli.tasks.folder import cached_folder

    store = cached_folder(folder, cache_folder(), target=target, progress=progress)
    if split is None:
        manifest = (folder / "manifest.csv").is_file()
        split = "valid" if manifest and len(store.select(split="valid")) else "all"
    if split != "all":
        chosen = store.select(split=split)
        if not len(chosen):
            raise UsageError(f"{folder} has no table in split '{split}'; leave out --split")
        store = TableStore(chosen.tables, store.skipped)
    return store


def circle_spiral_tables(seed: int, n_tasks: int = 100, n_examples: int = 200) -> list[EncodedTable]:
    """The paper's Circle-Spiral tasks as tables; enough examples for 20 unlabeled ones a class at any shot.

    Each task is a family of its own, as the paper averages over tasks. The draw is not the one that meta-training
    with the same seed learns from.
    """
    from vsacli.tasks.synthetic.circle_spiral import circle_spiral

    return [
        EncodedTable(
            name=task.name,
            family=task.name,
            kind="classification",
            x=task.x,
            column=np.arange(task.x.shape[1], dtype=np.int32),
            y=task.y,
            n_classes=task.n_classes,
            split="test",
        )
        for task in circle_spiral(n_tasks, seed + UNSEEN, n_examples)
    ]


def cache_folder() -> Path:
    """Where encoded tables are kept between runs: VSA_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("VSA_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "vsacli"
