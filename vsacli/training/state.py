"""The state of a run on disk: tensors as safetensors, the rest as JSON, replaced atomically.

A state folder is written beside the old one and renamed into place, so that a run killed at any
moment finds either the old state or the new one, whole.
"""

from __future__ import annotations

import json
import os
import shutil
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
    """Write ``folder`` anew: one safetensors file a group of ``tensors``, and ``meta`` as state.json.

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
        (fresh / "state.json").write_text(json.dumps({"version": VERSION, **meta}))
        for path in fresh.iterdir():
            with path.open("rb") as f:
                os.fsync(f.fileno())
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as e:
        shutil.rmtree(fresh, ignore_errors=True)
        raise ResourceError(f"{folder}: the state cannot be saved ({e}); the last saved state is intact") from e


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
        meta = json.loads((folder / "state.json").read_text())
        tensors = {p.stem: load_file(p) for p in sorted(folder.glob("*.safetensors"))}
    except FileNotFoundError as e:
        raise TrainingError(f"{folder}: no saved state to resume from; start without --resume") from e
    except (OSError, ValueError, SafetensorError) as e:
        raise TrainingError(f"{folder}: the saved state is damaged ({e}); start a new run") from e
    if meta.get("version") != VERSION:
        raise TrainingError(f"{folder}: the state has version {meta.get('version')}, this is {VERSION}; start anew")
    return tensors, meta
