"""A run's folder: what was asked, which tables it learns from, and how it is resumed.

run.json      sources, config, command          split.json     tables with their split, skipped ones
openml-*.json lists of OpenML tasks             state/         weights, optimizer, position
config.json, model.safetensors, README.md       the checkpoint of the best validation
metrics.jsonl, curves.png                       figures
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vsacli._version import __version__
from vsacli.errors import OutputError, TrainingError, UsageError
from vsacli.kinds import TaskKind
from vsacli.support.atomic_files import replacing
from vsacli.support.locks import sole_writer
from vsacli.support.wording import some
from vsacli.tasks.episode import Episode
from vsacli.tasks.plain import PlainSampler
from vsacli.tasks.prior_source import random_tasks
from vsacli.tasks.sampler import EpisodeConfig
from vsacli.tasks.store import TableStore
from vsacli.training.config import TrainConfig
from vsacli.training.profile import split_record
from vsacli.training.sources import Collection, SourceSpec
from vsacli.training.validate import ValidationPlan, validation_episodes

RUN_FILE, SPLIT_FILE, LOCK_FILE = "run.json", "split.json", ".vsa-run.lock"
VERSION = 1
SYNTHETIC_VALIDATION = (6, 8)  # batches and tasks a batch, for each number of labels
UNSEEN = 1_000_003  # added to the seed of validation tasks from the prior
POOL_ROWS = 600  # of a table's structure in validation
ENOUGH_EPISODES = 120  # if tables are few, validation draws several episodes from each


@dataclass(frozen=True)
class RunSpec:
    """All that decides a run."""

    sources: SourceSpec
    config: TrainConfig
    command: str = ""

    @property
    def kind(self) -> TaskKind:
        """What is trained."""
        return self.config.model.kind

    def save(self, folder: Path) -> None:
        """Write ``run.json``.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        content = {
            "version": VERSION,
            "vsacli": __version__,
            "command": self.command,
            "sources": self.sources.to_dict(),
            "config": self.config.to_dict(),
        }
        _write_json(folder / RUN_FILE, content)

    @classmethod
    def load(cls, folder: Path) -> RunSpec:
        """Read ``run.json``.

        Raises
        ------
        TrainingError
            If there is no run in the folder, or it is damaged or of another version.
        """
        path = folder / RUN_FILE
        try:
            v = json.loads(path.read_text(encoding="utf-8"))
            if v["version"] != VERSION:
                raise TrainingError(f"{path}: a run of version {v['version']}, this is {VERSION}; start a new run")
            return cls(SourceSpec.from_dict(v["sources"]), TrainConfig.from_dict(v["config"]), str(v["command"]))
        except FileNotFoundError as e:
            raise TrainingError(f"{folder}: no run to resume here; start one without --resume") from e
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as e:
            raise TrainingError(f"{path}: damaged ({e}); start a new run in another folder") from e


def sole_run(folder: Path) -> AbstractContextManager[None]:
    """The lock of a run's folder, to be held by one process of a run.

    Raises
    ------
    UsageError
        When it is entered, if another run holds it.
    """
    with suppress(OSError):  # `check_folder_is_free` says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    return sole_writer(folder / LOCK_FILE)


def check_folder_is_free(folder: Path) -> None:
    """Before any work: the folder is new, or holds nothing that a run would write over.

    Raises
    ------
    UsageError
        If it holds a run or a checkpoint.
    OutputError
        If it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: a file, not a folder; give another --output")
    for name in (RUN_FILE, "state", "model.safetensors", "config.json"):
        if (folder / name).exists():
            raise UsageError(
                f"{folder} holds a run or a checkpoint already ({name}); use --resume, or give another --output"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as e:
        raise OutputError(f"{folder}: cannot be written ({e.strerror or e}); give another --output") from e


def record_split(folder: Path, tables: TableStore, resumed: bool) -> None:
    """Save the split; for a resumed run, check that the tables are still the same.

    Raises
    ------
    TrainingError
        If they are not: other tables would make other batches.
    OutputError
        If it cannot be written.
    """
    now = split_record(tables)
    path = folder / SPLIT_FILE
    if not resumed:
        _write_json(path, now)
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))["tables"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as e:
        raise TrainingError(f"{path}: cannot be read ({e}); start a new run") from e
    if before != now["tables"]:
        old, new = ({json.dumps(t, sort_keys=True) for t in side} for side in (before, now["tables"]))
        gone = sorted(json.loads(t)["name"] for t in old - new)
        came = sorted(json.loads(t)["name"] for t in new - old)
        what = f"gone or changed: {some(gone, 3)}" if gone else f"new: {some(came, 3)}" if came else "in another order"
        raise TrainingError(
            f"the tables are not those that the run began with ({what}); put them back, or start a new run"
        )


def validation_of(collection: Collection, config: TrainConfig) -> dict[int, list[Episode]]:
    """Fixed episodes of the validation tables; without such tables, tasks of the prior that training never sees."""
    kind, drawn = config.model.kind, config.episodes
    shots = drawn.shots if kind == "classification" else drawn.labeled_rows
    plan = ValidationPlan()
    usual = plan.shots if kind == "classification" else plan.labeled_rows
    chosen = tuple(k for k in usual if shots[0] <= k <= shots[1]) or tuple(sorted(set(shots)))
    plan = replace(plan, shots=chosen) if kind == "classification" else replace(plan, labeled_rows=chosen)
    tables = collection.tables.select(kind=kind, split="valid")
    usable = sum(t.x.shape[1] <= plan.max_attributes for t in tables)
    if usable:
        repeats = min(20, max(2, ENOUGH_EPISODES // (usable * len(chosen))))
        pool = POOL_ROWS if drawn.structure else 0
        plan = replace(plan, repeats=1 if pool else repeats, pool_rows=pool, class_space=drawn.class_space)
        return validation_episodes(tables, kind, plan)
    if not collection.prior:
        return {}
    out = {}
    batches, tasks = SYNTHETIC_VALIDATION
    for k in chosen:
        fixed = EpisodeConfig(
            shots=(k, k),
            unlabeled=(plan.unlabeled, plan.unlabeled),
            labeled_rows=(k, k),
            unlabeled_rows=(plan.unlabeled_rows, plan.unlabeled_rows),
            tasks=(tasks, tasks),
            natural=0.0,
            augment=replace(drawn.augment, class_subset=0.0, class_merge=0.0),
        )
        sampler = PlainSampler(kind, TableStore([]), fixed, config.seed + UNSEEN, random_tasks)
        out[k] = [e for i in range(batches) for e in sampler(i)]
    return out


def _write_json(path: Path, content: dict[str, Any]) -> None:
    try:
        with replacing(path) as fresh:
            fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as e:
        raise OutputError(f"{path}: cannot be written ({e.strerror or e})") from e
