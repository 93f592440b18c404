"""A file of records, one JSON object a line: written as they come, read again to resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from vsacli.errors import DataError, InputError, OutputError, UsageError
from vsacli.evaluation.episodes import EpisodePlan, Setting
from vsacli.evaluation.run import MethodSpec, Record
from vsacli.support.atomic_files import replacing
from vsacli.support.locks import lock_beside, locked


class ResultsFile:
    """Records on disk. A run that is cut off leaves whole lines and at most one torn one, which is dropped.

    Parameters
    ----------
    path : Path
        Made when the first record comes; an older file of the same plan is continued.
    plan : EpisodePlan

    Attributes
    ----------
    records : list of Record
        What the file holds.

    Raises
    ------
    UsageError
        The file holds episodes drawn otherwise.
    DataError
        The file is something else.
    """

    def __init__(self, path: Path, plan: EpisodePlan) -> None:
        self.path = path
        self.records = read_records(path) if path.exists() else []
        for r in self.records:
            held, asked = (r.seed, r.setting, r.unlabeled), (plan.seed, plan.setting.value, plan.n_unlabeled)
            if held != asked:
                raise UsageError(
                    f"{path} holds results drawn with {_how(*held)}, not with {_how(*asked)}; ask for the same, or "
                    "give another --json"
                )

    def resume(self, methods: Sequence[MethodSpec]) -> list[Record]:
        """The records of these methods that hold: not failed, and of the same settings and weights.

        The others of these methods are dropped from the file, as they run again.
        """
        fingerprints = {spec.label: spec.fingerprint() for spec in methods}
        kept, usable = [], []
        for r in self.records:
            if r.method not in fingerprints:
                kept.append(r)
            elif r.error is None and r.fingerprint == fingerprints[r.method]:
                kept.append(r)
                usable.append(r)
        if len(kept) < len(self.records) or self._torn():
            write_records(self.path, kept)
        self.records = kept
        return usable

    def add(self, records: Iterable[Record]) -> None:
        """Append records; they are on disk when this returns."""
        new = list(records)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(_line(r) for r in new)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror}); give another --json") from None
        self.records += new

    def _torn(self) -> bool:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"


def sole_user(path: Path | None) -> AbstractContextManager[None]:
    """The lock of a file of records that a run resumes and adds to; locks nothing if `path` is None.

    Raises
    ------
    UsageError
        When it is entered, if another run holds it.
    """
    if path is None or (path.exists() and not path.is_file()):
        return nullcontext()
    busy = f"{path}: another run is writing there ({{holder}}); wait for its end or stop it, or give another --json"
    return locked(lock_beside(path), busy)


def _how(seed: int, setting: str, unlabeled: int) -> str:
    options = [f"--seed {seed}"]
    if setting != Setting.balanced:
        options.append(f"--{setting}")
    if setting != Setting.natural:
        options.append(f"--unlabeled {unlabeled}")
    return " ".join(options)


def read_records(path: Path) -> list[Record]:
    """The records of a file; a last line without its end is dropped.

    Raises
    ------
    InputError, DataError
        The file cannot be read, or a line is not a record.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a file of results of `vsa eval`; give another --json") from None
    lines = text.split("\n")[:-1]
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(Record.from_dict(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise DataError(
                f"{path}, line {number}: not a result of `vsa eval`; give another --json, or remove the file"
            ) from None
    return records


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a whole file of records; one that was there is replaced when the new one is complete.

    Raises
    ------
    OutputError
    """
    try:
        with replacing(path) as fresh:
            fresh.write_text("".join(_line(r) for r in records), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}); give another --json") from None


def _line(record: Record) -> str:
    return json.dumps(record.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
