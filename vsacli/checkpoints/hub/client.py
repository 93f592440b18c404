"""What fetching from the Hub and publishing there share: address, token, and a client that logs nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from vsacli.errors import OutputError, UsageError

LOGIN = "log in with `hf auth login`, or set HF_TOKEN"


def check_token(token: str | None) -> None:
    """Refuse what cannot be a token."""
    if token is not None and re.fullmatch(r"[!-~]+", token) is None:
        raise UsageError("the token is empty or has characters that no token has; see https://hf.co/settings/tokens")


def stored_token() -> str | None:
    """The token that the client knows: of `HF_TOKEN`, or where `hf auth login` put it.

    Raises
    ------
    OutputError
        The client's folder is not one.
    """
    from huggingface_hub import constants, get_token

    try:
        return get_token()
    except OSError as error:
        raise OutputError(
            f"the Hub's folder {constants.HF_HOME} cannot be used ({error.strerror or error}); HF_HOME sets another"
        ) from None


def transport_error() -> type[Exception]:
    """The class of the client's errors of transport: httpx's, or that of `requests` in older clients."""
    from huggingface_hub.errors import HfHubHTTPError

    return next(c for c in HfHubHTTPError.__mro__ if c.__name__ == "HTTPError")  # type: ignore[return-value]


def check_endpoint(endpoint: str) -> None:
    """Refuse what is not the address of a Hub."""
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not endpoint.isprintable() or " " in endpoint:
        raise UsageError(f"HF_ENDPOINT {endpoint!r} is not an address; give one such as https://huggingface.co")


@contextmanager
def quiet_client() -> Iterator[None]:
    """Within the block the client logs no advice to stderr; what matters comes as exceptions."""
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
