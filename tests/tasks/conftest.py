"""A server of OpenML on the loopback interface, for the tests of OpenML as a source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vsacli.tasks import openml_client as client

from .openml_server import OpenMLServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenMLServer]:
    """A server, with the client pointed at it, its cache in a folder of its own, and no waiting between tries."""
    with client.quiet_client():
        import openml
    before = (openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries)
    running = OpenMLServer()
    openml.config.server = running.api
    openml.config.set_root_cache_directory(tmp_path / "client")
    openml.config.connection_n_retries = 1
    yield running
    running.close()
    openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries = before
