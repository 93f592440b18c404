"""How the compared methods of the paper are trained: alike in all but themselves, by the processor's time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_unlabeled_and_groups import script
from vsacli.training.config import TrainConfig


def config(method: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> TrainConfig:
    """What a method is trained with."""
    compare: Any = script("compare_methods")
    monkeypatch.setattr(sys, "argv", ["compare_methods.py", "--seconds", "900", "--out", "runs", *options])
    return compare.new_run(method, compare.arguments()).config


def test_methods_differ_in_network_and_rate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = (config(m, monkeypatch, "--rate", "proto=0.003").to_dict() for m in ("vsa", "proto"))
    assert {k for k in ours if ours[k] != theirs[k]} == {"model", "learning_rate"}
    assert theirs["learning_rate"] == 0.003
    assert (ours["max_time"], ours["optimizer"], ours["plain"], ours["workers"]) == (900, "adam", True, 0)


def test_on_a_folder_tasks_are_varied_and_narrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn = config("maml", monkeypatch, "--suite", str(tmp_path), "--preset", "small")
    assert not drawn.plain
    assert (drawn.episodes.attributes, drawn.episodes.tasks, drawn.optimizer) == ((3, 40), (8, 8), "muon")


def test_a_method_that_is_complete_is_not_trained_again(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/compare_methods.py", "--seconds", "1", "--out", str(tmp_path)]
    command += ["--methods", "lp", "--episodes", "1", "--jobs", "2"]
    first, again = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2))
    cost = json.loads((tmp_path / "circle-spiral-classification" / "lp" / "compared.json").read_text())
    assert cost["trained"] >= 1
    assert f"lp: {cost['steps']:,} steps" in first
    assert "lp: trained already" in again
    assert first[first.index("Table 1(a)") :] == again[again.index("Table 1(a)") :]
    other = subprocess.run([*command, "--learning-rate", "1", "--rate", "lp=1"], capture_output=True, text=True)
    assert other.returncode == 1
    assert "lp has other settings (learning_rate)" in other.stderr
