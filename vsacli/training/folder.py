"""What a run writes beside its state: figures as JSON lines, and the checkpoint of the best validation."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from vsacli.checkpoints.folder import WEIGHTS_FILE, save_checkpoint
from vsacli.errors import ResourceError
from vsacli.nn.network import Network
from vsacli.support.atomic_files import replacing


class MetricsLog:
    """``metrics.jsonl``: one JSON object a line, for each report, validation and incident.

    A line that cannot be written (the disk is full) is kept and written with the next.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waiting: list[str] = []

    def add(self, record: dict[str, Any]) -> None:
        """Append a record; its numbers must be finite."""
        self.waiting.append(json.dumps(record, allow_nan=False))
        try:
            with self.path.open("a", encoding="utf-8") as f:
                f.write("".join(line + "\n" for line in self.waiting))
        except OSError:
            return
        self.waiting = []

    def trim(self, step: int) -> None:
        """Drop what was written after ``step``: a run resumed from there writes it again."""
        kept = [json.dumps(r) + "\n" for r in read_metrics(self.path) if r["step"] <= step]
        try:
            with replacing(self.path) as fresh:
                fresh.write_text("".join(kept), encoding="utf-8")
        except OSError as e:
            raise ResourceError(f"{self.path}: cannot be written ({e.strerror or e})") from e


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The records of a ``metrics.jsonl``; a line that was cut short by a kill is left out."""
    records = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("step"), int):
            records.append(record)
    return records


def keep_checkpoint(folder: Path, model: Network[Any], meta: dict[str, Any], card: str) -> None:
    """Write the checkpoint's files into ``folder``, each of them whole or not at all.

    Raises
    ------
    ResourceError
        If the disk is full or cannot be written; an older checkpoint stays as it was.
    """
    fresh = folder / "checkpoint.new"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        save_checkpoint(fresh, model, meta, card)
        for path in fresh.iterdir():
            with path.open("rb") as f:
                os.fsync(f.fileno())
        for path in sorted(fresh.iterdir()):
            path.replace(folder / path.name)
        fresh.rmdir()
    except (OSError, SafetensorError) as e:
        shutil.rmtree(fresh, ignore_errors=True)
        kept = "the older one is intact" if (folder / WEIGHTS_FILE).exists() else "there is no older one"
        raise ResourceError(f"{folder}: the checkpoint cannot be saved ({e}); {kept}") from e
