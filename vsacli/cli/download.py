"""`vsa download`: fetch a trained network from the Hugging Face Hub, or list the installed ones."""

from __future__ import annotations

import json as jsonlib
import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from vsacli.cli.console import printable, progress_shown, show_facts
from vsacli.errors import CheckpointError, UsageError

_FIGURES = {"classification": "accuracy", "regression": "mse"}  # the one that a list has room for

EPILOG = """\b
Examples:
  vsa download ORG/NAME@v2
  vsa label data.csv -t class --checkpoint ORG/NAME@v2
  vsa download --list --json
"""


def download(
    repo: Annotated[
        str | None,
        typer.Argument(
            metavar="REPO[@REVISION]",
            show_default=False,
            help="A repository of the Hugging Face Hub: ORG/NAME or ORG/NAME@REVISION.",
        ),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="A branch, tag or commit. Default: main.")
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", show_default=False, help="Folder to keep it in. Default: HF_HUB_CACHE or the Hub's own."
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", show_default=False, help="Default: HF_TOKEN, or that of `hf auth login`."),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Ask the Hub even if the cache has it; fetch newer or damaged files again.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the bundled and the cached checkpoints.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the folder or the list.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors to standard error.")] = False,
) -> None:
    """Fetch a trained network from the Hugging Face Hub.

    The network goes into the Hub's cache, and its folder is printed; other commands find it there by its name,
    offline. Files in the cache are not fetched again. HF_ENDPOINT, HF_HUB_CACHE and HF_HUB_OFFLINE are respected.
    """
    if list_:
        given = {"REPO": repo, "--revision": revision, "--token": token, "--update": update}
        wrong = next((name for name, value in given.items() if value), None)
        if wrong is not None:
            raise UsageError(f"--list takes no {wrong}")
        _list(cache_dir, json)
    elif repo is None:
        raise UsageError("give a REPO to download, or --list")
    else:
        _download(repo, revision, cache_dir, token, update, json, quiet)


def _download(
    repo: str, revision: str | None, cache_dir: Path | None, token: str | None, update: bool, json: bool, quiet: bool
) -> None:
    from vsacli.checkpoints.hub.cache import DEFAULT_REVISION, parse_ref
    from vsacli.checkpoints.hub.download import fetch

    ref = parse_ref(repo, revision)
    with progress_shown(quiet) as progress:
        fetched = fetch(ref, cache_dir=cache_dir, token=token, update=update, progress=progress)
    folder = fetched.checkpoint.path
    assert folder is not None
    model, meta = fetched.checkpoint.model.config.to_dict(), fetched.checkpoint.meta
    record = {"name": str(ref), "commit": fetched.commit, "from_cache": fetched.from_cache}
    record |= _describe(folder, model, meta)
    if json:
        print(jsonlib.dumps(record, indent=1))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
    how = "was in the cache; --update asks the Hub for a newer version" if fetched.from_cache else "fetched"
    named = ref.repo if ref.revision == DEFAULT_REVISION else str(ref)
    facts = [
        ("checkpoint", f"{ref}, {how}"),
        ("commit", fetched.commit),
        ("serves", f"{record['kind']}, {_size(record['bytes'])}"),
        ("figures", _figure(record) or "none recorded"),
        ("use it", f"vsa label FILE -t COL --checkpoint {named if cache_dir is None else folder}"),
    ]
    show_facts("vsa", facts, quiet)


def _list(cache_dir: Path | None, json: bool) -> None:
    from vsacli.checkpoints.folder import read_config
    from vsacli.checkpoints.hub.cache import cached_checkpoints
    from vsacli.checkpoints.resolve import bundled_checkpoints

    records: list[dict[str, Any]] = []
    for name, folder in bundled_checkpoints().items():
        try:
            model, meta = read_config(folder, name)
        except CheckpointError:
            continue  # an installation that is broken says so where the checkpoint is used
        records.append({"name": name, "where": "bundled"} | _describe(folder, model, meta))
    for found in cached_checkpoints(cache_dir):
        model, meta = read_config(found.path, found.repo)
        revision = found.refs[0] if found.refs else found.commit
        record = {"name": f"{found.repo}@{revision}", "where": "cache", "refs": list(found.refs)}
        records.append(record | {"commit": found.commit} | _describe(found.path, model, meta))
    if json:
        print(jsonlib.dumps(records, indent=1))
        return
    from vsacli.cli.layout import Section
    from vsacli.cli.sections import show

    rows = [[printable(r["name"]), r["where"], r["kind"], _size(r["bytes"]), _figure(r) or "-"] for r in records]
    show([Section("Checkpoints", ["name", "where", "task", "size", "validation"], rows)])


def _describe(folder: Path, model: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """What a list shows of a checkpoint; the config is JSON from others and may hold anything."""
    from vsacli.checkpoints.folder import CARD_FILE, CONFIG_FILE, WEIGHTS_FILE

    files = [folder / name for name in (CONFIG_FILE, WEIGHTS_FILE, CARD_FILE)]
    validation = meta.get("validation")
    figures = {
        key: value
        for key, value in (validation if isinstance(validation, dict) else {}).items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    }
    kind = model.get("kind")
    return {
        "kind": kind if kind in _FIGURES else "unknown",
        "bytes": sum(file.stat().st_size for file in files if file.is_file()),
        "path": os.fspath(folder),
        "figures": figures,
    }


def _figure(record: dict[str, Any]) -> str:
    """The mean figure of validation, if it is recorded."""
    name = _FIGURES.get(record["kind"], "")
    return f"{name} {record['figures'][name]:.3f}" if name in record["figures"] else ""


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB"
