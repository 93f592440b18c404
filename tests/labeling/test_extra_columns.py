"""The columns that a run adds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from vsacli.labeling.extra_columns import AddedColumns, plain_number, scatter
from vsacli.tables.read import read_table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.012344, "0.01234"),
        (12.346, "12.35"),
        (99999.0, "100000"),
        (1234567.0, "1235000"),
        (3e13, "30000000000000"),
        (1.5e-9, "0.000000001500"),
        (9.9999, "10.000"),
        (-0.5, "-0.5000"),
    ],
)
def test_plain_numbers(value: float, text: str):
    assert plain_number(value) == text


def test_scatter_leaves_the_other_rows_empty():
    rows = np.array([1, 3])
    assert scatter(pa.array(["a", "b"], pa.large_string()), rows, 4).to_pylist() == ["", "a", "", "b"]
    assert scatter(pa.array([0.5, 0.25]), rows, 4).to_pylist() == [None, 0.5, None, 0.25]
    assert scatter(pa.array([], pa.float64()), rows[:0], 2).to_pylist() == [None, None]


def test_names_are_free_and_decimal_marks_the_tables(tmp_path: Path):
    path = tmp_path / "in.csv"
    path.write_text("y;y_std;y_std_2\n1,5;2,5;3,5\n2,5;1,5;1,5\n")
    added = AddedColumns(read_table(path), np.array([1]), as_text=True)
    added.add_numbers("y_std", np.array([0.25]))
    added.add_probabilities("p", np.array([0.5]))
    assert [(column.name, column.values.to_pylist()) for column in added.columns] == [
        ("y_std_3", ["", "0,2500"]),
        ("p", ["", "0,5000"]),
    ]
    assert len(added.notes) == 1
    assert "y_std_3" in added.notes[0]
