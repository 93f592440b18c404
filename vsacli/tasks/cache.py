"""Where encoded tables are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

from vsacli.errors import OutputError


def cache_folder() -> Path:
    """Where encoded tables are kept between runs: VSA_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("VSA_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "vsacli"


def without_cache(error: OutputError) -> str:
    """The note for a user whose cache cannot be written; the run continues."""
    return f"encoded tables are not kept for the next run: {error}; VSA_CACHE names another folder"
