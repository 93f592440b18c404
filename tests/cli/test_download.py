"""`vsa download`: the folder on stdout, the rest on stderr, and one line for each failure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from tests.checkpoints.hub.hub_server import TOKEN, HubServer, Repo
from tests.conftest import Vsa
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import CONFIG_FILE, WEIGHTS_FILE, save_checkpoint

COMMAND = Path(sys.executable).parent / "vsa"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    save_checkpoint(tmp_path / "made", tiny_model(), {"validation": {"accuracy": 0.75, "loss": "?"}}, "# Card\n")
    serving = HubServer()
    serving.repos["lab/model"] = Repo()
    serving.repos["lab/model"].commit({p.name: p.read_bytes() for p in (tmp_path / "made").iterdir()}, "main", "v1")
    yield serving
    serving.close()


@pytest.fixture
def hub(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """The server, as the only Hub that this process knows."""
    constants = huggingface_hub.constants
    address = server.root + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", server.root)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return server


def test_as_a_user_does_it(server: HubServer, vsa: Vsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_groups):
    """In processes of their own, with the Hub's own variables: fetch, then label without a Hub."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    env |= {"HF_ENDPOINT": server.root, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}

    def run(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([COMMAND, *args], capture_output=True, text=True, env=env | more, cwd=tmp_path)

    done = run("download", "lab/model@v1")
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.removesuffix("\n"))
    assert folder.parent.parent.parent == tmp_path / "home" / "hub"
    assert all(line.startswith("vsa: ") for line in done.stderr.splitlines())
    assert "use it: vsa label FILE -t COL --checkpoint lab/model@v1" in done.stderr
    assert server.tokens == {TOKEN}
    server.requests.clear()
    (tmp_path / "in.csv").write_bytes(two_groups.csv())
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    labeled = vsa("label", tmp_path / "in.csv", "-t", "label", "--checkpoint", "lab/model@v1")
    assert labeled.code == 0, labeled.stderr
    assert not any(line.endswith(b",") for line in labeled.stdout.splitlines())
    failed = run("download", "lab/other", HF_HUB_OFFLINE="1")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith(f"vsa: error: checkpoint lab/other@main: {CONFIG_FILE}: ")
    assert failed.stderr.count("\n") == 1
    assert server.requests == []


def test_fetched_then_cached(vsa: Vsa, hub: HubServer, tmp_path: Path):
    first = vsa("download", "lab/model", "--revision", "v1")
    assert first.code == 0, first.stderr
    assert "lab/model@v1, fetched" in first.stderr
    assert "figures: accuracy 0.750" in first.stderr
    hub.requests.clear()
    again = vsa("download", "lab/model@v1")
    assert again.stdout == first.stdout
    assert "was in the cache; --update" in again.stderr
    assert hub.requests == []
    assert vsa("download", "lab/model@v1", "--update", "-q").stderr == ""
    assert hub.requests != []


def test_json(vsa: Vsa, hub: HubServer):
    record = json.loads(vsa("download", "lab/model", "--json").stdout)
    folder = Path(record["path"])
    assert record == {
        "name": "lab/model@main",
        "commit": hub.repos["lab/model"].refs["main"],
        "from_cache": False,
        "kind": "classification",
        "bytes": sum(p.stat().st_size for p in folder.iterdir()),
        "path": str(folder),
        "figures": {"accuracy": 0.75},
    }


def test_list(vsa: Vsa, hub: HubServer):
    bundled = vsa("download", "--list").stdout.decode().splitlines()
    vsa("download", "lab/model@v1")
    lines = vsa("download", "--list").stdout.decode().splitlines()
    assert [line.split()[0] for line in bundled[2:]] == ["classification", "regression"]
    assert lines[-1].split()[:3] == ["lab/model@v1", "cache", "classification"]
    assert lines[-1].endswith("accuracy 0.750")
    records = json.loads(vsa("download", "--list", "--json").stdout)
    assert [r["where"] for r in records] == ["bundled", "bundled", "cache"]
    assert records[-1]["refs"] == ["v1"]
    assert (Path(records[-1]["path"]) / WEIGHTS_FILE).is_file()


def test_a_cache_folder_of_choice(vsa: Vsa, hub: HubServer, tmp_path: Path):
    result = vsa("download", "lab/model", "--cache-dir", tmp_path / "mine")
    folder = os.fsdecode(result.stdout).strip()
    assert folder.startswith(str(tmp_path / "mine"))
    assert f"--checkpoint {folder}" in result.stderr
    assert "lab/model" in vsa("download", "--list", "--cache-dir", tmp_path / "mine").stdout.decode()
    assert "lab/model" not in vsa("download", "--list").stdout.decode()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "give a REPO to download, or --list"),
        (["lab/model", "--list"], "--list takes no REPO"),
        (["--list", "--token", "x"], "--list takes no --token"),
        (["lab/model@v1", "--revision", "v2"], "names another revision"),
        (["model"], "give ORG/NAME"),
        (["../../etc/x"], "give ORG/NAME"),
        (["lab/model", "--token", "hf a"], "characters that no token has"),
    ],
)
def test_usage_errors(vsa: Vsa, hub: HubServer, args: list[str], message: str):
    result = vsa("download", *args)
    assert message in result.error
    assert result.code == 2
    assert hub.requests == []


def test_a_failure_is_one_line(vsa: Vsa, hub: HubServer):
    hub.repos["lab/gated"] = Repo("gated")
    for ref, message in (
        ("lab/none", "no such repository"),
        ("lab/gated", "is gated"),
        ("lab/model@v9", "no such revision"),
    ):
        result = vsa("download", ref)
        assert message in result.error
        assert hub.root in result.error
        assert result.code == 1
