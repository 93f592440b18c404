"""The fifteen first things that a new user does: each runs, says what the page promises, and fits a screen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("benchmarks_first_hour", ROOT / "benchmarks" / "first_hour.py")
FIRST = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = FIRST  # where its dataclasses look for it
SPEC.loader.exec_module(FIRST)
LINES_OF_A_SCREEN = 45


def test_they_are_in_the_page() -> None:
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert [row[1].strip("`").replace(r"\|", "|") for row in rows] == [thing.command for thing in FIRST.THINGS]
    assert [row[-1].removesuffix(" |") for row in rows] == [thing.outcome for thing in FIRST.THINGS]
    assert len(rows) == 15


def test_they_run_one_after_another(tmp_path: Path) -> None:
    environment = FIRST.prepare(tmp_path)
    for thing in FIRST.THINGS:
        done = FIRST.run(thing, tmp_path, environment)
        assert done.status == thing.status, f"{thing.command}\n{done.errors}"
        assert thing.says in done.out + done.errors, f"{thing.command}\n{done.out}\n{done.errors}"
        assert 1 <= done.lines <= LINES_OF_A_SCREEN
    labeled = (tmp_path / "labeled.csv").read_text().splitlines()
    assert len(labeled) == 179
    assert all(line.rsplit(",", 1)[1].startswith("cultivar") for line in labeled)
    assert any(line.endswith(",") for line in (tmp_path / "sure.csv").read_text().splitlines())
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "out.parquet").read_bytes().startswith(b"PAR1")
