"""Where the tables of a suite come from: a folder, the paper's synthetic data, OpenML."""

from __future__ import annotations

from pathlib import Path

from vsacli.errors import UsageError
from vsacli.kinds import TaskKind
from vsacli.support.progress import Progress, silent
from vsacli.tasks.cache import cache_folder
from vsacli.tasks.store import EncodedTable, TableStore

CIRCLE_SPIRAL = "circle-spiral"
OPENML = "openml"
SPLITS = ("all", "train", "valid", "test")
UNSEEN = 1_000_003  # added to the seed of synthetic suites


def load_suite(
    name: str,
    *,
    kind: TaskKind | None = None,
    split: str | None = None,
    target: str = "target",
    seed: int = 0,
    progress: Progress = silent,
) -> TableStore:
    """The tables of a suite.

    Parameters
    ----------
    name : str
        A folder; "circle-spiral": a hundred tasks as the paper describes them; "openml": the paper's own selection
        of OpenML tasks; "openml:NUMBER" (or an alias): a suite of OpenML.
    kind : {"classification", "regression"}, optional
        Which tasks the paper's selection of OpenML takes; classification by default.
    split : {"all", "train", "valid", "test"}, optional
        Which tables. By default the validation tables of a folder whose manifest names some, the test tables of
        OpenML, and all tables otherwise.
    target : str
        Name of the label column, for a folder without manifest.
    seed : int
        Of synthetic data, and of OpenML's split.
    progress : callable, optional
        Called before each table.

    Raises
    ------
    UsageError, InputError
        No such suite, or no table in it.
    """
    folder = Path(name)
    if folder.is_dir():
        from vsacli.tasks.folder import cached_folder

        store = cached_folder(folder, cache_folder(), target=target, progress=progress)
        if split is None:
            manifest = (folder / "manifest.csv").is_file()
            split = "valid" if manifest and len(store.select(split="valid")) else "all"
    elif name == CIRCLE_SPIRAL:
        store, split = TableStore(circle_spiral_tables(seed)), "all"
    elif name.split(":")[0] == OPENML:
        from vsacli.tasks.openml_source import read_openml_tables

        suite = name.partition(":")[2] or None
        store, _ = read_openml_tables(
            suite, cache=cache_folder(), kinds=(kind or "classification",), seed=seed, progress=progress
        )
        split = split or "test"
    else:
        raise UsageError(f"no suite '{name}': give a folder of tables, {CIRCLE_SPIRAL}, {OPENML} or {OPENML}:NUMBER")
    if split not in SPLITS:
        raise UsageError(f"--split {split}: there are {', '.join(SPLITS)}")
    if split == "all":
        return store
    chosen = store.select(split=split)
    if not len(chosen):
        raise UsageError(f"{name} has no table in split '{split}'; leave out --split")
    return TableStore(chosen.tables, store.skipped, store.notes)


def circle_spiral_tables(seed: int, n_tasks: int = 100, n_examples: int = 200) -> list[EncodedTable]:
    """The paper's Circle-Spiral tasks as tables; enough examples for 20 unlabeled ones per class at any shot.

    Each task is a family of its own, as the paper averages over tasks. The draw is not the one that meta-training
    with the same seed learns from.
    """
    from vsacli.tasks.synthetic.circle_spiral import as_tables, circle_spiral

    return as_tables(circle_spiral(n_tasks, seed + UNSEEN, n_examples), ["test"] * n_tasks)
