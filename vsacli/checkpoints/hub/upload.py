"""Checkpoints to the Hugging Face Hub: a repository is made if there is none, and one commit has all the files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import NoReturn

from vsacli.checkpoints.hub.card import HubFolder
from vsacli.checkpoints.hub.client import (
    LOGIN,
    check_endpoint,
    check_token,
    quiet_client,
    stored_token,
    transport_error,
)
from vsacli.errors import CheckpointError, UsageError, VsaError
from vsacli.support.progress import Progress, silent


@dataclass(frozen=True)
class Published:
    """A commit of the Hub, and its page."""

    repo: str
    commit: str
    url: str


def publish(
    folder: HubFolder,
    repo: str,
    *,
    private: bool = False,
    message: str | None = None,
    token: str | None = None,
    endpoint: str | None = None,
    progress: Progress = silent,
) -> Published:
    """Commit the files to the branch ``main`` of a repository; other files that it has stay.

    Parameters
    ----------
    folder : HubFolder
    repo : str
        ``ORG/NAME``.
    private : bool
        Of a repository that is made now; one that is there stays as it is.
    message : str, optional
        Of the commit.
    token : str, optional
        Default: ``HF_TOKEN``, then what ``hf auth login`` stored.
    endpoint : str, optional
        Default: ``HF_ENDPOINT``, then https://huggingface.co.
    progress : callable, optional

    Raises
    ------
    CheckpointError
        With repository, endpoint, what was refused and what to do next.
    UsageError
        For no token, or an endpoint or token that cannot be one.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, constants

    from vsacli._version import __version__

    address = (endpoint or constants.ENDPOINT).rstrip("/")
    token = token if token is not None else stored_token()
    check_endpoint(address)
    check_token(token)
    if constants.is_offline_mode():
        raise CheckpointError(f"{repo}: the Hub is offline because of HF_HUB_OFFLINE; unset that to publish")
    if token is None:
        raise UsageError(f"{repo}: publishing needs a token with the right to write; {LOGIN}")
    api = HfApi(endpoint=address, token=token, library_name="vsacli", library_version=__version__)
    # As streams they go by Git LFS, which every Hub knows; Xet would wait minutes for one that does not know it.
    operations = [CommitOperationAdd(name, io.BytesIO(data)) for name, data in folder.files.items()]
    commit_message = message or f"A VSA checkpoint for {folder.kind}"
    size = sum(len(data) for data in folder.files.values()) // 1000
    try:
        with quiet_client():
            progress("publishing (kB)", 0, size)
            api.create_repo(repo, private=private or None, exist_ok=True)
            done = api.create_commit(repo, operations, commit_message=commit_message)
            progress("publishing (kB)", size, size)
    except VsaError:
        raise
    except Exception as e:
        _explain(e, repo, address)
    return Published(repo, done.oid, f"{address}/{repo}/commit/{done.oid}")


def _explain(e: Exception, repo: str, endpoint: str) -> NoReturn:
    """Raise our error for an exception of the client; some are subclasses of others, so the order matters."""
    from huggingface_hub import errors

    if isinstance(e, RuntimeError) and isinstance(e.__cause__, Exception):
        e = e.__cause__  # of a large file
    status = getattr(getattr(e, "response", None), "status_code", None)
    said = " ".join((getattr(e, "server_message", None) or "").split())[:300]
    owner = repo.partition("/")[0]
    if status == 401 and not isinstance(e, errors.RepositoryNotFoundError):
        what, then = "the token is not valid", f"{LOGIN} with a new one"
    elif status in (401, 403, 404):
        what = f"the token has no right to write there{f' ({said})' if said else ''}"
        then = f"use a token with the right to write, of {owner} or one of its members, or publish under your own name"
    elif status == 400 and said:
        what, then = f"the Hub refused it: {said}", "correct that"
    elif status in (409, 412):
        what, then = "somebody else is changing the repository", "try again"
    elif status == 429:
        what, then = "too many requests for now", "try again later"
    elif status is not None:
        what, then = f"the Hub answered with status {status}{f' ({said})' if said else ''}", "try again later"
    elif isinstance(e, (transport_error(), OSError)):
        what = f"the Hub cannot be reached: {' '.join(str(e).split()) or type(e).__name__}"
        then = "check the connection and the proxy; nothing, or only a part, was published"
    elif isinstance(e, ValueError):
        what, then = f"the Hub refused it: {' '.join(str(e).split())}", "correct that"
    else:
        raise e
    raise CheckpointError(f"{repo}: {what} ({endpoint}); {then}") from e
