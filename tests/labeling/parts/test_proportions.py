"""Known proportions are those of the whole folder: a part has shares of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.labeling.parts.conftest import LabelParts
from vsacli.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The second of two parts has most of the rows of class b; the first has the labels, three of each class."""
    rng = np.random.default_rng(3)
    code = np.concatenate([np.arange(60) % 10 == 0, np.arange(60) % 2 == 0]).astype(int)
    x = rng.normal(0, 1, (120, 2)) + 2 * code[:, None]
    given = np.isin(np.arange(120), [0, 10, 20, 1, 2, 3])
    y = [["a", "b"][c] if g else None for c, g in zip(code, given, strict=True)]
    (tmp_path / "in").mkdir()
    for p, rows in enumerate((slice(60), slice(60, 120))):
        part = pa.table({"u": x[rows, 0], "v": x[rows, 1], "y": pa.array(y[rows], pa.string())})
        pq.write_table(part, tmp_path / "in" / f"{p}.parquet")
    return tmp_path / "in"


def test_the_whole_folder_has_the_shares_and_no_part_is_forced_to(
    folder: Path, label_parts: LabelParts, tmp_path: Path
):
    report = label_parts(folder, exclude=(), proba=True, proportions={"a": 0.8, "b": 0.2})
    assert report.assumed == pytest.approx({"a": 0.8, "b": 0.2})
    parts = [pq.read_table(tmp_path / "out" / f"{p}.parquet").to_pandas() for p in (0, 1)]
    means = [part["y_proba_b"].fillna((part["y"] == "b").astype(float)).mean() for part in parts]
    assert np.mean(means) == pytest.approx(0.2, abs=0.03)  # parts are read apart, so answers are not those of the plan
    assert means[1] > means[0] + 0.1
    plain = label_parts(folder, "plain", exclude=())
    assert plain.assumed == {}
    assert plain.filled["b"] > report.filled["b"]


def test_a_class_that_no_part_has_is_refused(folder: Path, label_parts: LabelParts):
    with pytest.raises(UsageError, match="class 'c'"):
        label_parts(folder, exclude=(), proportions={"a": 0.8, "c": 0.2})
