"""The cache of the Hugging Face Hub: names of repositories, checkpoints found there, whether they are whole."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vsacli.checkpoints.folder import CONFIG_FILE, WEIGHTS_FILE, read_config
from vsacli.errors import CheckpointError, UsageError

DEFAULT_REVISION = "main"
_REVISION = re.compile(r"[\w.+-]+(/[\w.+-]+)*", re.ASCII)


@dataclass(frozen=True)
class HubRef:
    """A repository of the Hub at a revision: a branch, a tag or a commit."""

    repo: str
    revision: str = DEFAULT_REVISION

    def __str__(self) -> str:
        return f"{self.repo}@{self.revision}"


@dataclass(frozen=True)
class CachedCheckpoint:
    """A checkpoint found in the cache: its branches and tags there (``refs``), commit and folder."""

    repo: str
    refs: tuple[str, ...]
    commit: str
    path: Path


def parse_ref(text: str, revision: str | None = None) -> HubRef:
    """``ORG/NAME`` or ``ORG/NAME@REVISION`` as a `HubRef`.

    Both parts become folders of the cache, so nothing that could lead out of it is accepted.

    Raises
    ------
    UsageError
        If it is neither, or ``revision`` says something else than the text.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    repo, at, named = text.partition("@")
    if at and revision is not None and revision != named:
        raise UsageError(f"{text}: --revision {revision} names another revision; give one of them")
    try:
        validate_repo_id(repo)
        valid = repo.count("/") == 1
    except HFValidationError:
        valid = False
    if not valid:
        raise UsageError(f"{text}: not the name of a Hub repository; give ORG/NAME or ORG/NAME@REVISION")
    if revision is None:
        revision = named if at else DEFAULT_REVISION
    if not _REVISION.fullmatch(revision) or len(revision) > 200 or any(set(p) == {"."} for p in revision.split("/")):
        raise UsageError(f"{repo}: revision {revision!r} is not valid; give a branch, a tag or a commit")
    return HubRef(repo, revision)


def find_cached(ref: HubRef, cache_dir: Path | None = None) -> Path | None:
    """The folder in the cache that has this revision's config and weights, or None. No network."""
    from huggingface_hub import try_to_load_from_cache

    folders: set[Path] = set()
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        try:
            file = try_to_load_from_cache(ref.repo, name, cache_dir=cache_dir, revision=ref.revision)
        except UnicodeDecodeError:  # a file of refs that is damaged
            return None
        if not isinstance(file, str):
            return None
        folders.add(Path(file).parent)
    folder = folders.pop()
    return None if folders else folder


def cached_checkpoints(cache_dir: Path | None = None) -> list[CachedCheckpoint]:
    """The checkpoints of ours in the cache, by name; repositories of other kinds are passed over."""
    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        info = scan_cache_dir(cache_dir or constants.HF_HUB_CACHE)
    except (CacheNotFound, ValueError):
        return []  # nothing was ever fetched; a file in its place is reported when something is
    found = []
    for repo in sorted(info.repos, key=lambda r: r.repo_id):
        if repo.repo_type != "model":
            continue
        for revision in sorted(repo.revisions, key=lambda r: r.commit_hash):
            folder = revision.snapshot_path
            with suppress(CheckpointError):
                read_config(folder, repo.repo_id)
                if (folder / WEIGHTS_FILE).is_file():
                    refs = tuple(sorted(revision.refs))
                    found.append(CachedCheckpoint(repo.repo_id, refs, revision.commit_hash, folder))
    return found


def is_sound(file: Path) -> bool:
    """Whether a cached file has the bytes it was stored with, as far as this can be checked."""
    etag = Path(os.readlink(file)).name if file.is_symlink() else ""  # a blob is called by the ETag it came with
    return has_hash(file, etag)


def has_hash(file: Path, etag: str) -> bool:
    """Whether the bytes have the hash that an ETag is: SHA-256 of a large file, or a Git blob's SHA-1."""
    if re.fullmatch(r"[0-9a-f]{64}", etag):
        digest = hashlib.sha256()
    elif re.fullmatch(r"[0-9a-f]{40}", etag):
        digest = hashlib.sha1(f"blob {file.stat().st_size}\0".encode(), usedforsecurity=False)
    else:
        return True  # a mirror's own kind of ETag; the strict reading comes after
    with file.open("rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == etag


def remove(file: Path) -> None:
    """Remove a bad file from the cache, and the blob that it links to."""
    blob = file.parent / os.readlink(file) if file.is_symlink() else None
    file.unlink(missing_ok=True)
    if blob is not None:
        blob.unlink(missing_ok=True)
