"""Checkpoints: a folder with config.json, model.safetensors and README.md (the card).

Nothing in a checkpoint is executed: JSON and safetensors only, read strictly.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsacli.checkpoints.calibration import CALIBRATION, MOST_FACTOR
from vsacli.errors import CheckpointError, OutputError, UsageError
from vsacli.kinds import TaskKind
from vsacli.support.atomic_files import replacing
from vsacli.support.wording import some

if TYPE_CHECKING:
    from vsacli.nn.network import Network

FORMAT = 1
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "README.md"
LARGEST_WEIGHTS = 2 << 30  # bytes; a labeler of this kind has megabytes
LARGEST_CONFIG = 16 << 20  # bytes


@dataclass
class Checkpoint:
    """A model with what is known about it.

    Attributes
    ----------
    model : Network
        Of the method that its config names; in evaluation mode, on the CPU, in float32.
    meta : dict
        What training recorded: data, command, figures, calibration.
    name : str
        What to call it in messages.
    path : Path
        Where it was read from.
    """

    model: Network[Any]
    meta: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    path: Path | None = None

    @property
    def kind(self) -> TaskKind:
        """The kind of tasks that it serves."""
        return self.model.config.kind


def read_folder(folder: Path, name: str | None = None) -> Checkpoint:
    """Read a checkpoint folder strictly.

    Raises
    ------
    CheckpointError
        With what is wrong and what to do.
    """
    from safetensors import SafetensorError, safe_open

    from vsacli.methods.registry import build_network, config_from_dict

    name = name or str(folder)
    weights_file = folder / WEIGHTS_FILE
    model_config, meta = read_config(folder, name)
    try:
        if not weights_file.is_file():
            raise CheckpointError(
                f"checkpoint {name}: {WEIGHTS_FILE} is missing; a checkpoint is a folder that has it, and nothing else "
                "is read (no pickle)"
            )
        if weights_file.stat().st_size > LARGEST_WEIGHTS:
            raise CheckpointError(f"checkpoint {name}: {WEIGHTS_FILE} is larger than any model of this kind")
    except OSError as e:
        raise CheckpointError(f"checkpoint {name}: {WEIGHTS_FILE} cannot be read ({e.strerror or e})") from e
    import torch

    try:
        settings = config_from_dict(model_config)
    except CheckpointError as e:
        raise CheckpointError(f"checkpoint {name}: {e}") from e
    except (TypeError, ValueError) as e:
        raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours ({e})") from e
    try:
        with safe_open(weights_file, framework="pt") as f:
            found = {k: tuple(f.get_slice(k).get_shape()) for k in f.keys()}  # noqa: SIM118
            # A config may name sizes that the file lacks: count before anything is built, and compare
            # shapes before memory is taken.
            if settings.least_tensors > len(found):
                raise CheckpointError(f"checkpoint {name}: weights and config disagree (too few weights)")
            with torch.device("meta"):
                model = build_network(settings)
            expected = {k: tuple(v.shape) for k, v in model.state_dict().items()}
            wrong = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
            if wrong:
                raise CheckpointError(
                    f"checkpoint {name}: weights and config disagree ({some(wrong, 1)}); fetch it again"
                )
            tensors = {k: f.get_tensor(k).float() for k in expected}
    except (SafetensorError, OSError, RuntimeError, TypeError, ValueError) as e:
        raise CheckpointError(f"checkpoint {name}: damaged or not one of ours ({e}); fetch it again") from e
    for key, value in tensors.items():
        if not bool(torch.isfinite(value).all()):
            raise CheckpointError(f"checkpoint {name}: {key} holds values that are not finite; fetch it again")
    model.load_state_dict(tensors, strict=True, assign=True)
    model.requires_grad_(False)
    return Checkpoint(model.eval(), meta, name, folder)


def read_config(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sections ``model`` and ``meta`` of a folder's config.json.

    Raises
    ------
    CheckpointError
        If it is missing, not one of ours, or of another format.
    """
    file = folder / CONFIG_FILE
    try:
        if not file.is_file():
            raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is missing; a checkpoint is a folder that has it")
        if file.stat().st_size > LARGEST_CONFIG:
            raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours (far too large)")
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours ({e})") from e
    if not isinstance(config, dict) or type(config.get("format")) is not int:
        raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours (it has no format)")
    if config["format"] != FORMAT:
        raise CheckpointError(
            f"checkpoint {name} has format {config['format']}, this version of vsacli reads {FORMAT}; update vsacli"
        )
    for section, default in (("model", None), ("meta", {})):
        if not isinstance(config.setdefault(section, default), dict):
            raise CheckpointError(f"checkpoint {name}: {CONFIG_FILE} is not one of ours (no {section} section)")
    calibration = config["meta"].get("calibration", {})
    for key in CALIBRATION:
        factor = calibration.get(key, 1.0) if isinstance(calibration, dict) else None
        if not isinstance(factor, (int, float)) or not 1 / MOST_FACTOR <= factor <= MOST_FACTOR:
            raise CheckpointError(f"checkpoint {name}: calibration {key} is not a positive number of usual size")
    return config["model"], config["meta"]


def save_checkpoint(folder: Path, model: Network[Any], meta: dict[str, Any], card: str) -> None:
    """Write a checkpoint folder: config.json, model.safetensors, README.md.

    Parameters
    ----------
    folder : Path
        Made if absent; files in it are replaced.
    model : Network
    meta : dict
        JSON values; numbers must be finite. ``calibration`` in it may hold what `vsacli.checkpoints.calibration` names.
    card : str
        The model card, Markdown.

    Raises
    ------
    UsageError
        If ``meta`` holds NaN, infinity or what JSON has no word for.
    OutputError
        If the folder cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    config = {"format": FORMAT, "model": model.config.to_dict(), "meta": meta}
    try:
        text = json.dumps(config, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as e:
        raise UsageError(f"a checkpoint's record must be plain JSON with finite numbers ({e})") from e
    tensors = {k: v.detach().cpu().float().contiguous() for k, v in model.state_dict().items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD_FILE).write_text(card, encoding="utf-8")
        with replacing(folder / WEIGHTS_FILE) as fresh:
            save_file(tensors, fresh, metadata={"format": "pt"})
            # safetensors writes for the owner alone; whoever can read the card may read the weights
            fresh.chmod((folder / CARD_FILE).stat().st_mode)
        (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    except (OSError, SafetensorError) as e:
        raise OutputError(f"{folder}: the checkpoint cannot be written ({e})") from e
