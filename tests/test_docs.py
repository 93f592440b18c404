"""The site: generated pages are up to date, its commands and Python run, and it builds without a network connection."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TwoGroups
from tests.shell_examples import ROOT, Block, run_in_sandbox, shell_blocks


def page_commands(name: str) -> Block:
    """The commands of a page as one block, since later ones read what earlier ones wrote."""
    commands = [command for block in shell_blocks(f"docs/{name}") for command in block.commands]
    return Block(f"docs/{name}", 1, tuple(commands))


PAGES = ("index.md", "tutorial.md", "files.md", "train.md")
BLOCKS = [page_commands(name) for name in PAGES]


def test_made_pages_are_up_to_date():
    done = subprocess.run([sys.executable, "docs/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_blocks_are_found():
    assert all(block.commands for block in BLOCKS)
    with_commands = {page.name for page in (ROOT / "docs").glob("*.md") if page_commands(page.name).commands}
    # The only command of faq.md takes long, and what looks like one in performance.md is the output of a benchmark.
    assert with_commands - set(PAGES) == {"faq.md", "performance.md"}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_run(block: Block, tmp_path: Path, two_groups: TwoGroups):
    left_out = run_in_sandbox(block, tmp_path, two_groups.csv())
    assert len(left_out) < len(block.commands)


def test_python_guide_runs(tmp_path: Path):
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(code) == 2
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    for block in code:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block], cwd=tmp_path, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "labeled.csv").read_bytes().count(b"\n") == 119


def test_notebook_is_run_without_an_error():
    import json

    notebook = json.loads((ROOT / "docs" / "example.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs
    assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)


def test_site_builds(tmp_path: Path):
    pytest.importorskip("material", reason="the extra `docs` is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial.html").is_file()
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "site").glob("*.html")]
    loaded = re.compile(
        r'<(?:link[^>]+rel="(?:stylesheet|preconnect)"[^>]+href|script[^>]+src|img[^>]+src)="(https?:[^"]+)"'
    )
    assert [found for page in pages for found in loaded.findall(page)] == []
