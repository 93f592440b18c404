"""Checkpoints: a folder with config.json, model.safetensors and README.md (the card).

Nothing in a checkpoint is executed: JSON and safetensors only, read strictly.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsacli.errors import CheckpointError, UsageError
from vsacli.tasks.episode import TaskKind

if TYPE_CHECKING:
    from vsacli.nn.model import VSAModel

FORMAT = 1
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "README.md"
LARGEST_WEIGHTS = 2 << 30  # bytes; a labeler of this kind has megabytes


@dataclass
class Checkpoint:
    """A model with what is known about it.

    Attributes
    ----------
    model : VSAModel
        In evaluation mode, on the CPU, in float32.
    meta : dict
        What training recorded: data, command, figures, calibration.
    name : str
        What to call it in messages.
    path : Path
        Where it was read from.
    """

    model: VSAModel
    meta: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    path: Path | None = None

    @property
    def kind(self) -> TaskKind:
        """The kind of tasks that it serves."""
        return self.model.config.kind


def bundled_folder() -> Path:
    """The folder of bundled checkpoints: inside an installed package, or beside it in a checkout."""
    inside = Path(__file__).parent / "_models"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "models"


def bundled_checkpoints() -> dict[str, Path]:
    """The bundled checkpoints by name."""
    folder = bundled_folder()
    if not folder.is_dir():
        return {}
    return {p.name: p for p in sorted(folder.iterdir()) if (p / CONFIG_FILE).is_file()}


def load_checkpoint(ref: str | os.PathLike[str] | None = None, *, kind: TaskKind | None = None) -> Checkpoint:
    """Load a checkpoint, without network where it is bundled or a folder.

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
    bundled = bundled_checkpoints()
    if ref is None:
        name = kind or "classification"
        if name not in bundled:
            raise CheckpointError(
                f"no bundled {name} checkpoint in this installation; give one with --checkpoint FOLDER or ORG/NAME"
            )
        folder = bundled[name]
    else:
        name = os.fspath(ref)
        folder = Path(name)
        if folder.is_file() and folder.name in (CONFIG_FILE, WEIGHTS_FILE):
            folder = folder.parent
        if not folder.exists() and name in bundled:
            folder = bundled[name]
        elif not folder.exists():
            folder = _from_hub(name, bundled)
    checkpoint = read_folder(folder, name)
    if kind is not None and checkpoint.kind != kind:
        raise CheckpointError(
            f"checkpoint {name} serves {checkpoint.kind}, this table asks for {kind}; "
            f"leave out --checkpoint for the bundled one, or choose --task {checkpoint.kind}"
        )
    return checkpoint


def _from_hub(name: str, bundled: dict[str, Path]) -> Path:
    parts = name.split("@")[0].split("/")
    if len(parts) != 2 or not all(parts) or name.startswith((".", "/", "~")):
        known = ", ".join(bundled) or "none"
        raise CheckpointError(f"checkpoint {name}: no such folder, and no bundled checkpoint (bundled: {known})")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repo, _, revision = name.partition("@")
    wanted = [CONFIG_FILE, WEIGHTS_FILE, CARD_FILE]
    try:
        return Path(snapshot_download(repo, revision=revision or None, allow_patterns=wanted, local_files_only=True))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as e:
        raise CheckpointError(
            f"checkpoint {name} is not in the local cache; fetch it once with: vsa download {name}"
        ) from e


def read_folder(folder: Path, name: str | None = None) -> Checkpoint:
    """Read a checkpoint folder strictly.

    Raises
    ------
    CheckpointError
        With what is wrong and what to do.
    """
    from safetensors import SafetensorError, safe_open

    from vsacli.nn.config import VSAConfig
    from vsacli.nn.model import VSAModel

    name = name or str(folder)
    config_file, weights_file = folder / CONFIG_FILE, folder / WEIGHTS_FILE
    for f in (config_file, weights_file):
        if not f.is_file():
            raise CheckpointError(f"checkpoint {name}: {f.name} is missing; a checkpoint is a folder that has it")
    try:
        config = json.loads(config_file.read_text(encoding="utf-8"))
        version = config["format"]
        model_config = config["model"]
        meta = config.get("meta", {})
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours ({e})") from e
    if version != FORMAT:
        raise CheckpointError(
            f"checkpoint {name} has format {version}, this version of vsacli reads {FORMAT}; update vsacli"
        )
    if weights_file.stat().st_size > LARGEST_WEIGHTS:
        raise CheckpointError(f"checkpoint {name}: {WEIGHTS_FILE} is larger than any model of this kind")
    if not isinstance(model_config, dict):
        raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours (no model section)")
    import torch

    try:
        # Shapes are compared before memory is taken: a config may name sizes that the file lacks.
        with torch.device("meta"):
            model = VSAModel(VSAConfig.from_dict(model_config))
        expected = {k: tuple(v.shape) for k, v in model.state_dict().items()}
        with safe_open(weights_file, framework="pt") as f:
            found = {k: tuple(f.get_slice(k).get_shape()) for k in f.keys()}  # noqa: SIM118
            wrong = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
            if wrong:
                raise CheckpointError(
                    f"checkpoint {name}: weights and config disagree ({wrong[0]} and {len(wrong) - 1} more); "
                    "fetch it again"
                )
            tensors = {k: f.get_tensor(k).float() for k in expected}
    except (SafetensorError, OSError, TypeError, ValueError) as e:
        raise CheckpointError(f"checkpoint {name}: damaged or not one of ours ({e}); fetch it again") from e
    for key, value in tensors.items():
        if not bool(torch.isfinite(value).all()):
            raise CheckpointError(f"checkpoint {name}: {key} holds values that are not finite; fetch it again")
    model.load_state_dict(tensors, strict=True, assign=True)
    model.requires_grad_(False)
    return Checkpoint(model.eval(), meta, name, folder)


def save_checkpoint(folder: Path, model: VSAModel, meta: dict[str, Any], card: str) -> None:
    """Write a checkpoint folder: config.json, model.safetensors, README.md.

    Parameters
    ----------
    folder : Path
        Made if absent; files in it are replaced.
    model : VSAModel
    meta : dict
        JSON values; numbers must be finite.
    card : str
        The model card, Markdown.

    Raises
    ------
    UsageError
        If ``meta`` holds NaN or infinity.
    """
    from safetensors.torch import save_file

    _require_finite(meta)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"format": FORMAT, "model": model.config.to_dict(), "meta": meta}
    tensors = {k: v.detach().cpu().float().contiguous() for k, v in model.state_dict().items()}
    fresh = folder / (WEIGHTS_FILE + ".new")
    save_file(tensors, fresh, metadata={"format": "pt"})
    fresh.replace(folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    (folder / CARD_FILE).write_text(card, encoding="utf-8")


def _require_finite(value: Any) -> None:
    if isinstance(value, dict):
        for v in value.values():
            _require_finite(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _require_finite(v)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError("a checkpoint's record holds a number that is not finite")
