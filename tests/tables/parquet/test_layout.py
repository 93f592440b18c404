"""A Parquet file that is filled keeps its row groups, pages, indexes, filters and all bytes of its other columns."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.parquet.parquet_files import (
    LAYOUTS,
    check_untouched,
    chunk_bytes,
    fill,
    labels,
    parquet,
    wide_table,
)
from vsacli.tables.parquet.footer import get, read_footer
from vsacli.tables.parquet.thrift import decode, encode
from vsacli.tables.table import ExtraColumn


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("first", [True, False], ids=["target first", "target inside"])
def test_layout_is_kept(layout: dict, first: bool) -> None:
    table = wide_table()
    if first:
        table = table.select(["label", *[name for name in table.column_names if name != "label"]])
    table = table.replace_schema_metadata({"origin": "field survey", "ünï": "✓"})
    data = parquet(table, **layout)
    rows = [i for i in range(12) if i % 3 == 2]
    out = fill(data, "label", rows, pa.array(["hard"] * len(rows)))
    check_untouched(data, out, "label")
    assert pq.read_table(io.BytesIO(out))["label"].to_pylist() == [
        "hard" if label is None else label for label in labels().to_pylist()
    ]


def test_page_indexes_of_the_other_columns_point_at_their_pages() -> None:
    table = wide_table()
    data = parquet(table, write_page_index=True, data_page_size=1, write_batch_size=2, row_group_size=6)
    out = fill(data, "label", [2, 5, 8, 11], pa.array(["a much longer label than before, " * 9] * 4))
    before, after = read_footer(io.BytesIO(data), "a"), read_footer(io.BytesIO(out), "b")
    compared = 0
    for old_group, new_group in zip(before.groups, after.groups, strict=True):
        for j, (old, new) in enumerate(zip(get(old_group, 1), get(new_group, 1), strict=True)):
            if get(get(old, 3), 3) == [b"label"]:
                assert 4 not in new
                assert 6 not in new
                continue
            old_pages, _ = decode(data, get(old, 4))
            new_pages, _ = decode(out, get(new, 4))
            for x, y in zip(get(old_pages, 1), get(new_pages, 1), strict=True):
                size = get(x, 2)
                assert data[get(x, 1) :][:size] == out[get(y, 1) :][:size]
                compared += 1
            length = get(old, 7)
            assert data[get(old, 6) :][:length] == out[get(new, 6) :][:length], j
    assert compared > 20


def test_bloom_filters_of_the_other_columns_stay_and_the_targets_goes() -> None:
    table = pa.table({"label": labels(), "k": [str(i) for i in range(12)]})
    options = {"label": {"ndv": 10, "fpp": 0.1}, "k": {"ndv": 50, "fpp": 0.1}}
    data = parquet(table, bloom_filter_options=options)
    before = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    assert before.column(0).bloom_filter_offset is not None
    out = fill(data, "label", [2], pa.array(["a label that the filter does not know"]))
    after = pq.ParquetFile(io.BytesIO(out)).metadata.row_group(0)
    assert after.column(0).bloom_filter_offset is None
    old, new, size = (
        before.column(1).bloom_filter_offset,
        after.column(1).bloom_filter_offset,
        before.column(1).bloom_filter_length,
    )
    assert data[old : old + size] == out[new : new + size]


def test_only_row_groups_with_a_filled_cell_are_written_anew() -> None:
    data = parquet(wide_table(), row_group_size=4)
    out = fill(data, "label", [5], pa.array(["hard"]))
    old, new = chunk_bytes(data), chunk_bytes(out)
    assert old[0] == new[0]
    assert old[2] == new[2]
    assert old[1] != new[1]


def test_a_sort_order_by_the_target_is_no_longer_claimed() -> None:
    table = pa.table({"label": ["a", "b", None], "k": [1, 2, 3]})
    by_label = parquet(table, sorting_columns=[pq.SortingColumn(0)])
    by_k = parquet(table, sorting_columns=[pq.SortingColumn(1)])
    sorting = [
        pq.ParquetFile(io.BytesIO(fill(data, "label", [2], pa.array(["a"])))).metadata.row_group(0).sorting_columns
        for data in (by_label, by_k)
    ]
    assert sorting == [(), (pq.SortingColumn(1),)]


def test_nothing_to_fill_gives_the_same_bytes() -> None:
    data = parquet(wide_table())
    assert fill(data, "label", [], pa.array([], pa.string())) == data


def test_empty_row_groups_stay() -> None:
    sink = io.BytesIO()
    schema = pa.schema([("x", pa.int64()), ("label", pa.string())])
    with pq.ParquetWriter(sink, schema) as writer:
        for n in (0, 2, 0, 1):
            writer.write_table(pa.table({"x": range(n), "label": [None] * n}, schema=schema))
    data = sink.getvalue()
    extra = [ExtraColumn("p", pa.array([0.5, None, 0.25]))]
    out = fill(data, "label", [0, 2], pa.array(["a", "b"]), extra)
    check_untouched(data, out, "label", n_extra=1)
    table = pq.read_table(io.BytesIO(out))
    assert table.to_pydict() == {"x": [0, 1, 0], "label": ["a", None, "b"], "p": [0.5, None, 0.25]}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_metadata_decoded_and_encoded_are_the_same(layout: dict) -> None:
    data = parquet(wide_table(), **layout)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    struct, end = decode(data, start)
    assert end == len(data) - 8
    assert encode(struct) == data[start:end]
