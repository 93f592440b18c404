"""Which checkpoint a name means: a folder, a bundled one, or a repository in the cache of the Hugging Face Hub."""

from __future__ import annotations

import os
from pathlib import Path

from vsacli.checkpoints.folder import CONFIG_FILE, WEIGHTS_FILE, Checkpoint, read_config, read_folder
from vsacli.errors import CheckpointError, UsageError
from vsacli.kinds import TaskKind


def bundled_folder() -> Path:
    """The folder of bundled checkpoints: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "_models"
    return inside if inside.is_dir() else package.parent / "models"


def bundled_checkpoints() -> dict[str, Path]:
    """The bundled checkpoints by name."""
    folder = bundled_folder()
    if not folder.is_dir():
        return {}
    return {p.name: p for p in sorted(folder.iterdir()) if (p / CONFIG_FILE).is_file()}


def load_checkpoint(ref: str | os.PathLike[str] | None = None, *, kind: TaskKind | None = None) -> Checkpoint:
    """Load a checkpoint, without network if it is bundled or a folder.

    Parameters
    ----------
    ref : str or path, optional
        A folder, the name of a bundled checkpoint, or a repository of the Hugging Face Hub
        (``ORG/NAME`` or ``ORG/NAME@REVISION``). None: the bundled checkpoint named like ``kind``.
    kind : {"classification", "regression"}, optional
        The kind that is needed.

    Returns
    -------
    Checkpoint

    Raises
    ------
    CheckpointError
        If there is none, it is damaged, of another version, or serves the other kind of tasks.
    """
    if ref is None:
        name, bundled = kind or "classification", bundled_checkpoints()
        if name not in bundled:
            raise CheckpointError(
                f"no bundled {name} checkpoint in this installation; give one with --checkpoint FOLDER or ORG/NAME"
            )
        folder = bundled[name]
    else:
        name = os.fspath(ref)
        folder = find_folder(name)
    checkpoint = read_folder(folder, name)
    if kind is not None and checkpoint.kind != kind:
        raise CheckpointError(
            f"checkpoint {name} is for {checkpoint.kind}, but this table needs {kind}; "
            f"leave out --checkpoint for the bundled one, or choose --task {checkpoint.kind}"
        )
    return checkpoint


def method_of(ref: str) -> str:
    """The method of a checkpoint, from its config.json alone.

    Raises
    ------
    CheckpointError
        If there is no such checkpoint, or its method is not known here.
    """
    from vsacli.methods.registry import network_info

    model_config, _ = read_config(find_folder(ref), ref)
    method = model_config.get("method", "vsa")
    try:
        network_info(method)
    except CheckpointError as e:
        raise CheckpointError(f"checkpoint {ref}: {e}") from e
    return method


def find_folder(name: str) -> Path:
    """The folder that a name means: one on disk, then a bundled checkpoint, then one of the Hub's cache.

    Raises
    ------
    CheckpointError
        If there is none.
    """
    bundled = bundled_checkpoints()
    if not name.strip():
        raise CheckpointError("the checkpoint has an empty name; give a folder, a bundled checkpoint or ORG/NAME")
    folder = Path(name)
    try:
        if folder.is_file() and folder.name in (CONFIG_FILE, WEIGHTS_FILE):
            return folder.parent
        if name in bundled and not (folder / CONFIG_FILE).is_file():
            return bundled[name]
        return folder if folder.exists() else _from_hub(name, bundled)
    except OSError as e:
        raise CheckpointError(f"checkpoint {name}: cannot be read ({e.strerror or e})") from e


def _from_hub(name: str, bundled: dict[str, Path]) -> Path:
    parts = name.split("@")[0].split("/")
    if len(parts) != 2 or not all(parts) or name.startswith((".", "/", "~")):
        known = ", ".join(bundled) or "none"
        raise CheckpointError(f"checkpoint {name}: no such folder, and no bundled checkpoint (bundled: {known})")
    from vsacli.checkpoints.hub.cache import find_cached, parse_ref

    try:
        ref = parse_ref(name)
    except UsageError as e:
        raise CheckpointError(f"checkpoint {name}: no such folder, and not the name of a Hub repository") from e
    folder = find_cached(ref)
    if folder is None:
        raise CheckpointError(
            f"checkpoint {name}: no such folder, and no such repository in the local cache of the Hugging Face Hub; "
            f"fetch it once with: vsa download {name}"
        )
    return folder
