"""Checkpoints of the Hub through the real client: what arrives, what is not asked twice, and what failures say."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from tests.checkpoints.hub.hub_server import TOKEN, HubServer, Repo, etag
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import CARD_FILE, CONFIG_FILE, WEIGHTS_FILE, save_checkpoint
from vsacli.checkpoints.hub.cache import cached_checkpoints, find_cached, has_hash, is_sound, parse_ref
from vsacli.checkpoints.hub.download import Fetched, fetch
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.errors import CheckpointError, OutputError, UsageError, VsaError


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A sound checkpoint, by file name."""
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, tiny_model(), {"validation": {"accuracy": 0.75}}, "# Card\n")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def server(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub with one sound repository, and a client that knows no other and has no token."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", "/nonexistent/token")
    monkeypatch.setattr(huggingface_hub.constants, "HF_STORED_TOKENS_PATH", "/nonexistent/tokens")
    serving = HubServer()
    address = serving.root + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", serving.root)
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
    serving.repos["lab/model"] = Repo()
    serving.repos["lab/model"].commit({**files, "pytorch_model.bin": b"pickle", "notes/a.txt": b""})
    yield serving
    serving.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def get(ref: str = "lab/model", **options: Any) -> Fetched:
    return fetch(parse_ref(ref), **options)


def refusal(ref: str = "lab/model", kind: type[VsaError] = CheckpointError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        get(ref, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_exactly_three_files_arrive(server: HubServer, cache: Path, files: dict[str, bytes]):
    steps: list[tuple[str, int, int]] = []
    fetched = get(progress=lambda *step: steps.append(step))
    folder = fetched.checkpoint.path
    assert folder is not None
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == files
    assert (fetched.from_cache, fetched.commit) == (False, server.repos["lab/model"].refs["main"])
    assert fetched.checkpoint.meta["validation"] == {"accuracy": 0.75}
    size = len(files[WEIGHTS_FILE]) // 1000
    assert (f"fetching {WEIGHTS_FILE} (kB)", size, size) in steps
    assert not any("pytorch" in r or "notes" in r for r in server.requests)


def test_what_is_cached_is_not_asked_for(server: HubServer, cache: Path):
    first = get()
    server.requests.clear()
    again = get()
    assert server.requests == []
    assert (again.from_cache, again.commit) == (True, first.commit)
    assert load_checkpoint("lab/model").path == first.checkpoint.path
    assert load_checkpoint("lab/model@main").path == first.checkpoint.path
    assert load_checkpoint(f"lab/model@{first.commit}").path == first.checkpoint.path
    assert server.requests == []


def test_revisions(server: HubServer, cache: Path, files: dict[str, bytes]):
    repo = server.repos["lab/model"]
    old = repo.refs["main"]
    tagged = repo.commit({**files, CARD_FILE: b"second"}, "v2", "feature/x", "refs/pr/1")
    for revision in ("v2", "feature/x", "refs/pr/1", tagged):
        assert get(f"lab/model@{revision}").commit == tagged
        assert find_cached(parse_ref("lab/model", revision)) is not None
    assert find_cached(parse_ref("lab/model")) is None
    assert get("lab/model").commit == old


def test_update_asks_and_fetches_only_what_changed(server: HubServer, cache: Path, files: dict[str, bytes]):
    old = get().commit
    new = server.repos["lab/model"].commit({**files, CARD_FILE: b"new card"})
    assert get().commit == old
    server.requests.clear()
    fetched = get(update=True)
    assert fetched.commit == new != old
    assert [r for r in server.requests if r.startswith("GET")] == [f"GET /lab/model/resolve/{new}/{CARD_FILE}"]
    assert get().commit == new


def test_an_update_that_fails_leaves_the_older_state(server: HubServer, cache: Path, files: dict[str, bytes]):
    old = get().commit
    server.repos["lab/model"].commit({CONFIG_FILE: files[CONFIG_FILE]})
    assert f"{WEIGHTS_FILE}: the repository has no such file" in refusal(update=True)
    assert get().commit == old


def test_a_repository_without_a_card(server: HubServer, cache: Path, files: dict[str, bytes]):
    del server.repos["lab/model"].commits[server.repos["lab/model"].refs["main"]][CARD_FILE]
    folder = get().checkpoint.path
    assert folder is not None
    assert sorted(p.name for p in folder.iterdir()) == [CONFIG_FILE, WEIGHTS_FILE]


def test_a_cache_folder_of_choice(server: HubServer, cache: Path, tmp_path: Path):
    folder = get(cache_dir=tmp_path / "mine").checkpoint.path
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "mine")
    assert not cache.exists()


def test_a_broken_connection_resumes(server: HubServer, cache: Path, caplog: pytest.LogCaptureFixture):
    logging.getLogger("huggingface_hub").addHandler(caplog.handler)
    server.cut[WEIGHTS_FILE] = 2000
    assert get().checkpoint.kind == "classification"
    assert len([r for r in server.requests if r.startswith("GET") and WEIGHTS_FILE in r]) == 2
    logging.getLogger("huggingface_hub").removeHandler(caplog.handler)
    assert caplog.messages == []  # the client's own advice


def test_an_interrupted_download_goes_on_with_the_files_that_lack(server: HubServer, cache: Path):
    server.spoil[WEIGHTS_FILE] = b"short"
    assert f"{WEIGHTS_FILE}: the file arrived incomplete ({server.root}); try again" in refusal()
    assert find_cached(parse_ref("lab/model")) is None
    assert "vsa download lab/model" in refused_load("lab/model")
    server.spoil.clear()
    server.requests.clear()
    get()
    assert not any(r.startswith("GET") and CONFIG_FILE in r for r in server.requests)


def refused_load(ref: str) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(ref)
    return str(caught.value)


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE, CARD_FILE])
def test_corrupt_bytes_are_not_kept(server: HubServer, cache: Path, files: dict[str, bytes], name: str):
    server.spoil[name] = files[name][:-1] + b"?"
    assert f"lab/model@main: {name}: the download does not match what the Hub announced ({server.root})" in refusal()
    assert not any(server.spoil[name] == p.read_bytes() for p in cache.rglob("*") if p.is_file())
    server.spoil.clear()
    assert get().checkpoint.kind == "classification"


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE])
def test_a_copy_that_was_damaged_in_the_cache_is_fetched_again(server: HubServer, cache: Path, name: str):
    folder = get().checkpoint.path
    assert folder is not None
    whole = (folder / name).read_bytes()
    (folder / name).resolve().write_bytes(whole[:-3] + b"   ")
    assert not get().from_cache
    assert (folder / name).read_bytes() == whole


