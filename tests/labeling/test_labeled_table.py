"""Labels from another table: matching columns, types and decimal marks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.errors import DataError
from vsacli.labeling.labeled_table import LabeledContext, as_type, stack
from vsacli.tables.arrow_types import as_text
from vsacli.tables.read import read_table


def context_of(tmp_path: Path, source: str, table: str, keep: list[bool]) -> LabeledContext:
    (tmp_path / "s.csv").write_text(source, encoding="utf-8")
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    return LabeledContext(read_table(tmp_path / "s.csv"), read_table(tmp_path / "t.csv"), np.array(keep))


def test_columns_match_by_name_in_any_order_and_unicode_form(tmp_path: Path):
    context = context_of(
        tmp_path, "b,Gro\u0308\u00dfe,gone\n1,2,3\n4,5,6\n", "new,Gr\u00f6\u00dfe,b\n7,8,9\n", [True, False]
    )
    assert context.n_rows == 1
    assert context.matched() == [1, 2]
    assert context.stacked(1).to_pylist() == ["2", "8"]
    assert context.stacked(2).to_pylist() == ["1", "9"]
    notes = context.notes("y")
    assert notes[0].startswith("1 labeled row comes from")
    assert [note.rsplit(": ", 1)[1] for note in notes[1:]] == ["new", "gone"]
    assert [note.rsplit(": ", 1)[1] for note in context.notes("gone")[1:]] == ["new"]


def test_equal_names_match_in_order(tmp_path: Path):
    context = context_of(tmp_path, "v,v\n1,2\n", "v,v,v\n3,4,5\n", [True])
    assert [context.stacked(j).to_pylist() for j in context.matched()] == [["1", "3"], ["2", "4"]]
    assert "v" in context.notes("y")[1]


def test_decimal_marks_of_two_files(tmp_path: Path):
    context = context_of(tmp_path, "x;w\n1.234,5;a,b\n2,25;x.y\n", "x;w\n3.5;q\n4.5;r\n", [True, True])
    assert (context.source.decimal, context.table.decimal) == (",", ".")
    assert context.stacked(0).to_pylist() == ["1234.5", "2.25", "3.5", "4.5"]
    assert context.stacked(1).to_pylist() == ["a,b", "x.y", "q", "r"]


def test_target_that_the_table_lacks(tmp_path: Path):
    context = context_of(tmp_path, "x,y\n1,a\n2,b\n", "x\n3\n", [True, True])
    assert not context.table_has("y")
    assert context.stacked_target(1, None).to_pylist() == ["a", "b", ""]


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        (pa.array([1, None], pa.int32()), pa.array([2.5]), [1.0, None, 2.5]),
        (pa.nulls(2), pa.array([True]), [None, None, True]),
        (pa.array(["1"]), pa.nulls(1), ["1", None]),
        (pa.array(["1", ""], pa.large_string()), pa.array([2, None]), ["1", "", "2", ""]),
        (pa.array([[1, 2], None]), pa.array(["x"], pa.large_string()), ["[1, 2]", "", "x"]),
    ],
)
def test_columns_of_two_types(above: pa.Array, below: pa.Array, expected: list):
    assert stack(above, below).to_pylist() == expected


def test_labels_in_the_type_of_the_column():
    labels = pa.array(["7", " ", "8"], pa.large_string())
    assert as_type(labels, pa.int16(), where="a", table="b").to_pylist() == [7, None, 8]
    assert as_type(pa.array([7, None]), pa.large_string(), where="a", table="b").to_pylist() == ["7", ""]
    assert as_text(pa.array([1.5, None])).to_pylist() == ["1.5", ""]
    with pytest.raises(DataError, match=r"labels of given\.csv do not fit .* in\.parquet, which holds int16"):
        as_type(pa.array(["x"]), pa.int16(), where="given.csv", table="in.parquet")


def test_a_target_of_type_null_takes_the_type_of_the_labels(tmp_path: Path):
    pq.write_table(pa.table({"x": [1.0], "y": pa.nulls(1)}), tmp_path / "t.parquet")
    (tmp_path / "s.csv").write_text("x,y\n1,a\n2,\n", encoding="utf-8")
    pq.write_table(pa.table({"x": [1.0], "y": pa.array([7], pa.int16())}), tmp_path / "s.parquet")
    table = read_table(tmp_path / "t.parquet")
    text = LabeledContext(read_table(tmp_path / "s.csv"), table, np.array([True, False])).stacked_target(1, 1)
    assert text.to_pylist() == ["a", ""]
    numbers = LabeledContext(read_table(tmp_path / "s.parquet"), table, np.array([True])).stacked_target(1, 1)
    assert (numbers.type, numbers.to_pylist()) == (pa.int16(), [7, None])
