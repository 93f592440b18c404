"""Publishing through the real client to a Hub on loopback: what arrives there, what is refused, what is said then."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
import yaml

from tests.checkpoints.hub.hub_server import TOKEN, HubServer, Repo
from tests.checkpoints.hub.hub_writes import READ_TOKEN
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import CARD_FILE, CONFIG_FILE, WEIGHTS_FILE, read_folder, save_checkpoint
from vsacli.checkpoints.hub.cache import parse_ref
from vsacli.checkpoints.hub.card import TAGS, HubFolder, hub_folder, without_paths
from vsacli.checkpoints.hub.download import fetch
from vsacli.checkpoints.hub.upload import publish
from vsacli.errors import CheckpointError, OutputError, UsageError, VsaError

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")  # the client's own
META = {
    "command": "vsa meta-train --data '/home/someone/tables' --init=/home/someone/old -o runs/mine",
    "folder": "runs/mine",
    "data": "tables",
    "validation": {"accuracy": 0.5},
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub with a repository of others, and a client that has no token."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", "/nonexistent/token")
    monkeypatch.setattr(huggingface_hub.constants, "HF_STORED_TOKENS_PATH", "/nonexistent/tokens")
    serving = HubServer()
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", serving.root)
    serving.repos["others/model"] = Repo()
    serving.repos["others/model"].commit({"README.md": b"theirs"})
    yield serving
    serving.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with a card."""
    save_checkpoint(tmp_path / "run", tiny_model(), META, "# Mine\n\n    vsa label x.csv --checkpoint runs/mine\n")
    return tmp_path / "run"


def prepared(run: Path, repo: str = "lab/new", **options: str) -> HubFolder:
    return hub_folder(read_folder(run), repo, **options)


def metadata(card: bytes) -> dict[str, object]:
    _, front, _ = card.decode().split("---\n", 2)
    return yaml.safe_load(front)


