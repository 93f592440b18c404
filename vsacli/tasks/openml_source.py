"""OpenML as a source of tasks: the paper's own selection, or a suite by number or alias.

Nothing is requested twice. The list of tasks and every encoded table are kept in a cache folder (besides the
client's own cache of files), so that a download resumes where it stopped and the next run needs no network connection.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from vsacli._version import __version__
from vsacli.attributes.encoder import columns_of
from vsacli.errors import DataError, InputError, OutputError
from vsacli.kinds import TaskKind
from vsacli.prepare import ReadOptions, prepare
from vsacli.support.progress import Progress, silent
from vsacli.tables.held import HeldTable
from vsacli.tasks import openml_client as client
from vsacli.tasks.cache import without_cache
from vsacli.tasks.encode import training_task
from vsacli.tasks.openml_client import TaskDescription, Unreachable, Unusable
from vsacli.tasks.openml_selection import OpenMLSelection, check_rule, choose_tasks, server_folder, write_whole
from vsacli.tasks.store import EncodedTable, TableStore

if TYPE_CHECKING:
    import pandas as pd

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

MAX_ROWS = 3000
OUTAGES_BEFORE_OFFLINE = 3
FORMAT = 1


def read_openml_tables(
    suite: int | str | None = None,
    *,
    cache: Path,
    kinds: Sequence[TaskKind] = ("classification",),
    recorded: OpenMLSelection | None = None,
    refresh: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[TableStore, OpenMLSelection]:
    """Encode the tables of OpenML tasks, downloading what the caches lack.

    A cache of encoded tables that cannot be written is done without, and a note of the store says so.

    Parameters
    ----------
    suite : int or str, optional
        Number or alias of a suite, all of whose tasks are taken, classification or regression, the first if a data
        set or its name repeats. None is the paper's own selection: 2 to 1,000 attributes, 60 to 1,000 examples, for
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
        Of the split into train, valid and test: 70 / 10 / 20 by table, as in the paper.
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
    ResourceError
        If the client's cache of files cannot be written.
    """
    selection = recorded or choose_tasks(client.server_url(), suite, tuple(kinds), cache, refresh)
    loader = _Loader(server_folder(cache, selection.server) / f"{__version__}-{FORMAT}", selection, refresh)
    store = TableStore([])
    n = len(selection.tasks)
    for number, (candidates, split) in enumerate(zip(selection.tasks, _splits(n, seed), strict=True)):
        progress(f"reading {loader.title(candidates[0])}", number, n)
        table, reason = loader.first_usable(candidates)
        if table is None:
            store.skipped.append((loader.title(candidates[0]), reason))
        else:
            store.tables.append(replace(table, split=split))
    progress("reading tables", n, n)
    if loader.note:
        store.notes.append(loader.note)
    if not store.tables:
        first = f" ({store.skipped[0][0]}: {store.skipped[0][1]})" if store.skipped else ""
        raise InputError(f"{selection.server}: none of {n} OpenML tasks can be used{first}")
    return store, selection


class _Loader:
    """Tables by task number, from the folder of encoded ones or the client; remembers what the run has already.

    The folder holds ``task-N.json`` (what OpenML says of the task, and why it cannot be used, if so) and
    ``task-N.npz`` (the encoded table).
    """

    def __init__(self, folder: Path, selection: OpenMLSelection, refresh: bool) -> None:
        self.folder = folder
        self.server = selection.server
        self.by_rule = selection.suite is None
        self.refresh = refresh
        self.note = ""
        self.outages = 0
        self.seen: dict[tuple[TaskKind, int | str], int] = {}

    def title(self, task_id: int) -> str:
        """The task in words, with its name if that is known."""
        description, _ = self._note(task_id)
        return f"OpenML task {task_id}" + (f" ({description.name})" if description else "")

    def first_usable(self, candidates: Iterable[int]) -> tuple[EncodedTable | None, str]:
        """The table of the first task that can be used, or the reasons against each."""
        reasons: list[str] = []
        for task_id in candidates:
            try:
                return self._load(task_id), ""
            except Unreachable as e:
                # Another task of this name would do only if this one were known to be unusable.
                reasons.append(f"could not be downloaded ({e}); run again to fetch it")
                break
            except (Unusable, DataError) as e:
                reasons.append(str(e) if not reasons else f"task {task_id}: {e}")
        return None, "; ".join(reasons)

    def _load(self, task_id: int) -> EncodedTable:
        description, reason = self._note(task_id)
        if reason and not self.refresh:
            raise Unusable(reason)
        if description is None:
            description = self._ask(task_id, client.describe_task, task_id)
            self._remember(task_id, description, "")
        for key in (description.data_id, description.name):
            if (description.kind, key) in self.seen:
                other = self.seen[description.kind, key]
                raise Unusable(f"repeats task {other}: the same data set or name ({description.name})")
        path = self.folder / f"task-{task_id}.npz"
        table = _cached_table(path)
        if table is None:
            frame, target = self._ask(task_id, client.load_frame, description, description=description)
            try:
                table = _encoded(description, frame, target)
            except DataError as e:
                self._remember(task_id, description, str(e))
                raise
            self._keep(lambda: TableStore([table]).save(path))
            if reason:
                self._remember(task_id, description, "")
        if self.by_rule:
            check_rule(table)
        for key in (description.data_id, description.name):
            self.seen[description.kind, key] = task_id
        return table

    def _ask(
        self,
        task_id: int,
        question: Callable[[Asked], Answered],
        about: Asked,
        *,
        description: TaskDescription | None = None,
    ) -> Answered:
        """The client's answer; a reason against the task is remembered, and after some outages none is waited for."""
        if self.outages >= OUTAGES_BEFORE_OFFLINE and not client.has_task(task_id, self.server):
            raise Unreachable("the server did not answer before")
        try:
            with client.use_server(self.server), client.alone():
                answer = question(about)
        except Unreachable:
            self.outages += 1
            raise
        except Unusable as e:
            self.outages = 0
            self._remember(task_id, description, str(e))
            raise
        self.outages = 0
        return answer

    def _note(self, task_id: int) -> tuple[TaskDescription | None, str]:
        try:
            note = json.loads((self.folder / f"task-{task_id}.json").read_text(encoding="utf-8"))
            known = note["description"]
            return (TaskDescription(**known) if known else None), str(note["reason"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None, ""

    def _remember(self, task_id: int, description: TaskDescription | None, reason: str) -> None:
        note = {"description": asdict(description) if description else None, "reason": reason}
        self._keep(lambda: write_whole(self.folder / f"task-{task_id}.json", json.dumps(note).encode()))

    def _keep(self, write: Callable[[], None]) -> None:
        """Write into the cache; if that fails, the run continues and `note` says so."""
        try:
            write()
        except OutputError as e:
            self.note = self.note or without_cache(e)


def _encoded(description: TaskDescription, frame: pd.DataFrame, target: pd.Series) -> EncodedTable:
    """A data frame of OpenML as an encoded table; of large ones a random 3,000 rows (the same ones each time)."""
    if len(frame) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(description.task_id).choice(len(frame), MAX_ROWS, replace=False))
        frame, target = frame.iloc[rows], target.iloc[rows]
    columns = [*columns_of(frame), *columns_of(target.to_frame())]
    names, cells = [name for name, _ in columns], dict(enumerate(column for _, column in columns))
    # A class may be called "None" or "NA": only nulls are missing here.
    options = ReadOptions(description.target, description.kind, default_na=False)
    table = HeldTable(description.name, names, len(frame), cells)
    return training_task(
        prepare(table, options, target=len(names) - 1),
        description.name,
        tags=(f"task {description.task_id}", f"data {description.data_id}", f"columns {frame.shape[1]}"),
    )


def _cached_table(path: Path) -> EncodedTable | None:
    """The encoded table of an earlier run; None if there is none, or if it is damaged and has to be made again."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        return TableStore.load(path).tables[0]
    except (InputError, IndexError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _splits(n: int, seed: int) -> list[str]:
    """Train, valid and test in the paper's shares, by place in the list, so that a skipped table moves no other."""
    share = (np.random.default_rng(seed).permutation(n) + 0.5) / max(1, n)
    return ["train" if s < 0.7 else "valid" if s < 0.8 else "test" for s in share]
