"""A checkpoint that is damaged or made to do harm is refused by the command in one line; nothing is run or written."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.tiny import tiny_model
from vsacli.checkpoints.folder import CONFIG_FILE, WEIGHTS_FILE, save_checkpoint


class Evil:
    """What a pickle runs when it is read."""

    def __reduce__(self) -> tuple[Callable, tuple]:
        return os.mkdir, ("executed",)


def edit(folder: Path, change: Callable[[dict], None]) -> None:
    config = json.loads((folder / CONFIG_FILE).read_text())
    change(config)
    (folder / CONFIG_FILE).write_text(json.dumps(config))


def grow(config: dict) -> None:
    """Make every size in the config the largest that could be asked for."""
    for key, value in config.items():
        if isinstance(value, dict):
            grow(value)
        elif isinstance(value, int) and not isinstance(value, bool) and key not in ("format", "seed", "steps"):
            config[key] = 10**9


def truncate(folder: Path) -> None:
    data = (folder / WEIGHTS_FILE).read_bytes()
    (folder / WEIGHTS_FILE).write_bytes(data[: len(data) // 2])


def poison(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS_FILE)
    first = next(iter(tensors))
    tensors[first] = np.full_like(tensors[first], np.nan)
    save_file(tensors, folder / WEIGHTS_FILE)


def oversize(folder: Path) -> None:
    """A header that claims a tensor of 2^62 bytes."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**30, 2**30], "data_offsets": [0, 2**62]}}).encode()
    (folder / WEIGHTS_FILE).write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)


def endless_header(folder: Path) -> None:
    (folder / WEIGHTS_FILE).write_bytes(struct.pack("<Q", 2**63) + b"{}")


def swap_for_pickle(folder: Path) -> None:
    (folder / WEIGHTS_FILE).write_bytes(pickle.dumps(Evil()))


def pickle_beside(folder: Path) -> None:
    os.unlink(folder / WEIGHTS_FILE)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))


SPOILED: dict[str, Callable[[Path], object]] = {
    "truncated": truncate,
    "weights that are not numbers": poison,
    "sizes beyond all memory": lambda folder: edit(folder, grow),
    "a tensor beyond all memory": oversize,
    "a header without end": endless_header,
    "a pickle under the name of the weights": swap_for_pickle,
    "a pickle beside the config": pickle_beside,
    "another version": lambda folder: edit(folder, lambda config: config.update(format=99)),
    "a config that is a list": lambda folder: (folder / CONFIG_FILE).write_text("[1]") and None,
    "a config nested too deep": lambda folder: (folder / CONFIG_FILE).write_text("[" * 100_000) and None,
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_spoiled_checkpoint(vsa, two_groups, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str):
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, tiny_model(), {}, "# Card\n")
    monkeypatch.chdir(tmp_path)
    path = write("in.csv", two_groups.csv())
    assert vsa("label", path, "-t", "label", "--checkpoint", folder, "-o", "sound.csv").code == 0
    SPOILED[how](folder)
    result = vsa("label", path, "-t", "label", "--checkpoint", folder, "-o", "out.csv")
    assert result.code == 1
    assert str(folder) in result.error
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "in.csv", "sound.csv"]


def test_a_path_in_the_config_leads_nowhere(vsa, two_groups, write, tmp_path: Path):
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, tiny_model(), {}, "# Card\n")
    path = write("in.csv", two_groups.csv())
    sound = vsa("label", path, "-t", "label", "--checkpoint", folder, "--confidence").stdout
    edit(folder, lambda config: config.update(weights="../other.safetensors", file="/dev/zero", auto_map={"": "x.py"}))
    (folder / "x.py").write_text("raise SystemExit('executed')")
    result = vsa("label", path, "-t", "label", "--checkpoint", folder, "--confidence")
    assert (result.code, result.stdout) == (0, sound)
