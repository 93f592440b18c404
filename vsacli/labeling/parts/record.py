"""Which parts a run has finished, kept beside them until all are: an interrupted run resumes from there."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from vsacli.errors import OutputError
from vsacli.labeling.parts.folder import Part
from vsacli.labeling.parts.plan import Plan
from vsacli.labeling.parts.work import PartReport
from vsacli.support.atomic_files import replacing

NAME = ".vsa-parts.jsonl"
LOCK = ".vsa-parts.lock"


class Record:
    """A file of JSON lines in the output folder: what the run reads, then a line for each finished part.

    Parameters
    ----------
    folder : str
        The output folder; it is there.
    fingerprint : str
        Of everything that the answers depend on (`fingerprint_of`).

    Attributes
    ----------
    finished : dict of str to PartReport
        Parts of an interrupted run with the same fingerprint that are still as it wrote them.
    restarted : bool
        There was an unfinished run, of other inputs or options.
    """

    def __init__(self, folder: str, fingerprint: str) -> None:
        self._folder, self._path = folder, os.path.join(folder, NAME)
        self.finished: dict[str, PartReport] = {}
        lines = self._read()
        self.restarted = bool(lines) and lines[0].get("run") != fingerprint
        if lines and not self.restarted:
            for line in lines[1:]:
                with contextlib.suppress(TypeError):  # of another version
                    report = PartReport(**line)
                    if self._untouched(report):
                        self.finished[report.name] = report
        if lines:
            self._remove_leftovers()
        self._file: IO[str] | None = None
        self._fingerprint = fingerprint

    def __enter__(self) -> Record:
        lines = [{"run": self._fingerprint}, *(dataclasses.asdict(report) for report in self.finished.values())]
        try:
            with replacing(Path(self._path)) as fresh:  # on a full disk the older record stays
                fresh.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            self._file = open(self._path, "a", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write {self._path}: {error.strerror}") from None
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if failed is not None:
            self._remove_leftovers()

    def add(self, report: PartReport) -> None:
        """Keep that a part is finished."""
        self._write(dataclasses.asdict(report))

    def complete(self) -> None:
        """All parts are finished: the record is no longer needed."""
        if self._file is not None:
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _write(self, line: dict) -> None:
        assert self._file is not None
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self._path}: {error.strerror}") from None

    def _read(self) -> list[dict]:
        """The lines of an unfinished run, without a last line that was cut off."""
        lines = []
        with contextlib.suppress(OSError, ValueError), open(self._path, encoding="utf-8") as file:
            for text in file:
                line = json.loads(text)
                if isinstance(line, dict):
                    lines.append(line)
        return lines

    def _untouched(self, report: PartReport) -> bool:
        try:
            state = os.stat(os.path.join(self._folder, *report.name.split("/")))
        except OSError:
            return False
        return (state.st_size, state.st_mtime_ns) == (report.size, report.written)

    def _remove_leftovers(self) -> None:
        """Remove the temporary files of a run, or of workers, that were killed."""
        for at, _, files in os.walk(self._folder):
            for name in files:
                if name.startswith(".vsa-") and name.endswith(".tmp"):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(at, name))


def fingerprint_of(plan: Plan, parts: Sequence[Part], labeled: Sequence[str]) -> str:
    """A number for everything that the answers depend on; a file counts by its size and time of change."""
    from vsacli._version import __version__

    def state(path: str) -> tuple[int, int]:
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns

    known: list[object] = [__version__, dataclasses.asdict(plan.options), plan.target.kind, plan.target.classes]
    known += [(part.name, part.n_rows, *state(part.path)) for part in parts]
    digest = hashlib.sha256()
    known += [state(path) for path in labeled if path != "-"]
    if plan.network is not None:
        checkpoint = plan.network.checkpoint
        known.append(checkpoint.meta.get("calibration"))
        for name, tensor in sorted(checkpoint.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
        for array in (plan.network.labeled, plan.network.y, plan.network.beside, plan.network.signatures):
            digest.update(array.tobytes())
    digest.update(json.dumps(known).encode())
    return digest.hexdigest()
