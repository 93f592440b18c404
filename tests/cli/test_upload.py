"""`vsa upload`: the page of the commit on stdout, the rest on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints.hub.hub_server import TOKEN, HubServer
from tests.conftest import Vsa
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import WEIGHTS_FILE, save_checkpoint

COMMAND = Path(sys.executable).parent / "vsa"


@pytest.fixture
def server() -> Iterator[HubServer]:
    serving = HubServer()
    yield serving
    serving.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "run", tiny_model(), {}, "# Card\n")
    return tmp_path / "run"


def test_as_a_user_does_it(server: HubServer, run: Path, tmp_path: Path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    env |= {"HF_ENDPOINT": server.root, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
    for args in (["upload", "run", "lab/new", "--license", "mit"], ["download", "lab/new"]):
        done = subprocess.run([COMMAND, *args], capture_output=True, text=True, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert all(line.startswith("vsa: ") for line in done.stderr.splitlines())
        if args[0] == "upload":
            commit = server.repos["lab/new"].refs["main"]
            assert done.stdout == f"{server.root}/lab/new/commit/{commit}\n"
            assert f"vsa: published: lab/new, commit {commit}" in done.stderr
    assert (Path(done.stdout.strip()) / WEIGHTS_FILE).read_bytes() == (run / WEIGHTS_FILE).read_bytes()


def test_nothing_is_published_by_a_dry_run_or_into_a_folder(vsa: Vsa, run: Path, tmp_path: Path):
    dry = vsa("upload", run, "lab/new", "--dry-run", "--private")
    assert (dry.code, dry.stdout) == (0, b"")
    assert "vsa: would publish: these files to lab/new, private if it is new" in dry.stderr
    assert "the card names no licence" in dry.stderr
    written = vsa("upload", run, "lab/new", "--to", tmp_path / "new", "--license", "mit", "-q")
    assert (written.code, written.stdout.decode(), written.stderr) == (0, f"{tmp_path / 'new'}\n", "")
    assert "is not empty" in vsa("upload", run, "lab/new", "--to", tmp_path / "new").error


def test_refusals_before_anything_is_published(vsa: Vsa, run: Path, tmp_path: Path):
    assert "a revision cannot be chosen" in vsa("upload", run, "lab/new@v2").error
    assert "give ORG/NAME" in vsa("upload", run, "new").error
    assert "leave out --dry-run" in vsa("upload", run, "lab/new", "--dry-run", "--to", tmp_path / "x").error
    (run / WEIGHTS_FILE).write_bytes(b"no weights")
    assert "damaged or not one of ours" in vsa("upload", run, "lab/new", "--dry-run").error
    assert "no such folder" in vsa("upload", tmp_path / "none", "lab/new").error
