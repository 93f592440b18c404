"""A folder of tables as a source of tasks: CSV and Parquet files with a label column, or a manifest.

Without a manifest, every ``*.csv``, ``*.tsv``, ``*.csv.gz`` and ``*.parquet`` file below the folder
that has the target column is a task. With a ``manifest.csv``, each of its rows is one: ``task_id``
and ``kind`` name the file (``KIND/TASK_ID.parquet`` or ``.csv``), and, if given, ``family``,
``split`` (train, valid, test) and ``target_rule`` (tables whose target was chosen by a rule weigh a quarter).
"""

from __future__ import annotations

import csv
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from vsacli.errors import InputError, OutputError, VsaError
from vsacli.prepare import ReadOptions, prepare
from vsacli.support.progress import Progress, silent
from vsacli.tables.read import read_table
from vsacli.target.column import Task
from vsacli.tasks.cache import without_cache
from vsacli.tasks.encode import training_task
from vsacli.tasks.store import EncodedTable, TableStore

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
# Changes whenever the encoding of tables does, so that cached ones are made again.
ENCODING = 13
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class _Entry:
    """A table to read: where it is and what the manifest says of it."""

    name: str
    path: str
    task: Task = "auto"
    family: str = ""
    split: str = "train"
    rule: str = ""


def read_folder_tables(
    folder: Path, *, target: str = "target", seed: int = 0, progress: Progress = silent
) -> TableStore:
    """Encode every table of a folder.

    Parameters
    ----------
    folder : Path
    target : str
        The label column, if there is no manifest or the manifest does not name it.
    seed : int
        Of the split of tables without a manifest's (70 / 10 / 20 by table, as in the paper).
    progress : callable, optional
        Called before each table.

    Returns
    -------
    TableStore
        With the tables that cannot be used under ``skipped``, each with the reason.

    Raises
    ------
    InputError
        If the folder is absent or holds no table at all.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that holds CSV or Parquet tables")
    entries = _manifest(folder) if (folder / "manifest.csv").is_file() else _files(folder, seed)
    if not entries:
        raise InputError(f"{folder}: no table found (looked for {', '.join(SUFFIXES)} files and manifest.csv)")
    store = TableStore([])
    for i, entry in enumerate(entries):
        progress(f"reading {entry.name}", i, len(entries))
        try:
            store.tables.append(_encode(entry, target))
        except VsaError as e:
            store.skipped.append((entry.name, str(e).removeprefix(entry.path).removeprefix(":").strip()))
    return store


def cached_folder(
    folder: Path, cache: Path, *, target: str = "target", seed: int = 0, progress: Progress = silent
) -> TableStore:
    """:func:`read_folder_tables`, remembered in ``cache`` until a file of the folder changes.

    A cache that cannot be read or written is done without, and a note of the store says so.
    """
    if (folder / "manifest.csv").is_file():
        seed = 0  # the split is the manifest's, whatever the seed
    digest = hashlib.sha256(f"{ENCODING} {target} {seed}".encode())
    for path in sorted(folder.rglob("*")):
        with suppress(FileNotFoundError):  # renamed or removed at this moment by another process
            if path.is_file() and cache not in path.parents:
                stat = path.stat()
                digest.update(f"{path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    path = cache / f"tables-{digest.hexdigest()[:16]}.npz"
    with suppress(InputError):  # absent, or damaged and made again
        return TableStore.load(path)
    store = read_folder_tables(folder, target=target, seed=seed, progress=progress)
    try:
        store.save(path)
    except OutputError as e:
        store.notes.append(without_cache(e))
    return store


def _manifest(folder: Path) -> list[_Entry]:
    try:
        with (folder / "manifest.csv").open(newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise InputError(f"{folder / 'manifest.csv'}: cannot be read ({e})") from e
    tasks: dict[str, Task] = {"classification": "classification", "regression": "regression"}
    entries = []
    for number, row in enumerate(rows, 2):
        name, kind = row.get("task_id"), row.get("kind") or ""
        if not name:
            raise InputError(f"{folder / 'manifest.csv'}, line {number}: no task_id")
        if any(PurePath(part).is_absolute() or ".." in PurePath(part).parts for part in (name, kind)):
            raise InputError(
                f"{folder / 'manifest.csv'}, line {number}: the table's name leads out of the folder; name files in it"
            )
        places = [folder / kind / (name + s) for s in SUFFIXES] + [folder / (name + s) for s in SUFFIXES]
        path = next((p for p in places if p.is_file()), folder / kind / name)
        split, rule = row.get("split") or "train", row.get("target_rule") or ""
        if split not in SPLITS:
            raise InputError(
                f"{folder / 'manifest.csv'}, line {number}: split {split!r} is not one of {', '.join(SPLITS)}"
            )
        entries.append(_Entry(name, str(path), tasks.get(kind, "auto"), row.get("family") or name, split, rule))
    return entries


def _files(folder: Path, seed: int) -> list[_Entry]:
    paths = sorted(p for p in folder.rglob("*") if p.name.lower().endswith(SUFFIXES) and p.is_file())
    order = np.random.default_rng(seed).permutation(len(paths))
    share = np.empty(len(paths))
    share[order] = (np.arange(len(paths)) + 0.5) / max(1, len(paths))
    entries = []
    for path, s in zip(paths, share, strict=True):
        name = str(path.relative_to(folder))
        split = "train" if s < 0.7 else "valid" if s < 0.8 else "test"
        entries.append(_Entry(name, str(path), family=name, split=split))
    return entries


def _encode(entry: _Entry, target: str) -> EncodedTable:
    prepared = prepare(read_table(entry.path), ReadOptions(target, entry.task))
    return training_task(
        prepared,
        entry.name,
        family=entry.family,
        split=entry.split,
        weight=0.25 if entry.rule == "auto" else 1.0,
        tags=(entry.rule,) if entry.rule else (),
    )
