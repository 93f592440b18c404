"""A table of two groups in Parquet parts, with an evident answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.labeling.parts.engines import Engine, here
from vsacli.labeling.parts.run import label_folder
from vsacli.labeling.run import LabelOptions, LabelReport

MakeParts = Callable[..., Path]
LabelParts = Callable[..., LabelReport]


@pytest.fixture
def make_parts(tmp_path: Path) -> MakeParts:
    """Write parts of `rows` rows each; `truth` says the class of a row, every third label is given."""

    def make(
        parts: int = 3, rows: int = 12, *, folder: str = "in", names: tuple[str, ...] = ("a", "b"), **changes: Any
    ) -> Path:
        rng = np.random.default_rng(3)
        where = tmp_path / folder
        where.mkdir()
        for p in range(parts):
            code = np.arange(rows) % 2
            given = np.arange(rows) % 6 < 2
            table = pa.table(
                {
                    "x": np.where(code == 0, 1.0, 9.0) + rng.normal(0, 0.4, rows),
                    "word": pa.array(np.array(["low", "high"])[code]),
                    "truth": pa.array(code, pa.int8()),
                    "y": pa.array([names[c] if g else None for c, g in zip(code, given, strict=True)]),
                }
            )
            for name, change in changes.items():
                column = change(p, table)
                table = (
                    table.append_column(name, column)
                    if name not in table.column_names
                    else table.set_column(table.column_names.index(name), name, column)
                )
            pq.write_table(table, where / f"part-{p}.parquet", row_group_size=5)
        return where

    return make


def options(**changes: Any) -> LabelOptions:
    return LabelOptions(**{"target": "y", "exclude": ("truth",), "device": "cpu", **changes})


@pytest.fixture
def label_parts(tmp_path: Path) -> LabelParts:
    """Label a folder into `out` below the test's own folder."""

    def run(folder: Path, out: str = "out", *, engine: Engine = here, **changes: Any) -> LabelReport:
        keep = {key: changes.pop(key) for key in ("labeled", "labeled_paths") if key in changes}
        return label_folder(str(folder), str(tmp_path / out), options(**changes), engine=engine, **keep)

    return run


def bytes_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their names below it."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
