"""The recipe of the bundled checkpoints: stages in order, each taken up again where it was, with options that exist."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.checkpoints.resolve import load_checkpoint

RECIPE = Path(__file__).parent.parent / "models" / "recipes" / "train.sh"
STAND_IN = """#!/bin/sh
# Notes its arguments, makes the state of a run, and fails as often as the file `fail` says.
echo "$*" >> "$LOG"
for last; do :; done
mkdir -p "$last/state"
if [ -s "$FAIL" ]; then : > "$FAIL"; exit 130; fi
"""


def run(tmp_path: Path, machine: str, fail: bool = False) -> tuple[int, list[str]]:
    """The recipe with a stand-in for vsa: its status, and the arguments of each command."""
    stand_in, log, failing = tmp_path / "vsa.sh", tmp_path / "log", tmp_path / "fail"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    log.write_text("")
    failing.write_text("1" if fail else "")
    env = os.environ | {"VSA": str(stand_in), "AVERAGE": str(stand_in), "LOG": str(log), "FAIL": str(failing)}
    command = ["bash", str(RECIPE), "CORPUS", str(tmp_path / "out"), machine]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.returncode, log.read_text().splitlines()


@pytest.mark.parametrize(("machine", "stages"), [("cpu", 12), ("gpu", 2)])
def test_stages_run_once_and_go_on_where_they_were(tmp_path: Path, machine: str, stages: int) -> None:
    status, commands = run(tmp_path, machine, fail=True)
    assert status == 130
    assert len(commands) == 1
    status, commands = run(tmp_path, machine)
    assert status == 0
    average = [c for c in commands if not c.startswith("meta-train")]
    assert len(average) == (2 if machine == "cpu" else 0)
    commands = [c for c in commands if c not in average]
    assert len(commands) == stages
    assert commands[0].startswith("meta-train --resume -o ")
    assert all("--data CORPUS --synthetic prior" in c for c in commands[1:])
    assert commands[-1].endswith("/out/regression")
    for name in ("average", "average-2"):
        (tmp_path / "out" / name).mkdir(exist_ok=True)
        (tmp_path / "out" / name / "model.safetensors").touch()
    assert run(tmp_path, machine) == (0, [])


def test_every_option_is_one_that_meta_train_knows(tmp_path: Path) -> None:
    text = subprocess.run(
        [sys.executable, "-m", "vsacli", "meta-train", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for machine in ("cpu", "gpu"):
        (tmp_path / machine).mkdir()
        _, commands = run(tmp_path / machine, machine)
        for option in {word for c in commands for word in c.split() if word.startswith("--")}:
            assert option in text


def test_another_machine_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, "tpu") == (2, [])


def test_weights_are_averaged_with_those_that_training_began_with(tmp_path: Path) -> None:
    """Also if the later network reads more: inputs that the first one lacks count from 0."""
    first, second = tiny_model(structure=True), tiny_model(structure=True, class_space=True)
    save_checkpoint(tmp_path / "first", first, {"facts": 1}, "card")
    save_checkpoint(tmp_path / "second", second, {"facts": 2}, "card")
    script = RECIPE.with_name("average.py")
    command = [sys.executable, script, tmp_path / "first", tmp_path / "second", "0.25", tmp_path / "out"]
    subprocess.run(command, check=True)
    mean = load_checkpoint(str(tmp_path / "out"))
    assert mean.meta["facts"] == 2
    ours, theirs, found = (m.state_dict() for m in (first, second, mean.model))
    name = "blocks.0.ff.0.weight"
    torch.testing.assert_close(found[name], 0.75 * ours[name] + 0.25 * theirs[name])
    known = ours["embed_in.0.weight"].shape[1]
    torch.testing.assert_close(found["embed_in.0.weight"][:, known:], 0.25 * theirs["embed_in.0.weight"][:, known:])