def test_a_damaged_copy_without_a_hub(server: HubServer, cache: Path, monkeypatch: pytest.MonkeyPatch):
    folder = get().checkpoint.path
    assert folder is not None
    (folder / WEIGHTS_FILE).resolve().write_bytes(b"")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert refusal().endswith("(the copy in the cache is damaged)")


def test_large_files_come_from_elsewhere_without_the_token(server: HubServer, cache: Path, files: dict[str, bytes]):
    server.redirects = True
    server.repos["lab/model"].access = "private"
    folder = get(token=TOKEN).checkpoint.path
    assert folder is not None
    assert (folder / WEIGHTS_FILE).read_bytes() == files[WEIGHTS_FILE]
    assert server.elsewhere == [f"/elsewhere/{etag(files[WEIGHTS_FILE])}"]


def test_tokens(server: HubServer, cache: Path, monkeypatch: pytest.MonkeyPatch):
    server.repos["lab/secret"] = server.repos["lab/model"]
    server.repos["lab/secret"].access = "private"
    text = refusal("lab/secret@v1")
    assert text.startswith(f"checkpoint lab/secret@v1: {CONFIG_FILE}: no such repository, or a private one")
    assert server.root in text
    assert "hf auth login" in text
    assert "the token is not valid" in refusal("lab/secret", token="hf_wrong")
    assert "hf_wrong" not in refusal("lab/secret", token="hf_wrong")
    get("lab/secret", token=TOKEN)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    server.tokens.clear()
    get("lab/secret", update=True)
    assert server.tokens == {TOKEN}
    assert "that the token has no access to" in refusal("lab/none")


