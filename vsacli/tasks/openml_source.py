"""OpenML as a source of tasks: the paper's own selection, or a suite by number or alias.

Nothing is asked of the server twice. The list of tasks and every encoded table are kept in a cache folder (besides the
client's own cache of files), so that a download goes on where it stopped and the next run needs no network.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from vsacli import __version__
from vsacli.errors import DataError, InputError, OutputError, UsageError, VsaError
from vsacli.tasks import openml_client as client
from vsacli.tasks.encode import encode_table
from vsacli.tasks.episode import TaskKind
from vsacli.tasks.openml_client import Listed, TaskDescription, Unreachable, Unusable
from vsacli.tasks.store import EncodedTable, TableStore

Progress = Callable[[int, int, str], None]

ROWS = (60, 1000)
ATTRIBUTES = (2, 1000)
CLASSES = (2, 10)
LEAST_PER_CLASS = 30
"""The paper's selection (section 4.1; for regression 4.4, which has no rule on classes)."""

TRIES_A_NAME = 3
MAX_ROWS = 3000
OUTAGES_BEFORE_OFFLINE = 2
FORMAT = 1


@dataclass(frozen=True)
class OpenMLSelection:
    """Which tasks of OpenML a run learns from; goes into the run's folder as JSON.

    Attributes
    ----------
    server : str
        Address of the API.
    suite : str or None
        Number or alias; None for the paper's own selection.
    kinds : tuple of str
        Kinds of tasks of the paper's selection.
    tasks : tuple of tuple of int
        One entry a table: task numbers in order of preference, of which the first usable one is taken.
    """

    server: str
    suite: str | None
    kinds: tuple[TaskKind, ...]
    tasks: tuple[tuple[int, ...], ...]

    def save(self, path: Path) -> None:
        """Write as JSON, whole or not at all.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        _write(path, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def load(cls, path: Path) -> OpenMLSelection:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file is absent or something else.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                server=str(fields["server"]),
                suite=None if fields["suite"] is None else str(fields["suite"]),
                kinds=tuple(fields["kinds"]),
                tasks=tuple(tuple(int(i) for i in entry) for entry in fields["tasks"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise InputError(f"{path}: no readable list of OpenML tasks ({e}); delete it and it is made anew") from e


def read_openml_tables(
    suite: int | str | None = None,
    *,
    cache: Path,
    kinds: Sequence[TaskKind] = ("classification",),
    recorded: OpenMLSelection | None = None,
    refresh: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[TableStore, OpenMLSelection]:
    """Encode the tables of OpenML tasks, downloading what the caches lack.

    Parameters
    ----------
    suite : int or str, optional
        Number or alias of a suite, all of whose tasks are taken, classification or regression, the first where a data set
        or its name repeats. None is the paper's own selection: 2 to 1,000 attributes, 60 to 1,000 examples, for
        classification 2 to 10 classes of at least 30 examples each, and one task per name.
    cache : Path
        Folder for the list of tasks and the encoded tables.
    kinds : sequence of str
        Kinds of tasks in the paper's selection.
    recorded : OpenMLSelection, optional
        The list of an earlier run, taken as it is in place of `suite` and `kinds`.
    refresh : bool
        Ask the server again for the list and for tables that could not be used.
    seed : int
        Of the split into train, valid and test (70 / 10 / 20 by table, as in the paper) and of the rows that are
        taken from tables of more than 3,000.
    progress : callable, optional
        Called with (done, all, name) before each table and at the end.

    Returns
    -------
    TableStore
        With the tasks that cannot be used under ``skipped``, each with the reason.
    OpenMLSelection
        What to record with the run.

    Raises
    ------
    UsageError
        If the server knows no such suite.
    InputError
        If the server cannot be reached and the caches lack the list, or every table.
    ResourceError, OutputError
        If a cache cannot be written.
    """
    server = client.server_url() if recorded is None else recorded.server
    folder = cache / "openml" / f"{_slug(server)}-{__version__}-{FORMAT}"
    selection = recorded if recorded is not None else _selection(server, suite, tuple(kinds), cache, refresh)
    if recorded is None and not selection.tasks:
        what = "the paper's selection" if suite is None else f"suite {suite}"
        raise InputError(f"{what} has no task at {server}")

    loader = _Loader(folder, selection, refresh, seed)
    store = TableStore([])
    for number, (candidates, split) in enumerate(
        zip(selection.tasks, _splits(len(selection.tasks), seed), strict=True)
    ):
        if progress is not None:
            progress(number, len(selection.tasks), f"task {candidates[0]}")
        reasons: list[str] = []
        for task_id in candidates:
            try:
                table = loader.load(task_id)
            except (Unusable, Unreachable, VsaError) as e:
                if isinstance(e, VsaError) and not isinstance(e, DataError):
                    raise
                reasons.append(f"{e}")
                if isinstance(e, Unreachable):
                    break  # another choice than when the server is there would be another selection
                continue
            store.tables.append(replace(table, split=split))
            break
        else:
            pass
        if reasons and (not store.tables or store.tables[-1].tags[0] not in {f"task {i}" for i in candidates}):
            store.skipped.append((f"OpenML task {candidates[0]}", "; ".join(dict.fromkeys(reasons))))
    if progress is not None:
        progress(len(selection.tasks), len(selection.tasks), "")
    if not store.tables:
        first = f"{store.skipped[0][0]}: {store.skipped[0][1]}" if store.skipped else "it is empty"
        raise InputError(f"no table of the {len(selection.tasks)} OpenML tasks can be used ({first})")
    return store, selection
