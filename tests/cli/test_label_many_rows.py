"""A table of so many rows that a student of the network answers most of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.conftest import Vsa
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint

Write = Callable[[str, bytes], Path]
ROWS = 67_000


def test_most_rows_of_a_very_long_table_are_answered_by_trees(vsa: Vsa, write: Write, tmp_path: Path):
    save_checkpoint(tmp_path / "tiny", tiny_model(), {}, "# Card\n")
    rng = np.random.default_rng(0)
    group = np.arange(ROWS) % 2
    x = np.round(rng.normal(size=ROWS) + 8 * group, 9)
    names = np.where(np.arange(ROWS) < 8, np.where(group == 1, "b", "a"), "")
    file = write("long.csv", ("x,label\n" + "\n".join(f"{v},{n}" for v, n in zip(x, names, strict=True))).encode())
    out = tmp_path / "out.csv"
    result = vsa("label", file, "-t", "label", "--fast", "--checkpoint", tmp_path / "tiny", "-o", out, "--json", "-")
    assert result.code == 0, result.stderr
    record = json.loads(result.stdout)
    assert ROWS / 4 < record["student_rows"] < ROWS
    assert record["filled"] == ROWS - 8
    assert f"{record['student_rows']:,} rows by trees that imitate the network" in " ".join(result.stderr.split())
    lines = out.read_text().splitlines()
    assert len(lines) == ROWS + 1
    assert all(line.endswith((",a", ",b")) for line in lines[1:])


def test_parts_of_a_folder_have_no_student(vsa: Vsa, tmp_path: Path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.parquet").write_bytes(b"")
    result = vsa("label", tmp_path / "parts", "-t", "label", "--fast", "-o", tmp_path / "out")
    assert result.code == 2
    assert "--fast is for one file" in result.stderr
