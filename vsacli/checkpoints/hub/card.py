"""A checkpoint as the Hub wants it: a card with metadata, and a record without the paths of its machine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsacli.checkpoints.folder import CARD_FILE, CONFIG_FILE, WEIGHTS_FILE, Checkpoint
from vsacli.checkpoints.hub.client import quiet_client
from vsacli.errors import CheckpointError, OutputError, UsageError

LIBRARY = "vsacli"
TAGS = ("tabular", "few-shot", "semi-supervised", "meta-learning", "arxiv:2311.05088")
_PATH = re.compile(
    r"(?<![^\s'\"=(`\[{<>,;:|*])(?:file://)?"
    r"(?:~?/(?:[^\s'\"`/]+/)+|[A-Za-z]:\\(?:[^\s'\"`\\]+\\)*)([^\s'\"`/\\]*)"
)


@dataclass(frozen=True)
class HubFolder:
    """The files of a repository by name, and the kind of tasks it serves."""

    files: dict[str, bytes]
    kind: str

    def write(self, folder: Path) -> None:
        """Write them to a folder that is new or empty.

        Raises
        ------
        OutputError
            If it is neither, or cannot be written.
        """
        try:
            taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        except OSError as e:
            raise OutputError(f"{folder} cannot be read ({e.strerror or e})") from e
        if taken:
            raise OutputError(f"{folder} is not empty; name a folder that is not there yet")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, data in self.files.items():
                (folder / name).write_bytes(data)
        except OSError as e:
            raise OutputError(f"{folder} cannot be written ({e.strerror or e})") from e


def hub_folder(checkpoint: Checkpoint, repo: str, *, license: str | None = None) -> HubFolder:
    """What to publish of a checkpoint that was read strictly, as the repository ``repo``.

    Raises
    ------
    CheckpointError
        If a file cannot be read again, or the card's own metadata cannot be understood.
    UsageError
        If the licence is not an identifier.
    """
    if license is not None and re.fullmatch(r"[\w.+-]{1,80}", license) is None:
        raise UsageError(f"--license {license}: not a licence identifier; give one such as apache-2.0, mit, cc-by-4.0")
    folder = checkpoint.path
    assert folder is not None
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        weights = (folder / WEIGHTS_FILE).read_bytes()
        card = (folder / CARD_FILE).read_text(encoding="utf-8") if (folder / CARD_FILE).is_file() else ""
    except (OSError, ValueError) as e:
        raise CheckpointError(f"checkpoint {checkpoint.name}: cannot be read ({e})") from e
    called = config["meta"].get("folder")
    config["meta"] = without_paths(config["meta"]) | {"folder": repo}
    text = _card(card, checkpoint, repo, license, called if isinstance(called, str) else None)
    files = {
        CARD_FILE: text.encode(),
        CONFIG_FILE: (json.dumps(config, indent=1, allow_nan=False) + "\n").encode(),
        WEIGHTS_FILE: weights,
    }
    return HubFolder(files, checkpoint.kind)


def without_paths(value: Any) -> Any:
    """JSON in which every absolute path is only its last part: names of folders reveal people and projects."""
    if isinstance(value, str):
        return _PATH.sub(lambda found: found[1] or "FOLDER", value)
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    return [without_paths(item) for item in value] if isinstance(value, list) else value


def _card(card: str, checkpoint: Checkpoint, repo: str, license: str | None, called: str | None) -> str:
    """The card with the metadata that the Hub reads; what a person put there stays."""
    from huggingface_hub import ModelCard
    from huggingface_hub.utils import yaml_dump

    try:
        with quiet_client():
            parsed = ModelCard(card, ignore_metadata_errors=False)
        mine, text = parsed.data.to_dict(), parsed.text
    except Exception as e:  # of YAML's many kinds
        raise CheckpointError(
            f"checkpoint {checkpoint.name}: the metadata at the top of {CARD_FILE} cannot be understood "
            f"({' '.join(str(e).split())}); correct or remove them"
        ) from e
    text = without_paths(text.replace(called, repo) if called else text).replace("THIS_FOLDER", repo).strip()
    if not text:
        text = f"# {repo}\n\nA network of `vsacli` for {checkpoint.kind}.\n\n"
        text += f"    vsa label table.csv --target COLUMN --checkpoint {repo}"
    if f"vsa download {repo}" not in text:
        text += f"\n\nFetch it once with `vsa download {repo}`; then `--checkpoint {repo}` works without network."
    tags = [tag for tag in mine.get("tags") or [] if isinstance(tag, str)]
    data = {
        "library_name": LIBRARY,
        "pipeline_tag": f"tabular-{checkpoint.kind}",
        **({"license": license} if license is not None else {}),
        "inference": False,  # the Hub cannot run it, so it should not offer to
        **{key: value for key, value in mine.items() if key != "license" or license is None},
        "tags": [*tags, *(tag for tag in TAGS if tag not in tags)],
    }
    return f"---\n{yaml_dump(data, sort_keys=False).strip()}\n---\n\n{text}\n"
