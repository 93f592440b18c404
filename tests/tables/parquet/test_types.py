"""A filled Parquet column keeps its type, its categories and the way its values are stored."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.parquet.parquet_files import NOON, check_untouched, fill, parquet
from vsacli.tables.table import ExtraColumn

UTC = dt.UTC
DAY = dt.date(2024, 3, 1)


# a column type, and two different values of it
TYPES = [
    *[(kind, 3, 7) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())],
    *[(kind, 3, 200) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())],
    (pa.float16(), np.float16(0.5), np.float16(2)),
    (pa.float32(), 0.25, 1.5),
    (pa.float64(), 0.1, 1e300),
    (pa.bool_(), True, False),
    (pa.string(), "soft", "hård"),
    (pa.large_string(), "soft", "hard"),
    (pa.string_view(), "soft", "a label longer than a dozen bytes"),
    (pa.binary(), b"a", b"\xff\x00"),
    (pa.large_binary(), b"a", b"b"),
    (pa.binary(3), b"abc", b"xyz"),
    (pa.decimal128(9, 2), decimal.Decimal("1.25"), decimal.Decimal("-99.00")),
    (pa.decimal128(30, 5), decimal.Decimal("1.25"), decimal.Decimal("3")),
    (pa.date32(), DAY, dt.date(1999, 12, 31)),
    (pa.time32("ms"), dt.time(1, 2, 3), dt.time(4, 5, 6)),
    (pa.time64("us"), dt.time(1, 2, 3), dt.time(4, 5, 6)),
    (pa.timestamp("s"), NOON, dt.datetime(1970, 1, 1)),
    (pa.timestamp("ms"), NOON, dt.datetime(1970, 1, 1)),
    (pa.timestamp("us", "Europe/Paris"), NOON.replace(tzinfo=UTC), dt.datetime(1970, 1, 1, tzinfo=UTC)),
    (pa.timestamp("ns"), NOON, dt.datetime(1970, 1, 1)),
    (pa.duration("us"), dt.timedelta(1), dt.timedelta(2)),
    (pa.dictionary(pa.int32(), pa.string()), "soft", "hard"),
    (pa.dictionary(pa.int8(), pa.large_string(), ordered=True), "soft", "hard"),
    (pa.dictionary(pa.int16(), pa.int64()), 3, 7),
]


@pytest.mark.parametrize(("kind", "first", "second"), TYPES, ids=[str(kind) for kind, _, _ in TYPES])
def test_every_type_is_kept(kind: pa.DataType, first, second) -> None:
    given_values = [first, None, second, None, first]
    column = pa.array(given_values, type=kind)
    table = pa.table({"id": pa.array(range(5)), "label": column, "note": ["a", "b", None, "d", "e"]})
    data = parquet(table, row_group_size=2)
    value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    out = fill(data, "label", [1, 3], pa.array([second, first], type=value_type))
    check_untouched(data, out, "label")
    read_back = pq.ParquetFile(io.BytesIO(out)).read()
    stored = pq.ParquetFile(io.BytesIO(data)).read()["label"].type  # Parquet has no seconds
    assert read_back["label"].type == stored
    wanted = pa.array([first, second, second, first, first], type=value_type).cast(
        stored.value_type if pa.types.is_dictionary(stored) else stored
    )
    assert read_back["label"].to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("precision", [5, 15, 25])
def test_decimals_keep_the_way_they_are_stored(store: bool, precision: int) -> None:
    values = [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]
    table = pa.table({"v": pa.array(values, pa.decimal128(precision, 2)), "k": [1, 2, 3]})
    data = parquet(table, store_decimal_as_integer=store)
    out = fill(data, "v", [1], pa.array([decimal.Decimal("7.00")], pa.decimal128(precision, 2)))
    check_untouched(data, out, "v")
    a, b = (pq.ParquetFile(io.BytesIO(x)).schema.column(0) for x in (data, out))
    assert (a.physical_type, a.length, str(a.logical_type)) == (b.physical_type, b.length, str(b.logical_type))
    assert pq.read_table(io.BytesIO(out))["v"].to_pylist() == [values[0], decimal.Decimal("7.00"), values[2]]


def test_int96_timestamps_stay_int96() -> None:
    table = pa.table({"t": pa.array([NOON, None], pa.timestamp("ns")), "label": pa.array([NOON, None])})
    data = parquet(table, use_deprecated_int96_timestamps=True)
    out = fill(data, "label", [1], pa.array([NOON], pa.timestamp("ns")))
    check_untouched(data, out, "label")
    schema = pq.ParquetFile(io.BytesIO(out)).schema
    assert [schema.column(i).physical_type for i in range(2)] == ["INT96", "INT96"]
    assert pq.read_table(io.BytesIO(out))["label"].cast(pa.timestamp("us")).to_pylist() == [NOON, NOON]


def test_a_column_without_nulls_stays_required() -> None:
    schema = pa.schema([pa.field("v", pa.float64(), nullable=False), pa.field("k", pa.int8(), nullable=False)])
    data = parquet(pa.table({"v": [1.0, float("nan")], "k": [1, 2]}, schema=schema))
    out = fill(data, "v", [1], pa.array([2.5]))
    check_untouched(data, out, "v")
    assert pq.read_table(io.BytesIO(out))["v"].to_pylist() == [1.0, 2.5]


def test_each_row_group_keeps_the_order_of_its_dictionary() -> None:
    levels = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, None, 1]), pa.array(["low", "middle", "high"]))
    data = parquet(pa.table({"label": levels}), store_schema=False)
    out = fill(data, "label", [1, 3], pa.array(["middle", "new"]))
    check_untouched(data, out, "label")
    column = pq.ParquetFile(io.BytesIO(out), read_dictionary=["label"]).read()["label"].combine_chunks()
    assert column.to_pylist() == ["high", "middle", "low", "new", "middle"]
    assert column.dictionary.to_pylist() == ["low", "middle", "high", "new"]


def test_ordered_categories_keep_their_order() -> None:
    levels = pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0, None], pa.int8()), pa.array(["low", "middle", "high"]), ordered=True
    )
    data = parquet(pa.table({"k": range(4), "label": levels}))
    out = fill(data, "label", [1, 3], pa.array(["low", "high"]))
    check_untouched(data, out, "label")
    column = pq.read_table(io.BytesIO(out))["label"].combine_chunks()
    assert column.to_pylist() == ["high", "low", "low", "high"]
    assert column.dictionary.to_pylist()[:3] == ["low", "middle", "high"]


def test_more_categories_than_the_index_type_holds() -> None:
    full = pa.array([*map(str, range(128)), None]).cast(pa.dictionary(pa.int8(), pa.string()))
    data = parquet(pa.table({"label": full}), row_group_size=64)
    known = fill(data, "label", [128], pa.array(["7"]))
    check_untouched(data, known, "label")
    new = pq.read_table(io.BytesIO(fill(data, "label", [128], pa.array(["new"]))))
    assert new.schema.field(0).type == pa.dictionary(pa.int32(), pa.string())
    assert new["label"].to_pylist() == [*map(str, range(128)), "new"]


def test_pandas_index_and_types_survive() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], "Int64"),
            "flag": pd.array([True, None, False], "boolean"),
            "label": ["a", None, "b"],
        },
        index=pd.Index(["r1", "r2", "r3"], name="key"),
    )
    sink = io.BytesIO()
    frame.to_parquet(sink)
    extra = [
        ExtraColumn("label_confidence", pa.array([None, 0.75, None])),
        ExtraColumn("why", pa.array(["given", "guess", "given"])),
        ExtraColumn("when", pa.array([DAY] * 3)),
    ]
    out = fill(sink.getvalue(), "label", [1], pa.array(["b"], pa.large_string()), extra)
    expected = frame.assign(
        label=["a", "b", "b"],
        label_confidence=[float("nan"), 0.75, float("nan")],
        why=["given", "guess", "given"],
        when=[DAY] * 3,
    )
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(out)), expected)
    noted = json.loads(pq.read_schema(io.BytesIO(out)).metadata[b"pandas"])
    assert [c["name"] for c in noted["columns"]] == ["n", "flag", "label", "key", "label_confidence", "why"]


@pytest.mark.parametrize(("kind", "first", "second"), TYPES, ids=[str(kind) for kind, _, _ in TYPES])
@pytest.mark.parametrize("noted", [True, False])
def test_a_column_of_type_null_takes_the_type_of_what_is_filled_in(kind: pa.DataType, first, second, noted) -> None:
    table = pa.table({"id": pa.array(range(5), pa.int16()), "label": pa.nulls(5), "note": ["a", "b", None, "d", "e"]})
    data = parquet(table, row_group_size=2, store_schema=noted)
    values = pa.array([second, first], type=kind)
    out = fill(data, "label", [1, 4], values)
    read = pq.read_table(io.BytesIO(out))
    as_written = io.BytesIO()
    pq.write_table(pa.table({"label": values}), as_written, store_schema=noted)
    plain = pq.read_table(as_written)["label"]  # without Arrow's note a duration, for one, is a number
    assert read["label"].type == plain.type
    assert read["label"].to_pylist() == [None, plain[0].as_py(), None, None, plain[1].as_py()]
    assert read.drop_columns("label") == pq.read_table(io.BytesIO(data)).drop_columns("label")
    before, after = (pq.ParquetFile(io.BytesIO(file)).metadata for file in (data, out))
    assert after.num_row_groups == before.num_row_groups == 3
    assert fill(data, "label", [], values[:0]) == data
