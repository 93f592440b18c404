"""Fixtures of the tests of files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder of a user whom permissions bind, also where the tests are run by the superuser."""
    superuser = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        if superuser:
            os.chown(name, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if superuser:
                os.seteuid(0)
            os.chmod(name, 0o700)
