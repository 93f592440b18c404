"""Checkpoints of the Hugging Face Hub: fetched into its cache, found there again without network.

Three files of a repository are ever fetched: config.json (read before anything larger is asked for),
model.safetensors and README.md. A file is kept only if its bytes have the hash that the Hub names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from vsacli._version import __version__
from vsacli.checkpoints.folder import (
    CARD_FILE,
    CONFIG_FILE,
    LARGEST_CONFIG,
    LARGEST_WEIGHTS,
    WEIGHTS_FILE,
    Checkpoint,
    read_config,
    read_folder,
)
from vsacli.checkpoints.hub.cache import HubRef, find_cached, has_hash, is_sound, remove
from vsacli.checkpoints.hub.client import (
    LOGIN,
    check_endpoint,
    check_token,
    quiet_client,
    stored_token,
    transport_error,
)
from vsacli.errors import CheckpointError, OutputError, VsaError
from vsacli.support.progress import Progress, silent

LARGEST = {CONFIG_FILE: LARGEST_CONFIG, WEIGHTS_FILE: LARGEST_WEIGHTS, CARD_FILE: LARGEST_CONFIG}  # bytes


@dataclass(frozen=True)
class Fetched:
    """A checkpoint that lies in the cache.

    Attributes
    ----------
    checkpoint : Checkpoint
        Read strictly; ``checkpoint.path`` is its folder.
    commit : str
        40 hexadecimal digits.
    from_cache : bool
        Whether the Hub was not asked.
    """

    checkpoint: Checkpoint
    commit: str
    from_cache: bool


def fetch(
    ref: HubRef,
    *,
    cache_dir: Path | None = None,
    token: str | None = None,
    endpoint: str | None = None,
    update: bool = False,
    progress: Progress = silent,
) -> Fetched:
    """Fetch a checkpoint into the cache, unless it is there.

    Parameters
    ----------
    ref : HubRef
    cache_dir : Path, optional
        Default: the Hub's own, ``HF_HUB_CACHE``.
    token : str, optional
        Default: ``HF_TOKEN``, then what ``hf auth login`` stored.
    endpoint : str, optional
        Default: ``HF_ENDPOINT``, then https://huggingface.co.
    update : bool
        Ask the Hub what the revision is now, though the cache has it.
    progress : callable, optional

    Raises
    ------
    CheckpointError
        With repository, revision, file, endpoint and what to do next.
    UsageError
        For an endpoint or token that cannot be one.
    OutputError
        If the cache cannot be written.
    """
    folder = find_cached(ref, cache_dir)
    sound = folder is not None and is_sound(folder / CONFIG_FILE) and is_sound(folder / WEIGHTS_FILE)
    if folder is not None and sound and not update:
        return Fetched(read_folder(folder, str(ref)), folder.name, from_cache=True)
    download = _Download(ref, cache_dir, token, endpoint, progress)
    try:
        folder = download.run()
    except CheckpointError as e:
        if folder is not None and not sound:
            raise CheckpointError(f"{e} (the copy in the cache is damaged)") from e
        raise
    return Fetched(read_folder(folder, str(ref)), folder.name, from_cache=False)


class _Download:
    """One repository's way into the cache, and what its failures mean."""

    def __init__(
        self, ref: HubRef, cache_dir: Path | None, token: str | None, endpoint: str | None, progress: Progress
    ):
        from huggingface_hub import constants

        self.ref = ref
        self.cache_dir = cache_dir if cache_dir is not None else Path(constants.HF_HUB_CACHE)
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        self.token = token if token is not None else stored_token()
        self.progress = progress
        self.timeout: int = constants.HF_HUB_ETAG_TIMEOUT
        check_endpoint(self.endpoint)
        check_token(self.token)

    def run(self) -> Path:
        """Fetch what is missing; the folder of the snapshot."""
        with quiet_client(), self._failures(CONFIG_FILE):
            commit, etag = self._ask(CONFIG_FILE, self.ref.revision)
            config = self._get(CONFIG_FILE, commit, etag)
        read_config(config.parent, str(self.ref))  # before its weights are fetched: is it one of ours at all?
        with quiet_client(), self._failures(WEIGHTS_FILE):
            self._get(WEIGHTS_FILE, commit, self._ask(WEIGHTS_FILE, commit)[1])
        with quiet_client(), self._failures(CARD_FILE), self._may_lack():
            self._get(CARD_FILE, commit, self._ask(CARD_FILE, commit)[1])
        with quiet_client(), self._failures(CONFIG_FILE):
            self._transfer(CONFIG_FILE, self.ref.revision)  # the files are there: the branch or tag may point to them
        return config.parent

    def _ask(self, name: str, revision: str) -> tuple[str, str]:
        """Commit and ETag of a file, asked once: the client itself would retry a dead connection for long."""
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(self.ref.repo, name, revision=revision, endpoint=self.endpoint)
        found = get_hf_file_metadata(url, token=self.token, timeout=self.timeout, endpoint=self.endpoint)
        commit, etag = found.commit_hash or "", found.etag or ""
        if not re.fullmatch(r"[0-9a-f]{40}", commit) or not re.fullmatch(r"[\w.+-]{1,200}", etag) or set(etag) == {"."}:
            raise self._error(name, "the answer is not a Hub's", "check HF_ENDPOINT and the proxy")
        if (found.size or 0) > LARGEST[name]:
            raise self._error(
                name, f"{found.size:,} bytes are more than any file of a checkpoint has", "check the name"
            )
        return commit, etag

    def _get(self, name: str, commit: str, etag: str) -> Path:
        """A file of a commit, with the bytes that its ETag promises."""
        file = self._transfer(name, commit)
        if not has_hash(file, etag):
            file = self._transfer(name, commit, again=True)
            if not has_hash(file, etag):
                remove(file)
                raise self._error(
                    name, "the download does not match what the Hub announced", "try again later or elsewhere"
                )
        return file

    def _transfer(self, name: str, revision: str, again: bool = False) -> Path:
        from huggingface_hub import hf_hub_download

        return Path(
            hf_hub_download(
                self.ref.repo,
                name,
                revision=revision,
                cache_dir=self.cache_dir,
                token=self.token,
                endpoint=self.endpoint,
                force_download=again,
                etag_timeout=self.timeout,
                library_name="vsacli",
                library_version=__version__,
                tqdm_class=_bar(name, self.progress),
            )
        )

    def _error(self, name: str, what: str, then: str) -> CheckpointError:
        return CheckpointError(f"checkpoint {self.ref}: {name}: {what} ({self.endpoint}); {then}")

    @contextmanager
    def _may_lack(self) -> Iterator[None]:
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        try:
            yield
        except LocalEntryNotFoundError:
            raise  # of a connection that broke
        except EntryNotFoundError:
            pass

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        try:
            yield
        except VsaError:
            raise
        except Exception as e:
            self._explain(e, name)

    def _explain(self, e: Exception, name: str) -> NoReturn:
        """Raise our error for an exception of the client; some are subclasses of others, so the order matters."""
        from huggingface_hub import errors

        cause = e.__cause__ if isinstance(e, errors.LocalEntryNotFoundError) and e.__cause__ is not None else e
        status = getattr(getattr(cause, "response", None), "status_code", None)
        page = f"{self.endpoint}/{self.ref.repo}"
        if isinstance(cause, errors.OfflineModeIsEnabled):
            what, then = "the Hub is offline because of HF_HUB_OFFLINE", "unset that to ask it"
            if find_cached(self.ref, self.cache_dir) is None:
                what, then = f"it is not in the cache, and {what}", "unset that to fetch it"
        elif isinstance(cause, errors.GatedRepoError):
            what = "the repository is gated"
            then = f"ask for access at {page}" + ("" if self.token else f", then {LOGIN}")
        elif isinstance(cause, errors.DisabledRepoError):
            what, then = "the repository is disabled", f"see {page}"
        elif isinstance(cause, errors.RepositoryNotFoundError) and self.token:
            what = "no such repository, or a private one that the token has no access to"
            then = "check the name and the token"
        elif isinstance(cause, errors.RepositoryNotFoundError):
            what, then = "no such repository, or a private one", f"check the name, or {LOGIN}"
        elif isinstance(cause, errors.RevisionNotFoundError):
            what, then = "no such revision", f"see the branches and tags at {page}/tree/main"
        elif isinstance(cause, errors.EntryNotFoundError) and status is not None:
            what = "the repository has no such file: it is not a checkpoint of ours"
            then = f"one has {CONFIG_FILE} and {WEIGHTS_FILE}; check the name"
        elif status == 401:
            what, then = "the token is not valid", f"{LOGIN} with a new one"
        elif status == 403:
            what, then = "access is refused", "the token needs the right to read this repository"
        elif status is not None:
            what, then = f"the Hub answered with status {status}", "try again later"
        elif isinstance(cause, OSError) and cause.errno and cause.filename is not None:
            raise OutputError(
                f"checkpoint {self.ref}: {name} cannot be written to the cache {self.cache_dir} "
                f"({cause.strerror or cause}); choose another with --cache-dir"
            ) from e
        elif isinstance(cause, OSError) and "Consistency check failed" in str(cause):
            what, then = "the file arrived incomplete", "try again"
        elif isinstance(cause, (transport_error(), OSError)):
            reason = " ".join(str(cause).split()) or type(cause).__name__
            what = f"the Hub cannot be reached: {reason}"
            then = "check the connection and the proxy; checkpoints in the cache work offline"
        else:
            raise e
        raise self._error(name, what, then) from e


def _bar(name: str, progress: Progress) -> Any:
    """What the client takes for a progress bar, drawing nothing itself."""
    from tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, **settings: Any) -> None:
            settings.pop("name", None)
            super().__init__(*args, **{**settings, "disable": True})
            self._bytes = int(settings.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self._bytes += int(n or 0)
            progress(f"fetching {name} (kB)", self._bytes // 1000, int(self.total or 0) // 1000)

    return Bar
