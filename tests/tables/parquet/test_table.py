"""A Parquet file as a table: reading it, filling it, columns added to it."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables.parquet.parquet_files import LAYOUTS, check_untouched, fill, labels, parquet, wide_table
from vsacli.errors import DataError, UsageError
from vsacli.tables.parquet.table import ParquetTable
from vsacli.tables.table import ExtraColumn
from vsacli.target.column import read_target


@pytest.mark.parametrize("store_schema", [True, False])
def test_added_columns_follow_the_others(store_schema: bool) -> None:
    data = parquet(wide_table(), row_group_size=5, store_schema=store_schema, write_page_index=True)
    p = pa.array(np.linspace(0, 1, 12))
    word = pa.array(["w"] * 11 + [None])
    for rows, values in (([2], ["hard"]), ([], [])):
        out = fill(data, "label", rows, pa.array(values, pa.string()), [ExtraColumn("p", p), ExtraColumn("w", word)])
        check_untouched(data, out, "label", n_extra=2)
        file = pq.ParquetFile(io.BytesIO(out))
        assert file.schema_arrow.names == [*wide_table().column_names, "p", "w"]
        assert file.schema_arrow.field("p").type == pa.float64()
        assert file.read()["p"].combine_chunks().equals(p)
        assert file.read()["w"].to_pylist() == word.to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_added_columns_may_be_left_out_again(layout: dict) -> None:
    data = parquet(wide_table(), **layout)
    extra = [ExtraColumn("p", pa.array(np.linspace(0, 1, 12))), ExtraColumn("q", pa.array([None, 0.5] * 6))]
    added = fill(data, "label", [2], pa.array(["hard"]), extra)
    for rows, values in (([5], ["soft"]), ([], [])):
        for more in ([], [ExtraColumn("p", pa.array([0.25] * 12))]):
            sink = io.BytesIO()
            table = ParquetTable(added, "in.parquet")
            places = np.array(rows, np.int64), pa.array(values, pa.string())
            table.write(sink, table.find("label"), *places, more, without=[table.find("p"), table.find("q")])
            out = sink.getvalue()
            check_untouched(data, out, "label", n_extra=len(more))
            assert len(out) < len(added) + 1000
            read = pq.read_table(io.BytesIO(out))
            assert read.column_names == [*wide_table().column_names, *(column.name for column in more)]
            filled = {2: "hard", **dict(zip(rows, values, strict=True))}
            wanted = [filled.get(i, label) for i, label in enumerate(labels().to_pylist())]
            assert read["label"].to_pylist() == wanted


def test_columns_before_others_may_be_left_out() -> None:
    frame = pd.DataFrame({"a": [1, 2], "label": ["x", None], "b": [3.0, 4.0]})
    sink = io.BytesIO()
    frame.to_parquet(sink)
    table = ParquetTable(sink.getvalue(), "in.parquet")
    out = io.BytesIO()
    table.write(out, 1, np.array([1]), pa.array(["y"]), without=[0])
    pd.testing.assert_frame_equal(
        pd.read_parquet(io.BytesIO(out.getvalue())), frame.assign(label=["x", "y"])[["label", "b"]]
    )


def test_added_column_of_a_name_that_is_there() -> None:
    data = parquet(wide_table())
    with pytest.raises(UsageError, match="'level'"):
        fill(data, "label", [2], pa.array(["a"]), [ExtraColumn("level", pa.array([0.0] * 12))])


def test_columns_of_the_same_name_are_told_apart_by_place() -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array(["a", None]), pa.array([3, 4])], ["x", "label", "x"])
    data = parquet(table)
    read = ParquetTable(data, "in.parquet")
    assert read.columns == ["x", "label", "x"]
    assert [read.column(j).to_pylist() for j in range(3)] == [[1, 2], ["a", None], [3, 4]]
    with pytest.raises(UsageError, match="2 columns are called 'x'"):
        read.find("x")
    out = ParquetTable(fill(data, "label", [1], pa.array(["b"])))
    assert [out.column(j).to_pylist() for j in range(3)] == [[1, 2], ["a", "b"], [3, 4]]


def test_reading_columns(tmp_path) -> None:
    path = tmp_path / "in.parquet"
    table = wide_table()
    path.write_bytes(parquet(table, row_group_size=5))
    read = ParquetTable(path)
    assert (read.n_rows, read.columns, read.decimal) == (12, table.column_names, ".")
    assert (read.name, read.where(0), read.is_text) == (str(path), "row 1", False)
    for j in range(table.num_columns):
        assert read.column(j).to_pylist() == table.column(j).to_pylist()
        assert isinstance(read.column(j), pa.Array)
    assert ParquetTable(bytearray(path.read_bytes())).column(2).to_pylist() == labels().to_pylist()


def test_memory_that_lacks_is_not_told_as_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ParquetTable(parquet(pa.table({"x": [1, 2]})))

    def full(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pq, "ParquetFile", full)
    with pytest.raises(MemoryError):
        table.column(0)


def test_a_table_without_rows() -> None:
    data = parquet(
        pa.table({"x": pa.array([], pa.int64()), "label": pa.array([], pa.dictionary(pa.int8(), pa.string()))})
    )
    table = ParquetTable(data, "in.parquet")
    assert table.n_rows == 0
    assert table.column(1).to_pylist() == []


def test_a_column_of_nulls_only_has_no_label() -> None:
    table = ParquetTable(parquet(pa.table({"x": [1, 2], "label": pa.nulls(2)})), "in.parquet")
    with pytest.raises(DataError, match="'label' has no label"):
        read_target(table.column(1), name="label")


CELLS = {
    pa.string(): st.text(max_size=5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.list_(pa.int32()): st.lists(st.none() | st.integers(-9, 9), max_size=3),
    pa.dictionary(pa.int16(), pa.string()): st.sampled_from("abc"),
}
FLAT = [kind for kind in CELLS if not pa.types.is_list(kind)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_table_with_any_cells_filled(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40), "rows")
    kinds = data.draw(st.lists(st.sampled_from(list(CELLS)), max_size=4), "kinds")
    j = data.draw(st.integers(0, len(kinds)), "target")
    kinds.insert(j, data.draw(st.sampled_from(FLAT), "target kind"))
    columns = [
        pa.array(data.draw(st.lists(st.none() | CELLS[kind], min_size=n, max_size=n)), type=kind) for kind in kinds
    ]
    names = [f"c{i}" for i in range(len(kinds))]
    before = parquet(
        pa.Table.from_arrays(columns, names),
        row_group_size=data.draw(st.integers(1, n), "row group"),
        compression=data.draw(st.sampled_from(["none", "snappy", "zstd"])),
        write_page_index=data.draw(st.booleans(), "index"),
        data_page_version=data.draw(st.sampled_from(["1.0", "2.0"])),
    )
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1)), "filled"))
    value_type = kinds[j].value_type if pa.types.is_dictionary(kinds[j]) else kinds[j]
    values = data.draw(st.lists(CELLS[kinds[j]], min_size=len(rows), max_size=len(rows)), "values")
    after = fill(before, names[j], rows, pa.array(values, type=value_type))
    check_untouched(before, after, names[j])
    expected = columns[j].to_pylist()
    for row, value in zip(rows, values, strict=True):
        expected[row] = value
    assert pq.read_table(io.BytesIO(after))[names[j]].to_pylist() == expected
