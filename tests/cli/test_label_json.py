"""The summary of a labeling run as JSON, and what the environment says for options that are not given."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import vsacli
from tests.conftest import TwoGroups, Vsa
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.cli.summary import RECORD

Write = Callable[[str, bytes], Path]
COMMAND = Path(sys.executable).parent / "vsa"


def test_record_of_a_classification(vsa: Vsa, write: Write, two_groups: TwoGroups, tmp_path: Path):
    lines = [f"{line},same" for line in two_groups.lines(missing="NA")]
    file = write("x.csv", "\n".join(["x,y,label,always", *lines]).encode())
    out = tmp_path / "out.csv"
    result = vsa("label", file, "-t", "label", "--seed", "3", "-o", out, "--json", "-", "-q")
    assert (result.code, result.stderr) == (0, "")
    record = json.loads(result.stdout)
    assert list(record) == list(RECORD)
    n_given = sum(two_groups.given)
    filled = [
        line.split(",")[2]
        for line, given in zip(out.read_text().splitlines()[1:], two_groups.given, strict=True)
        if not given
    ]
    by_class = {name: filled.count(name) for name in ("a", "b")}
    confidence = record.pop("mean_confidence")
    assert 0.5 < confidence <= 1
    assert record.pop("reason")
    assert record.pop("notes") == ["delimiter: comma (detected)"]
    assert record == {
        "vsa": vsacli.__version__,
        "table": str(file),
        "rows": 24,
        "columns": 4,
        "target": "label",
        "task": "classification",
        "given": n_given,
        "given_by_class": {"a": n_given // 2, "b": n_given // 2},
        "missing": 24 - n_given,
        "missing_by_token": {"NA": 24 - n_given},
        "used": {"x": 1, "y": 1},
        "left_out": [{"column": "always", "reason": record["left_out"][0]["reason"]}],
        "checkpoint": "classification",
        "device": "cpu",
        "logarithms": False,
        "graph_rows": 24,
        "student_rows": 0,
        "seed": 3,
        "filled": 24 - n_given,
        "filled_by_class": by_class,
        "given_shares": {"a": 0.5, "b": 0.5},
        "filled_shares": {name: count / (24 - n_given) for name, count in by_class.items()},
        "assumed_shares": None,
        "not_filled": 0,
        "mean_std": None,
        "output": str(out),
    }


def test_record_of_a_regression_in_a_file(vsa: Vsa, write: Write, tmp_path: Path):
    file = write("x.csv", b"x,y\n" + b"".join(b"%d,%s\n" % (i, b"" if i % 3 else b"%d.5" % i) for i in range(40)))
    result = vsa("label", file, "-t", "y", "--task", "regression", "--json", tmp_path / "s.json")
    assert result.stdout.startswith(b"x,y\n")
    record = json.loads((tmp_path / "s.json").read_text())
    assert (record["task"], record["given"], record["filled"], record["output"]) == ("regression", 14, 26, None)
    assert record["given_by_class"] is record["filled_by_class"] is record["mean_confidence"] is None
    assert record["given_shares"] is record["filled_shares"] is record["assumed_shares"] is None
    assert record["mean_std"] > 0


def test_a_summary_takes_no_other_place(vsa: Vsa, write: Write, two_groups: TwoGroups, tmp_path: Path):
    file = write("x.csv", two_groups.csv())
    assert "--json - and the table would both go" in vsa("label", file, "-t", "label", "--json", "-").error
    for other in (file, tmp_path / "." / "x.csv"):
        assert "would replace" in vsa("label", file, "-t", "label", "--json", other).error
    assert "would replace" in vsa("label", file, "-t", "label", "-o", tmp_path / "o", "--json", tmp_path / "o").error
    assert "would replace" in vsa("label", file, "-t", "label", "-o", tmp_path / "o", "--json", f"{tmp_path}/./o").error
    assert (
        "does not exist; create it first"
        in vsa("label", file, "-t", "label", "--json", tmp_path / "no" / "s.json").error
    )
    a_part = file.with_name("p.parquet")  # of a folder of parts
    assert "would replace" in vsa("label", tmp_path, "-t", "label", "-o", tmp_path / "o", "--json", a_part).error
    assert file.read_bytes() == two_groups.csv()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.csv"]


def test_the_environment_stands_for_options(
    vsa: Vsa, write: Write, two_groups: TwoGroups, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = write("x.csv", two_groups.csv())
    folder = tmp_path / "a checkpoint"
    save_checkpoint(folder, tiny_model(), {}, "card")
    monkeypatch.setenv("VSA_CHECKPOINT", str(folder))
    assert f"vsa: network: {folder} on cpu" in vsa("label", file, "-t", "label").stderr
    assert (
        "vsa: network: classification on" in vsa("label", file, "-t", "label", "--checkpoint", "classification").stderr
    )
    evaluated = vsa("eval", file, "-t", "label", "--methods", "vsa", "-q")
    assert evaluated.code == 0
    monkeypatch.setenv("VSA_CHECKPOINT", str(tmp_path / "none at all"))
    assert f"{tmp_path / 'none at all'}: no such" in vsa("eval", file, "-t", "label").error
    monkeypatch.setenv("VSA_CHECKPOINT", "")
    monkeypatch.setenv("VSA_DEVICE", "tpu")
    error = vsa("label", file, "-t", "label")
    assert error.code == 2
    assert "VSA_DEVICE" in error.error
    assert vsa("label", file, "-t", "label", "--device", "cpu").code == 0


@pytest.mark.parametrize("no_color", ["", "1"])
def test_no_color(write: Write, two_groups: TwoGroups, no_color: str):
    file = write("x.csv", two_groups.csv())
    leader, follower = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLORTERM")} | {"TERM": "xterm-256color"}
    if no_color:
        env["NO_COLOR"] = no_color
    command = [COMMAND, "label", file, "-t", "label"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower, env=env)
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 65536):
            shown += piece
    except OSError:  # the other end is closed and all is read
        pass
    assert running.wait(timeout=60) == 0
    os.close(leader)
    colours = re.findall(rb"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])[;\dm]", shown)
    assert b"classification" in shown
    assert bool(colours) is not bool(no_color)
