"""Every shell command of README.md runs as it is written, unless it takes long or needs a network connection."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from tests.conftest import TwoGroups
from tests.shell_examples import ROOT, Block, run_in_sandbox, shell_blocks
from vsacli.cli import Commands, app

BLOCKS = shell_blocks("README.md")
GUIDES = ("eval.md", "faq.md", "files.md", "how-it-works.md", "python.md", "train.md", "tutorial.md")
"""The other pages name options of the scripts in benchmarks/ as well."""


def test_every_command_has_an_example():
    commands = [command for block in BLOCKS for command in block.commands]
    assert any(command.startswith("cat data.csv | vsa label - -t class") for command in commands)
    assert set(re.findall(r"\bvsa ([a-z-]+)", "\n".join(commands))) == set(Commands.registered)


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}" for name in GUIDES)])
def test_options_in_the_text_exist(page: str):
    group = get_command(app)
    context = group.make_context("vsa", [], resilient_parsing=True)
    options = {"--help", "--version"}
    for name in Commands.registered:
        command = group.get_command(context, name)  # pyright: ignore[reportAttributeAccessIssue]
        options |= {option for parameter in command.params for option in parameter.opts}
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    named = {option for code in re.findall(r"`([^`]*)`", text) for option in re.findall(r"(?<!\S)--[a-z-]+", code)}
    assert named - options == set()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_run(block: Block, tmp_path: Path, two_groups: TwoGroups):
    left_out = run_in_sandbox(block, tmp_path, two_groups.csv())
    if len(left_out) == len(block.commands):
        pytest.skip("; ".join(left_out))
