"""The saved state: whole at any moment, and damage is told."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import torch

from vsacli.errors import ResourceError, TrainingError
from vsacli.training import state as state_module
from vsacli.training.folder import read_metrics
from vsacli.training.state import check_meta, load_state, save_state


def tensors(value: float) -> dict[str, dict[str, torch.Tensor]]:
    return {"model": {"a.weight": torch.full((3, 2), value)}, "optimizer": {"0.0.step": torch.tensor(value)}}


def test_round_trip(tmp_path: Path):
    save_state(tmp_path / "state", tensors(1.5), {"step": 7, "best": None})
    loaded, meta = load_state(tmp_path / "state")
    assert torch.equal(loaded["model"]["a.weight"], torch.full((3, 2), 1.5))
    assert float(loaded["optimizer"]["0.0.step"]) == 1.5
    assert (meta["step"], meta["best"]) == (7, None)
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("stop", range(20))
def test_killed_at_any_moment_leaves_a_whole_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int):
    """Each call that touches the disk in turn is the last one; what is there then is loaded by a new process."""
    folder = tmp_path / "state"
    save_state(folder, tensors(1.0), {"step": 1})

    class Killed(BaseException):
        pass

    calls = 0

    def dying(function):
        def call(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls > stop:
                raise Killed
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(state_module, "save_file", dying(state_module.save_file))
        patch.setattr(state_module, "_sync", dying(state_module._sync))
        patch.setattr(state_module.shutil, "rmtree", dying(shutil.rmtree))
        for name in ("rename", "write_text", "mkdir"):
            patch.setattr(Path, name, dying(getattr(Path, name)))
        try:
            save_state(folder, tensors(2.0), {"step": 2})
            killed = False
        except Killed:
            killed = True
    loaded, meta = load_state(folder)
    assert float(loaded["model"]["a.weight"][0, 0]) == meta["step"]
    assert killed or meta["step"] == 2
    save_state(folder, tensors(3.0), {"step": 3})
    assert load_state(folder)[1]["step"] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_killed_again_before_the_next_state_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "state"
    save_state(folder, tensors(1.0), {"step": 1})
    folder.rename(tmp_path / "state.old")  # as a first kill leaves it

    def no_rename(self: Path, to: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", no_rename)
        with pytest.raises(KeyboardInterrupt):
            save_state(folder, tensors(2.0), {"step": 2})
    assert load_state(folder)[1]["step"] == 1


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("name", "harm", "words"),
    [
        ("model.safetensors", _cut, "damaged .*checksum of model.safetensors"),
        ("model.safetensors", _flip, "damaged .*checksum of model.safetensors"),
        ("optimizer.safetensors", Path.unlink, "lacks optimizer.safetensors"),
        ("state.json", _cut, "damaged"),
        ("state.json", lambda p: p.write_text("[]"), "damaged"),
        ("state.json", lambda p: p.write_text(json.dumps({"version": 99})), "version 99"),
    ],
)
def test_damage_is_told(tmp_path: Path, name: str, harm, words: str):
    save_state(tmp_path / "state", tensors(1.0), {"step": 1})
    harm(tmp_path / "state" / name)
    with pytest.raises(TrainingError, match=words):
        load_state(tmp_path / "state")


def test_no_state(tmp_path: Path):
    with pytest.raises(TrainingError, match="no saved state"):
        load_state(tmp_path / "state")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes")
def test_full_disk_keeps_the_last_state(tmp_path: Path):
    import resource

    folder = tmp_path / "state"
    save_state(folder, tensors(1.0), {"step": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = {"model": {"a.weight": torch.zeros(200_000)}}
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(ResourceError, match=r"cannot be saved .*last saved state is intact"):
            save_state(folder, large, {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert load_state(folder)[1]["step"] == 1
    assert os.listdir(tmp_path) == ["state"]


@pytest.mark.parametrize(
    "broken",
    [
        *(
            {name: value}
            for name in ("step", "tasks_seen", "since_best")
            for value in (None, -5, 1.5, "3", 10**400, True)
        ),
        *({"elapsed": value} for value in (None, -1.0, float("nan"), "1")),
        *({"best": value} for value in ("low", float("inf"))),
    ],
    ids=str,
)
def test_counters_that_no_run_has_are_refused(broken: dict):
    good = {"step": 3, "tasks_seen": 30, "since_best": 0, "best": None, "elapsed": 1.5}
    check_meta(good)
    with pytest.raises(ValueError, match="is not a number that a run has"):
        check_meta({**good, **broken})


def test_brackets_without_end_are_damage(tmp_path: Path):
    save_state(tmp_path / "state", tensors(1.0), {"step": 1})
    (tmp_path / "state" / "state.json").write_text("[" * 100_000)
    with pytest.raises(TrainingError, match="damaged"):
        load_state(tmp_path / "state")
    (tmp_path / "metrics.jsonl").write_text("[" * 100_000 + '\n{"step": 1, "loss": 2.0}\n')
    assert read_metrics(tmp_path / "metrics.jsonl") == [{"step": 1, "loss": 2.0}]
