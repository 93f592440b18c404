"""A table of so many rows that a student of the network answers most of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import Vsa
from tests.tiny import tiny_model
from vsacli.checkpoints.folder import save_checkpoint

Write = Callable[[str, bytes], Path]
ROWS = 67_000


def test_most_rows_of_a_very_long_table_are_answered_by_a_student(vsa: Vsa, write: Write, tmp_path: Path):
    save_checkpoint(tmp_path / "tiny", tiny_model(), {}, "# Card\n")
    rng = np.random.default_rng(0)
    group = np.arange(ROWS) % 2
    x = np.round(rng.normal(size=ROWS) + 8 * group, 9)
    names = np.where(np.arange(ROWS) < 8, np.where(group == 1, "b", "a"), "")
    file = write("long.csv", ("x,label\n" + "\n".join(f"{v},{n}" for v, n in zip(x, names, strict=True))).encode())
    out = tmp_path / "out.csv"
    result = vsa("label", file, "-t", "label", "--checkpoint", tmp_path / "tiny", "-o", out, "--json", "-")
    assert result.code == 0, result.stderr
    record = json.loads(result.stdout)
    assert ROWS / 2 < record["student_rows"] < ROWS
    assert record["filled"] == ROWS - 8
    assert f"{record['student_rows']:,} rows by a small network that imitates the large one" in " ".join(
        result.stderr.split()
    )
    lines = out.read_text().splitlines()
    assert len(lines) == ROWS + 1
    assert all(line.endswith((",a", ",b")) for line in lines[1:])


def test_the_network_answers_every_row_if_asked_to(vsa: Vsa, write: Write, tmp_path: Path):
    save_checkpoint(tmp_path / "tiny", tiny_model(), {}, "# Card\n")
    x = np.arange(ROWS)
    rows = [f"{v},{'ab'[v % 2] if v < 8 else ''}" for v in x]
    file = write("long.csv", ("x,label\n" + "\n".join(rows)).encode())
    options = ("--exact", "--checkpoint", tmp_path / "tiny", "-o", tmp_path / "out.csv", "--json", "-")
    result = vsa("label", file, "-t", "label", *options)
    assert result.code == 0, result.stderr
    assert json.loads(result.stdout)["student_rows"] == 0


def test_rows_that_students_answer_are_counted_over_the_parts_of_a_folder(vsa: Vsa, tmp_path: Path):
    save_checkpoint(tmp_path / "tiny", tiny_model(), {}, "# Card\n")
    (tmp_path / "parts").mkdir()
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        group = np.arange(ROWS) % 2
        label = [("b" if g else "a") if name == "a" and i < 8 else None for i, g in enumerate(group)]
        part = pa.table({"x": rng.normal(size=ROWS) + 8 * group, "label": pa.array(label, pa.string())})
        pq.write_table(part, tmp_path / "parts" / f"{name}.parquet")
    options = ("--checkpoint", tmp_path / "tiny", "-o", tmp_path / "out", "--json", tmp_path / "run.json")
    result = vsa("label", tmp_path / "parts", "-t", "label", *options)
    assert result.code == 0, result.stderr
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["filled"] == 2 * ROWS - 8
    assert ROWS < record["student_rows"] < record["filled"]