def refusal(
    server: HubServer, run: Path, repo: str = "lab/new", kind: type[VsaError] = CheckpointError, **options: str
):
    with pytest.raises(kind) as caught:
        publish(prepared(run, repo), repo, endpoint=server.root, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{repo}: ")
    return str(caught.value)


def test_what_is_published_can_be_fetched(
    server: HubServer, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    address = server.root + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
    done = publish(prepared(run), "lab/new", endpoint=server.root, token=TOKEN)
    assert server.repos["lab/new"].refs["main"] == done.commit
    assert done.url == f"{server.root}/lab/new/commit/{done.commit}"
    fetched = fetch(parse_ref("lab/new"), cache_dir=tmp_path / "hub", endpoint=server.root)
    assert fetched.commit == done.commit
    published = server.repos["lab/new"].commits[done.commit]
    assert sorted(published) == sorted([CARD_FILE, CONFIG_FILE, WEIGHTS_FILE])
    assert published[WEIGHTS_FILE] == (run / WEIGHTS_FILE).read_bytes()
    assert server.messages == ["A VSA checkpoint for classification"]


def test_a_repository_that_is_there_keeps_its_other_files(server: HubServer, run: Path):
    server.repos["lab/old"] = Repo()
    server.repos["lab/old"].commit({"notes.md": b"mine", CARD_FILE: b"old"})
    done = publish(prepared(run, "lab/old"), "lab/old", endpoint=server.root, token=TOKEN, message="Better")
    files = server.repos["lab/old"].commits[done.commit]
    assert files["notes.md"] == b"mine"
    assert files[CARD_FILE] != b"old"
    assert server.messages == ["Better"]


def test_private(server: HubServer, run: Path):
    publish(prepared(run), "lab/new", endpoint=server.root, token=TOKEN, private=True)
    assert server.repos["lab/new"].access == "private"


def test_card(run: Path):
    card = prepared(run, license="mit").files[CARD_FILE]
    assert metadata(card) == {
        "library_name": "vsacli",
        "pipeline_tag": "tabular-classification",
        "license": "mit",
        "inference": False,
        "tags": list(TAGS),
    }
    text = card.decode().split("---\n", 2)[2]
    assert "# Mine" in text
    assert "--checkpoint lab/new" in text
    assert "runs/mine" not in text
    assert "vsa download lab/new" in text
    assert "license" not in metadata(prepared(run).files[CARD_FILE])


def test_metadata_of_ones_own_stay(run: Path):
    (run / CARD_FILE).write_text("---\nlicense: cc-by-4.0\ntags: [medicine, tabular]\nlanguage: de\n---\n# Mine\n")
    data = metadata(prepared(run).files[CARD_FILE])
    assert (data["license"], data["language"]) == ("cc-by-4.0", "de")
    assert data["tags"] == ["medicine", "tabular", *(tag for tag in TAGS if tag != "tabular")]
    assert metadata(prepared(run, license="mit").files[CARD_FILE])["license"] == "mit"
    (run / CARD_FILE).write_text("---\nlicense: [\n---\n# Mine\n")
    with pytest.raises(CheckpointError, match=r"the metadata at the top of README\.md cannot be understood"):
        prepared(run)
    (run / CARD_FILE).unlink()
    assert b"--checkpoint lab/new" in prepared(run).files[CARD_FILE]


def test_a_regression_is_tagged_so(tmp_path: Path):
    save_checkpoint(tmp_path / "run", tiny_model("regression"), {}, "card")
    assert metadata(prepared(tmp_path / "run").files[CARD_FILE])["pipeline_tag"] == "tabular-regression"


def test_paths_of_the_machine_are_not_published(run: Path):
    meta = json.loads(prepared(run).files[CONFIG_FILE])["meta"]
    assert meta["command"] == "vsa meta-train --data 'tables' --init=old -o runs/mine"
    assert meta["folder"] == "lab/new"
    assert meta["validation"] == META["validation"]
    assert without_paths(["~/a/b.csv", r"C:\Users\me\x.csv", "half/half and 1 / 2", "https://hf.co/a/b", 3]) == [
        "b.csv", "x.csv", "half/half and 1 / 2", "https://hf.co/a/b", 3,
    ]  # fmt: skip
    assert without_paths(["file:///a/b", "data:/a/b", "[/a/b]", "x,/a/b", "../a/b", "http://h:80/a"]) == [
        "b", "data:b", "[b]", "x,b", "../a/b", "http://h:80/a",
    ]  # fmt: skip


def test_written_to_a_folder_of_its_own(run: Path, tmp_path: Path):
    prepared(run).write(tmp_path / "new" / "folder")
    checkpoint = read_folder(tmp_path / "new" / "folder")
    assert checkpoint.meta["folder"] == "lab/new"
    with pytest.raises(OutputError, match=r"folder is not empty; name a folder that is not there yet$"):
        prepared(run).write(tmp_path / "new" / "folder")
    with pytest.raises(OutputError, match="is not empty"):
        prepared(run).write(run / CARD_FILE)


def test_refusals(server: HubServer, run: Path, monkeypatch: pytest.MonkeyPatch):
    assert "needs a token" in refusal(server, run, kind=UsageError)
    assert server.requests == []
    assert "the token is not valid" in refusal(server, run, token="hf_stale")
    assert "You don't have the rights to create" in refusal(server, run, token=READ_TOKEN)
    assert "no right to write there" in refusal(server, run, "others/new", token=TOKEN)
    message = refusal(server, run, "others/model", token=TOKEN)
    assert "no right to write there (Your token has no write access to this model)" in message
    assert server.root in message
    assert server.repos["others/model"].commits.keys() == {server.repos["others/model"].refs["main"]}
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in refusal(server, run, token=TOKEN)


def test_what_the_hub_finds_wrong_in_a_card_is_said(server: HubServer, run: Path):
    with pytest.raises(CheckpointError, match='"license" must be one of a list'):
        publish(prepared(run, license="nonsense"), "lab/new", endpoint=server.root, token=TOKEN)
    with pytest.raises(UsageError, match="not a licence identifier"):
        prepared(run, license="my own: see below")


def test_a_hub_that_fails_or_is_away(server: HubServer, run: Path):
    server.status = 500
    assert "status 500" in refusal(server, run, token=TOKEN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(CheckpointError, match="the Hub cannot be reached"):
            publish(prepared(run), "lab/new", endpoint=away, token=TOKEN)


def test_a_large_file_that_is_refused(server: HubServer, run: Path):
    server.refused = "/lfs/"
    message = refusal(server, run, token=TOKEN)
    assert "the token has no right to write there" in message
    assert server.repos["lab/new"].commits == {}
