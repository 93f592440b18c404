"""A Parquet file comes back as it was, but for the filled cells of one column."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.errors import DataError, InputError, UsageError, VsaError
from vsacli.tables.parquetfile import ParquetTable
from vsacli.tables.parquetmeta import chunk_span, get, read_footer
from vsacli.tables.table import ExtraColumn
from vsacli.tables.target import read_target
from vsacli.tables.thrift import decode, encode


def parquet(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def fill(data: bytes, target: str, rows, values: pa.Array, extra=()) -> bytes:
    table = ParquetTable(data, "in.parquet")
    sink = io.BytesIO()
    table.write(sink, table.find(target), np.asarray(rows, dtype=np.int64), values, extra)
    return sink.getvalue()


def chunk_bytes(data: bytes) -> list[list[bytes]]:
    """The bytes of every column chunk, by row group."""
    footer = read_footer(io.BytesIO(data), "x")
    return [[data[slice(*chunk_span(chunk))] for chunk in get(group, 1)] for group in footer.groups]


def check_untouched(before: bytes, after: bytes, target: str, n_extra: int = 0) -> None:
    """Everything but the target's values is as it was, down to the bytes of the other columns."""
    a, b = pq.ParquetFile(io.BytesIO(before)), pq.ParquetFile(io.BytesIO(after))
    j = a.schema_arrow.names.index(target)
    assert [group.num_rows for group in groups(a)] == [group.num_rows for group in groups(b)]
    if n_extra == 0:
        assert a.schema_arrow.equals(b.schema_arrow, check_metadata=True)
        assert a.metadata.metadata == b.metadata.metadata
    assert a.metadata.created_by == b.metadata.created_by
    leaf = next(i for i, path in enumerate(paths(a)) if path.split(".")[0] == target)
    for old, new in zip(chunk_bytes(before), chunk_bytes(after), strict=True):
        assert len(new) == len(old) + n_extra
        assert [c for i, c in enumerate(old) if i != leaf] == [c for i, c in enumerate(new[: len(old)]) if i != leaf]
    for old, new in zip(groups(a), groups(b), strict=True):
        assert [old.column(i).compression for i in range(old.num_columns)] == [
            new.column(i).compression for i in range(old.num_columns)
        ]
        # what the footer says of the sizes is what lies there
        assert new.total_byte_size == sum(new.column(i).total_uncompressed_size for i in range(new.num_columns))
    old, new = a.read(), b.read()
    for i, name in enumerate(old.column_names):
        if i != j:
            assert old.column(i).equals(new.column(i)), name


def groups(file: pq.ParquetFile):
    return [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]


def paths(file: pq.ParquetFile) -> list[str]:
    return [file.schema.column(i).path for i in range(len(file.schema.names))]


UTC = dt.UTC
DAY = dt.date(2024, 3, 1)
NOON = dt.datetime(2024, 3, 1, 12, 30, 15)

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


def labels(n: int = 12) -> pa.Array:
    return pa.array([("soft", "hard", None)[i % 3] for i in range(n)])


