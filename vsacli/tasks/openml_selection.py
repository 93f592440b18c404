"""Which tasks of OpenML to learn from: the paper's own selection, or a suite; kept for later runs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vsacli.errors import InputError, OutputError, UsageError
from vsacli.kinds import TaskKind
from vsacli.support.atomic_files import replacing
from vsacli.tasks import openml_client as client
from vsacli.tasks.openml_client import Listed, Unreachable, Unusable
from vsacli.tasks.store import EncodedTable

ROWS = (60, 1000)
ATTRIBUTES = (2, 1000)
CLASSES = (2, 10)
LEAST_PER_CLASS = 30
"""The paper's selection (section 4.1; for regression 4.4, which has no rule on classes)."""

TRIES_A_NAME = 3


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
        One entry per table: task numbers in order of preference, of which the first usable one is taken.
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
        write_whole(path, json.dumps(asdict(self), indent=1).encode())

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
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as e:
            raise InputError(
                f"{path}: not a readable list of OpenML tasks ({e}); delete it, and it will be rebuilt"
            ) from e


def choose_tasks(
    server: str, suite: int | str | None, kinds: tuple[TaskKind, ...], cache: Path, refresh: bool
) -> OpenMLSelection:
    """The list of tasks: the cached one, else the server's."""
    label = f"suite {suite}" if suite is not None else "paper " + " ".join(kinds)
    path = server_folder(cache, server) / f"selection-{slug(label)}.json"
    if not refresh:
        with suppress(InputError):  # absent or cut short
            return OpenMLSelection.load(path)
    try:
        if suite is not None:
            tasks = tuple((i,) for i in client.suite_task_ids(suite))
        else:
            tasks = tuple(entry for kind in kinds for entry in paper_choice(_listed(kind), kind))
    except Unreachable as e:
        raise InputError(f"OpenML at {server} cannot be reached ({e}); try again later") from e
    except Unusable as e:
        if suite is not None:
            raise UsageError(
                f"no OpenML suite {str(suite)!r} at {server} ({e}); give a number such as 99 or an alias such as "
                "OpenML-CC18"
            ) from e
        raise InputError(f"{server}: the list of tasks cannot be read ({e})") from e
    if not tasks:
        raise InputError(f"{server}: no task in {'the selection' if suite is None else label}")
    selection = OpenMLSelection(server, None if suite is None else str(suite), kinds, tasks)
    with suppress(OutputError):  # asked for again the next time
        selection.save(path)
    return selection


def _listed(kind: TaskKind) -> list[Listed]:
    columns = (ATTRIBUTES[0] + 1, ATTRIBUTES[1] + 1)  # OpenML counts the target among the features
    return client.list_tasks(kind, rows=ROWS, columns=columns, classes=CLASSES)


def paper_choice(listed: Iterable[Listed], kind: TaskKind) -> list[tuple[int, ...]]:
    """The paper's selection from OpenML's list: one entry a name, up to three task numbers each.

    Where OpenML has no quality for a task (NaN), it is kept: its data decide when they are there.
    """
    by_name: dict[str, list[Listed]] = {}
    for task in sorted(listed, key=lambda task: task.task_id):
        fits = _within(task.rows, ROWS) and _within(task.columns - 1, ATTRIBUTES)
        if kind == "classification":
            fits = fits and _within(task.classes, CLASSES) and not task.smallest_class < LEAST_PER_CLASS
        same = by_name.setdefault(task.name, [])
        if fits and all((task.data_id, task.target) != (other.data_id, other.target) for other in same):
            same.append(task)
    return [tuple(task.task_id for task in same[:TRIES_A_NAME]) for same in by_name.values() if same]


def _within(value: float, limits: tuple[int, int]) -> bool:
    return math.isnan(value) or limits[0] <= value <= limits[1]


def check_rule(table: EncodedTable) -> None:
    """The paper's selection, checked on the data themselves.

    Raises
    ------
    Unusable
        If a size is out of the range; qualities in OpenML's list are those of the default target, or absent.
    """
    columns = int(dict(tag.split() for tag in table.tags)["columns"])
    if not _within(len(table.x), ROWS):
        raise Unusable(f"{len(table.x)} rows, not {ROWS[0]} to {ROWS[1]:,}")
    if not _within(columns, ATTRIBUTES):
        raise Unusable(f"{columns} attributes, not {ATTRIBUTES[0]} to {ATTRIBUTES[1]:,}")
    if table.kind == "classification":
        smallest = int(np.bincount(table.y[table.y >= 0], minlength=table.n_classes).min())
        if not _within(table.n_classes, CLASSES):
            raise Unusable(f"{table.n_classes} classes, not {CLASSES[0]} to {CLASSES[1]}")
        if smallest < LEAST_PER_CLASS:
            raise Unusable(f"a class of {smallest} examples, not at least {LEAST_PER_CLASS}")


def server_folder(cache: Path, server: str) -> Path:
    """Where everything from one server is kept."""
    return cache / "openml" / slug(server.split("://")[-1])


def slug(text: str) -> str:
    """A file name for any text: readable, and different for different texts."""
    return f"{re.sub('[^A-Za-z0-9]+', '-', text).strip('-')[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as fresh:
            fresh.write_bytes(content)
    except OSError as e:
        raise OutputError(f"{path}: cannot be written ({e.strerror or e})") from e
