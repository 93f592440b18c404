"""Values that a shell may offer for an option: columns of the table on the line, checkpoints, methods, suites."""

from __future__ import annotations

import csv
import os
from typing import Any

import typer

from vsacli.errors import VsaError


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of FILE, if it stands before the cursor, and of --labeled."""
    from vsacli.tables.peek import glimpse_columns

    params: dict[str, Any] = ctx.params
    columns: dict[str, None] = {}
    for path in (params.get("file"), params.get("table"), *(params.get("labeled") or ())):
        if not isinstance(path, str) or path == "-":
            continue
        try:
            path = os.path.expandvars(os.path.expanduser(path))
            found = glimpse_columns(path, delimiter=params.get("delimiter"), encoding=params.get("encoding"))
        except (OSError, ValueError, LookupError, EOFError, csv.Error, VsaError):
            continue  # not readable; the command itself will say why
        columns |= dict.fromkeys(found)
    taken = {params.get("target"), *(params.get("exclude") or ()), *(params.get("include") or ())}
    return [c for c in columns if c.startswith(incomplete) and (c not in taken or c == incomplete)]


def complete_methods(incomplete: str) -> list[tuple[str, str]]:
    """The compared methods, after those that stand in the list already."""
    from vsacli.baselines.registry import METHODS

    before, comma, typed = incomplete.rpartition(",")
    taken = before.split(",")
    found = [(name, info.summary) for name, info in METHODS.items()]
    if not before:
        found.append(("all", "every method that is installed"))
    return [(f"{before}{comma}{name}", told) for name, told in found if name.startswith(typed) and name not in taken]


def complete_suites(incomplete: str) -> list[tuple[str, str]]:
    """The suites that have names; where none fits, shells offer folders."""
    known = [("circle-spiral", "the paper's synthetic tasks"), ("openml", "the paper's selection of OpenML")]
    return [entry for entry in known if entry[0].startswith(incomplete)] if incomplete else []


def complete_checkpoints(incomplete: str) -> list[tuple[str, str]]:
    """The bundled checkpoints and those in the Hub's cache."""
    from vsacli.checkpoints.hub.cache import DEFAULT_REVISION, cached_checkpoints
    from vsacli.checkpoints.resolve import bundled_checkpoints

    found = [(name, "bundled") for name in bundled_checkpoints()]
    for checkpoint in cached_checkpoints():
        for ref in checkpoint.refs or (checkpoint.commit,):
            found.append((checkpoint.repo if ref == DEFAULT_REVISION else f"{checkpoint.repo}@{ref}", "cached"))
    return [entry for entry in found if entry[0].startswith(incomplete)]