@pytest.mark.parametrize("token", ["", " ", "hf_a b", "hf_ä", "hf_a\nX-Other: 1"])
def test_a_token_that_cannot_be_one(server: HubServer, cache: Path, token: str):
    text = refusal(token=token, kind=UsageError)
    assert "characters that no token has" in text
    assert "hf_" not in text


def test_no_such_repository(server: HubServer, cache: Path):
    text = refusal("lab/none")
    assert "no such repository, or a private one" in text
    assert f"({server.root}); check the name" in text


def test_gated_and_disabled(server: HubServer, cache: Path):
    server.repos["lab/gated"] = Repo("gated")
    text = refusal("lab/gated")
    assert f"the repository is gated ({server.root}); ask for access at {server.root}/lab/gated, then log in" in text
    assert refusal("lab/gated", token=TOKEN).endswith(f"ask for access at {server.root}/lab/gated")
    server.repos["lab/off"] = Repo("disabled")
    assert "the repository is disabled" in refusal("lab/off")


def test_no_such_revision(server: HubServer, cache: Path):
    for revision in ("v9", "0" * 40):
        text = refusal(f"lab/model@{revision}")
        assert f"checkpoint lab/model@{revision}: {CONFIG_FILE}: no such revision ({server.root})" in text
        assert f"{server.root}/lab/model/tree/main" in text


@pytest.mark.parametrize("name", [CONFIG_FILE, WEIGHTS_FILE])
def test_a_missing_file(server: HubServer, cache: Path, files: dict[str, bytes], name: str):
    server.repos["lab/part"] = Repo()
    server.repos["lab/part"].commit({k: v for k, v in files.items() if k != name})
    text = refusal("lab/part")
    assert f"lab/part@main: {name}: the repository has no such file: it is not a checkpoint of ours" in text
    assert server.root in text


def test_another_kind_of_model_is_refused_before_its_weights_are_fetched(server: HubServer, cache: Path):
    server.repos["lab/bert"] = Repo()
    server.repos["lab/bert"].commit({CONFIG_FILE: b'{"model_type": "bert"}', WEIGHTS_FILE: b"x" * 5000})
    assert f"lab/bert@main: {CONFIG_FILE} is not one of ours" in refusal("lab/bert")
    assert not any(WEIGHTS_FILE in r for r in server.requests)


def test_a_newer_format_says_to_update(server: HubServer, cache: Path, files: dict[str, bytes]):
    config = json.dumps(json.loads(files[CONFIG_FILE]) | {"format": 2}).encode()
    server.repos["lab/new"] = Repo()
    server.repos["lab/new"].commit({**files, CONFIG_FILE: config})
    assert refusal("lab/new").endswith("has format 2, this version of vsacli reads 1; update vsacli")


def test_weights_that_are_none(server: HubServer, cache: Path, files: dict[str, bytes]):
    server.repos["lab/pickle"] = Repo()
    server.repos["lab/pickle"].commit({**files, WEIGHTS_FILE: b"\x80\x04" + b"." * 3000})
    assert "lab/pickle@main: damaged or not one of ours" in refusal("lab/pickle")


def test_files_of_absurd_size_are_not_fetched(server: HubServer, cache: Path):
    server.headers = {"X-Linked-Size": str(1 << 40)}
    assert "1,099,511,627,776 bytes are more than any file of a checkpoint has" in refusal()
    assert not any(r.startswith("GET") for r in server.requests)


def test_no_connection(cache: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    text = refusal(endpoint=endpoint)
    assert f"lab/model@main: {CONFIG_FILE}: the Hub cannot be reached: " in text
    assert f"({endpoint}); check the connection" in text


def test_a_server_that_never_answers(server: HubServer, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_ETAG_TIMEOUT", 0.2)
    server.hang = True
    assert "the Hub cannot be reached: " in refusal()


@pytest.mark.parametrize("status", [403, 418, 429, 500, 503])
def test_other_answers(server: HubServer, cache: Path, status: int):
    server.status = status
    text = refusal()
    assert ("access is refused" if status == 403 else f"the Hub answered with status {status}") in text
    assert server.root in text


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Repo-Commit": ""},
        {"X-Repo-Commit": "../../../../escaped"},
        {"ETag": ""},
        {"ETag": '"../../../../escaped"'},
        {"ETag": '".."'},
    ],
)
def test_a_server_that_is_no_hub_writes_nothing(server: HubServer, cache: Path, headers: dict[str, str]):
    server.headers = headers
    assert f"the answer is not a Hub's ({server.root})" in refusal()
    assert not any(p.is_file() for p in cache.parent.rglob("*"))


