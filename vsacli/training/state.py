"""The state of a run on disk: tensors as safetensors, the rest as JSON, replaced atomically.

A state folder is written beside the old one and renamed into place, so that a run killed at any
moment finds either the old state or the new one, whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from vsacli.errors import ResourceError, TrainingError

VERSION = 1


def optimizer_tensors(optimizers: list[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """The optimizers' per-parameter state under flat names ``optimizer.parameter.key``."""
    flat = {}
    for i, o in enumerate(optimizers):
        for p, values in o.state_dict()["state"].items():
            for key, value in values.items():
                tensor = value if isinstance(value, Tensor) else torch.tensor(value)
                flat[f"{i}.{p}.{key}"] = tensor.detach().cpu().contiguous().clone()
    return flat


def load_optimizer_tensors(optimizers: list[torch.optim.Optimizer], flat: dict[str, Tensor]) -> None:
    """Put back what :func:`optimizer_tensors` gave."""
    for i, o in enumerate(optimizers):
        current = o.state_dict()
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in flat.items():
            owner, parameter, key = name.split(".", 2)
            if int(owner) == i:
                state.setdefault(int(parameter), {})[key] = value
        o.load_state_dict({"state": state, "param_groups": current["param_groups"]})


def save_state(folder: Path, tensors: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """Replace ``folder``: one safetensors file for each group of ``tensors``, and ``meta`` as state.json.

    Raises
    ------
    ResourceError
        If the disk is full or cannot be written; the old state stays as it was.
    """
    fresh = folder.with_name(folder.name + ".new")
    old = folder.with_name(folder.name + ".old")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for group, values in tensors.items():
            save_file({k: v.detach().cpu().contiguous() for k, v in values.items()}, fresh / f"{group}.safetensors")
        sums = {path.name: _sha256(path) for path in fresh.iterdir()}
        (fresh / "state.json").write_text(json.dumps({"version": VERSION, "sha256": sums, **meta}))
        for path in [*fresh.iterdir(), fresh]:
            _sync(path)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        # Where only the old one is there (a kill between these two lines), it stays until the new one is in place.
        fresh.rename(folder)
        _sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as e:
        shutil.rmtree(fresh, ignore_errors=True)
        kept = "the last saved state is intact" if folder.exists() or old.exists() else "no state was saved before"
        raise ResourceError(f"{folder}: the state cannot be saved ({e}); {kept}") from e


def load_state(folder: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """What :func:`save_state` wrote: tensors by group, and the meta values.

    A run killed between the two renames has only ``.old``; that one is then read.

    Raises
    ------
    TrainingError
        If there is no state, or it is damaged or of another version.
    """
    old = folder.with_name(folder.name + ".old")
    if not folder.exists() and old.exists():
        folder = old
    try:
        meta = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        for name, digest in meta.pop("sha256", {}).items():
            if _sha256(folder / name) != digest:
                raise ValueError(f"the checksum of {name} does not match")
        tensors = {p.stem: load_file(p) for p in sorted(folder.glob("*.safetensors"))}
    except FileNotFoundError as e:
        if folder.exists():
            raise TrainingError(f"{folder}: the saved state lacks {Path(e.filename).name}; start a new run") from e
        raise TrainingError(f"{folder}: no saved state to resume from; start without --resume") from e
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, SafetensorError) as e:
        raise TrainingError(f"{folder}: the saved state is damaged ({e}); start a new run") from e
    if meta.get("version") != VERSION:
        raise TrainingError(
            f"{folder}: the state has version {meta.get('version')}, this is {VERSION}; start a new run"
        )
    return tensors, meta


def check_meta(meta: Mapping[str, Any]) -> None:
    """Refuse counters of a saved state that cannot be any.

    Raises
    ------
    ValueError
    """
    for name, least in (("step", 0), ("tasks_seen", 0), ("since_best", 0), ("validated_step", -1)):
        value = meta.get(name, 0)
        if type(value) is not int or not least <= value < 10**18:
            raise ValueError(f"its {name} is not a number that a run has")
    for name in ("elapsed", "best"):
        value = meta.get(name, 0.0)
        if not (name == "best" and value is None) and (
            type(value) not in (int, float) or not -1e300 < value < 1e300 or (name == "elapsed" and value < 0)
        ):
            raise ValueError(f"its {name} is not a number that a run has")


def _sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk and not only in memory."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
