"""Every shell command that README.md shows runs as it stands there, but for what takes long or needs a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TwoGroups
from tests.shell_examples import Block, run_in_sandbox, shell_blocks

BLOCKS = shell_blocks("README.md")


def test_the_blocks_are_found():
    commands = [command for block in BLOCKS for command in block.commands]
    assert any(command.startswith("cat data.csv | vsa label - -t class") for command in commands)
    assert {command.split()[1] for command in commands if command.startswith("vsa ")} >= {
        "label", "eval", "meta-train", "download", "upload", "completion",
    }  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_run(block: Block, tmp_path: Path, two_groups: TwoGroups):
    left_out = run_in_sandbox(block, tmp_path, two_groups.csv())
    if len(left_out) == len(block.commands):
        pytest.skip("; ".join(left_out))