def test_offline(server: HubServer, cache: Path, monkeypatch: pytest.MonkeyPatch):
    get()
    server.requests.clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert get().from_cache
    assert "it is not in the cache, and the Hub is offline because of HF_HUB_OFFLINE" in refusal("lab/other")
    text = refusal(update=True)
    assert "the Hub is offline because of HF_HUB_OFFLINE" in text
    assert "not in the cache" not in text
    assert server.requests == []


def test_a_cache_that_cannot_be_written(server: HubServer, tmp_path: Path):
    (tmp_path / "file").write_text("")
    text = refusal(cache_dir=tmp_path / "file", kind=OutputError)
    assert f"cannot be written to the cache {tmp_path / 'file'}" in text
    assert "--cache-dir" in text


@pytest.mark.parametrize(
    "endpoint", ["hub.example", "ftp://a/b", "http://", "http://a b", "http://[::1", "file:///etc"]
)
def test_an_endpoint_that_is_no_address(cache: Path, endpoint: str):
    assert "HF_ENDPOINT" in refusal(endpoint=endpoint, kind=UsageError)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a/b/c", "/a", "a/", "../b", "a/..", "a--b/c", "a/b.git", "a b/c", "a/b\n", "~/b", "C:/b", "a/b@c@d"],
)
def test_names_that_lead_elsewhere(text: str):
    with pytest.raises(UsageError, match=r"give ORG/NAME|is not valid"):
        parse_ref(text)


@pytest.mark.parametrize(
    "text", ["", ".", "..", "x/../y", "../x", "/etc", "x//y", "x/", "a\\b", "c:d", "x\n", "nul\0", "v?x", "x" * 300]
)
def test_revisions_that_lead_elsewhere(text: str):
    for arguments in ((f"a/b@{text}",), ("a/b", text)):
        with pytest.raises(UsageError, match="a branch, a tag or a commit"):
            parse_ref(*arguments)


def test_a_revision_given_twice():
    assert str(parse_ref("a/b@v1", "v1")) == "a/b@v1"
    assert str(parse_ref("a/b", "v1")) == "a/b@v1"
    assert str(parse_ref("a/b")) == "a/b@main"
    with pytest.raises(UsageError, match="names another revision"):
        parse_ref("a/b@v1", "v2")


def test_a_cache_that_points_out_of_itself(server: HubServer, cache: Path):
    folder = get().checkpoint.path
    assert folder is not None
    (folder.parent.parent / "refs" / "main").write_text("../../elsewhere")
    assert find_cached(parse_ref("lab/model")) is None


def test_the_list_has_ours_alone(server: HubServer, cache: Path, files: dict[str, bytes]):
    assert cached_checkpoints() == []
    commit = get().commit
    get(f"lab/model@{commit}")
    new = server.repos["lab/model"].commit(dict(files), "v2")
    get("lab/model@v2")
    other = cache / "models--lab--bert" / "snapshots" / ("1" * 40)
    other.mkdir(parents=True)
    (other / CONFIG_FILE).write_text("{}")
    (cache / "datasets--lab--data" / "snapshots" / ("2" * 40)).mkdir(parents=True)
    found = {(c.repo, c.refs, c.commit) for c in cached_checkpoints()}
    assert found == {("lab/model", ("main",), commit), ("lab/model", ("v2",), new)}


def test_hashes_are_those_of_the_hub(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"hello\n")
    for known in (
        "ce013625030ba8dba906f756967f9e9ca394464a",  # git hash-object
        "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",  # sha256sum
    ):
        assert has_hash(tmp_path / "a", known)
        assert not has_hash(tmp_path / "a", known[::-1])
    os.symlink(tmp_path / "a", tmp_path / ("0" * 40))
    os.symlink("0" * 40, tmp_path / "pointer")
    assert not is_sound(tmp_path / "pointer")
