"""The frame of the command line: help, version, commands that load when they are used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import vsacli
from vsacli.cli import Commands


def test_version(vsa):
    result = vsa("--version")
    assert (result.code, result.stdout.decode()) == (0, f"vsa {vsacli.__version__}\n")


def test_no_command_shows_the_help(vsa):
    result = vsa()
    assert (result.code, result.stdout) == (2, b"")
    assert "Usage: vsa [OPTIONS] COMMAND" in result.stderr


def test_mistyped_command(vsa):
    assert re.search("No such command 'lable'. Did you mean 'label'", vsa("lable").error)


def test_help_lists_every_command(vsa):
    text = vsa("--help").stdout.decode()
    for name, (_, _, summary) in Commands.registered.items():
        assert re.search(rf"^  {name} +{re.escape(summary[:20])}", text, re.M)


def _options_part(help_text: bytes) -> str:
    return re.split("^Options:$", help_text.decode(), flags=re.M)[1].split("\n\n")[0]


@pytest.mark.parametrize("command", list(Commands.registered))
def test_every_option_has_help(vsa, command: str):
    result = vsa(command, "--help")
    assert result.code == 0
    entries = re.findall(r"^  (?:-\w, )?--[\w-]+.*?(?=^  \S|\Z)", _options_part(result.stdout), re.M | re.S)
    assert entries
    for entry in entries:
        assert re.search(r"\s{2,}\w.*[.\]]\s*$", entry, re.S), f"no help: {entry}"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from vsacli.cli import main; main(['--help']); main(['label', '--help'])\n"
        "heavy = {'torch', 'pandas', 'numpy', 'pyarrow', 'sklearn', 'rich', 'openml'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_module_is_the_command_too():
    done = subprocess.run([sys.executable, "-m", "vsacli", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"vsa {vsacli.__version__}\n"