def wide_table(n: int = 12) -> pa.Table:
    """Columns of kinds that a round trip through pandas or Arrow tends to change."""
    return pa.table(
        {
            "nested": pa.array([{"a": [i, None], "b": {"c": str(i)}} for i in range(n)]),
            "id.with.dots": pa.array([2**62 + i for i in range(n)]),
            "label": labels(n),
            "when": pa.array([NOON] * n, pa.timestamp("ns", "UTC")),
            "price": pa.array([decimal.Decimal(i) / 4 for i in range(n)], pa.decimal128(12, 2)),
            "level": pa.array(["low", "high"] * (n // 2)).dictionary_encode(),
            "pairs": pa.array([[("k", i)] for i in range(n)], pa.map_(pa.string(), pa.int8())),
        }
    )


LAYOUTS = {
    "default": {},
    "row groups": {"row_group_size": 5},
    "a codec per column": {
        "compression": {"nested.a.list.element": "zstd", "label": "gzip", "level": "none", "when": "brotli"},
    },
    "lz4": {"compression": "lz4", "row_group_size": 4},
    "page index": {"write_page_index": True, "row_group_size": 5},
    "small pages, page index": {"write_page_index": True, "data_page_size": 1, "write_batch_size": 2},
    "pages of version 2": {"data_page_version": "2.0", "write_page_checksum": True},
    "no dictionary": {"use_dictionary": False, "write_statistics": False},
    "format 1.0": {"version": "1.0"},
    "no Arrow schema": {"store_schema": False},
}


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


def test_a_storage_that_arrow_does_not_write_changes_in_all_row_groups() -> None:
    # format 1.0 has no uint32: such files hold int64, and Arrow now writes int32
    table = pa.table({"label": pa.array([4_000_000_000, None, 5, 6], pa.uint32()), "k": range(4)})
    data = parquet(table, version="1.0", row_group_size=1)
    assert pq.ParquetFile(io.BytesIO(data)).schema.column(0).physical_type == "INT64"
    out = fill(data, "label", [1], pa.array([4_000_000_001], pa.uint32()))
    check_untouched(data, out, "label")
    assert pq.read_table(io.BytesIO(out))["label"].to_pylist() == [4_000_000_000, 4_000_000_001, 5, 6]


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


BAD = {
    "cut off": (lambda data: data[:-100], InputError, "cut off"),
    "cut to its start": (lambda data: data[:6], InputError, "cut off"),
    "not Parquet": (lambda data: b"a,b\n1,2\n" * 9, DataError, "no Parquet"),
    "encrypted": (lambda data: b"PARE" + data[4:-4] + b"PARE", DataError, "encrypted"),
    "length of the footer": (lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1", DataError, "damaged"),
    "footer of zeros": (lambda data: data[:-60] + b"\xff" * 52 + data[-8:], DataError, "damaged"),
    "empty footer": (lambda data: b"PAR1" + b"\x00" * 5 + b"\x01\x00\x00\x00PAR1", DataError, "damaged"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_is_no_parquet_file_gets_one_line(case, tmp_path) -> None:
    spoil, error, words = case
    data = spoil(parquet(wide_table()))
    path = tmp_path / "in.parquet"
    path.write_bytes(data)
    for source in (data, path):
        with pytest.raises(error, match=words) as caught:
            ParquetTable(source, "in.parquet")
        assert str(caught.value).startswith("in.parquet: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_columns_are_refused(plaintext_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def wrap_key(self, key_bytes, _):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, _):
            return base64.b64decode(wrapped_key)

    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["label"]}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    sink = io.BytesIO()
    schema = pa.schema([("label", pa.string())])
    with pq.ParquetWriter(sink, schema, encryption_properties=properties) as writer:
        writer.write_table(pa.table({"label": ["a", None]}))
    with pytest.raises(DataError, match="encrypted"):
        ParquetTable(sink.getvalue())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_spoiled_bytes_end_in_our_errors_only(data: st.DataObject) -> None:
    spoiled = bytearray(parquet(wide_table(), row_group_size=5, write_page_index=True))
    footer = int.from_bytes(spoiled[-8:-4], "little")
    start = len(spoiled) - 8 - footer if data.draw(st.booleans(), "footer only") else 0
    for at in data.draw(st.lists(st.integers(start, len(spoiled) - 5), min_size=1, max_size=4), "where"):
        spoiled[at] = data.draw(st.integers(0, 255), "byte")
    try:
        table = ParquetTable(spoiled, "in.parquet")
        j = table.find("label")
        table.column(j)
        table.write(io.BytesIO(), j, np.array([2]), pa.array(["hard"]))
    except VsaError as error:
        message = str(error)
    else:
        message = ""
    assert "\n" not in message


def test_text_that_is_not_utf8_names_the_column_and_is_copied_unread() -> None:
    latin = pa.array([b"caf\xe9", b"th\xe9"], pa.binary()).view(pa.string())
    data = parquet(pa.table({"drink": latin, "label": ["a", None]}))
    table = ParquetTable(data, "in.parquet")
    with pytest.raises(DataError, match="column 'drink' holds"):
        table.column(0)
    out = fill(data, "label", [1], pa.array(["a"]))
    assert chunk_bytes(data)[0][0] == chunk_bytes(out)[0][0]


def test_damaged_data_name_the_column() -> None:
    data = bytearray(parquet(pa.table({"k": range(3), "label": ["a", None, "b"]})))
    start, end = chunk_span(get(read_footer(io.BytesIO(data), "x").groups[0], 1)[1])
    data[start:end] = b"\xff" * (end - start)
    table = ParquetTable(data, "in.parquet")
    assert table.column(0).to_pylist() == [0, 1, 2]
    with pytest.raises(DataError, match=r"in\.parquet: the data of column 'label' are damaged"):
        table.column(1)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_metadata_decoded_and_encoded_are_the_same(layout: dict) -> None:
    data = parquet(wide_table(), **layout)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    struct, end = decode(data, start)
    assert end == len(data) - 8
    assert encode(struct) == data[start:end]


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
