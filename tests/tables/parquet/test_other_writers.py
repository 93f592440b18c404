"""Files as other writers leave them, made by changing a footer of Arrow's: what Arrow reads is read and filled."""

from __future__ import annotations

import decimal
import io
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.parquet.parquet_files import chunk_bytes, fill, parquet
from vsacli.errors import DataError
from vsacli.tables.parquet.footer import (
    Chunk,
    Element,
    File,
    Footer,
    Group,
    Meta,
    chunk_span,
    get,
    key_values,
    put,
    read_footer,
)
from vsacli.tables.parquet.storage import as_stored
from vsacli.tables.parquet.table import ParquetTable
from vsacli.tables.parquet.thrift import BINARY, DOUBLE, I32, I64, LIST, STRUCT, Struct, ThriftList, encode
from vsacli.tables.table import ExtraColumn

ELSEWHERE = 10**9
LABELS = ["a", "b", None, "b", None, "a"]


def two_columns() -> pa.Table:
    return pa.table({"x": [0.5, 9.0, 1.0, 8.5, 9.5, 0.0], "label": LABELS})


def with_footer(data: bytes, change: Callable[[Footer], None]) -> bytes:
    """The same file with another footer."""
    footer = read_footer(io.BytesIO(data), "x")
    change(footer)
    meta = encode(footer.meta)
    return data[: footer.start] + meta + len(meta).to_bytes(4, "little") + b"PAR1"


def chunks(footer: Footer) -> Iterator[Struct]:
    for group in footer.groups:
        yield from get(group, Group.COLUMNS)


def metas(footer: Footer) -> Iterator[Struct]:
    return (get(chunk, Chunk.META) for chunk in chunks(footer))


def set_in_all(of: Callable[[Footer], Iterator[Struct]], field: int, kind: int, value: object) -> Callable:
    def change(footer: Footer) -> None:
        for struct in of(footer):
            struct[field] = (kind, value)

    return change


def unknown_fields(footer: Footer) -> None:
    for struct in (footer.meta, *footer.groups, *chunks(footer), *metas(footer)):
        struct[90] = (BINARY, b"new")
        struct[91] = (STRUCT, {1: (I64, -7), 2: (LIST, ThriftList(DOUBLE, [b"\0" * 8]))})


def dictionary_first(footer: Footer) -> None:
    """Some writers give the place of the dictionary as that of the data, and 0 as its own."""
    for meta in metas(footer):
        put(meta, Meta.DATA_PAGE, get(meta, Meta.DICTIONARY_PAGE))
        put(meta, Meta.DICTIONARY_PAGE, 0)


def hollow(at: int) -> Callable[[Footer], None]:
    """A group of no columns in the schema."""

    def change(footer: Footer) -> None:
        schema = get(footer.meta, File.SCHEMA)
        schema.insert(at, {3: (I32, 1), 4: (BINARY, b"hollow"), 5: (I32, 0)})
        put(schema[0], Element.CHILDREN, 3)

    return change


def no_lengths_of_indexes(footer: Footer) -> None:
    for chunk in chunks(footer):
        del chunk[Chunk.OFFSET_INDEX_LENGTH], chunk[Chunk.COLUMN_INDEX_LENGTH]


ODD = {
    "fields that nobody knows": unknown_fields,
    "field 15 of another type": set_in_all(metas, Meta.BLOOM_LENGTH, LIST, ThriftList(STRUCT, [{1: (I32, 1)}])),
    "places of another type": set_in_all(chunks, Chunk.OFFSET_INDEX, BINARY, b"nowhere"),
    "notes of another type": lambda footer: footer.meta.update({File.KEY_VALUES: (BINARY, b"")}),
    "orders of another type": lambda footer: footer.meta.update({File.COLUMN_ORDERS: (I32, 1)}),
    "field 8 of another type": lambda footer: footer.meta.update({File.ENCRYPTION: (I32, 1)}),
    "a place that no reader needs": set_in_all(chunks, Chunk.OFFSET, I64, -1),
    "sizes that no reader needs": set_in_all(lambda footer: iter(footer.groups), Group.SIZE, I64, -1),
    "a dictionary at 0": dictionary_first,
    "an index page at 0": set_in_all(metas, Meta.INDEX_PAGE, I64, 0),
    "a page index beyond the end": set_in_all(chunks, Chunk.OFFSET_INDEX, I64, ELSEWHERE),
    "a page index that is none": set_in_all(chunks, Chunk.OFFSET_INDEX, I64, 4),
    "page indexes without lengths": no_lengths_of_indexes,
    "a filter beyond the end": set_in_all(metas, Meta.BLOOM, I64, ELSEWHERE),
    "the name of no file": set_in_all(chunks, Chunk.FILE_PATH, BINARY, b""),
    "the name of this file": set_in_all(chunks, Chunk.FILE_PATH, BINARY, b"in.parquet"),
    "an empty group, first": hollow(1),
    "an empty group, last": hollow(3),
    "a sum of rows that is 0": lambda footer: put(footer.meta, File.ROWS, 0),
    "a sum of rows that is wrong": lambda footer: put(footer.meta, File.ROWS, 99),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD.keys())
def test_what_arrow_reads_is_read_and_filled(change: Callable[[Footer], None]) -> None:
    plain = parquet(two_columns(), row_group_size=4, write_page_index=True)
    data = with_footer(plain, change)
    expected = pq.ParquetFile(io.BytesIO(data)).read()
    assert expected["label"].to_pylist() == LABELS
    table = ParquetTable(data, "in.parquet")
    assert table.n_rows == 6
    assert table.column(table.find("x")).to_pylist() == two_columns()["x"].to_pylist()
    more = [ExtraColumn("p", pa.array([0.5] * 6))]
    for rows, extra in (([2, 4], []), ([2, 4], more), ([], more), ([4], [])):
        out = fill(data, "label", rows, pa.array(["b"] * len(rows), pa.string()), extra)
        read = pq.ParquetFile(io.BytesIO(out)).read()
        assert read["label"].to_pylist() == ["b" if i in rows else label for i, label in enumerate(LABELS)]
        assert read["x"].to_pylist() == expected["x"].to_pylist()
        assert read.num_rows == pq.ParquetFile(io.BytesIO(out)).metadata.num_rows == 6
        assert chunk_bytes(out)[0][0] == chunk_bytes(plain)[0][0]
        if extra:
            assert read["p"].to_pylist() == [0.5] * 6
            assert pq.read_table(io.BytesIO(out)).column_names[-1] == "p"


def test_an_empty_group_is_a_column_without_values(vsa, tmp_path, two_groups) -> None:
    rows = [line.split(",") for line in two_groups.lines()]
    table = pa.table({"x": [float(row[0]) for row in rows], "label": [row[2] or None for row in rows]})
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(with_footer(parquet(table), hollow(1)))
    result = vsa("label", path, "-t", "label", "-o", out)
    assert result.code == 0, result.stderr
    assert "hollow (each cell holds several values" in result.stderr
    assert pq.ParquetFile(out).read()["label"].to_pylist() == two_groups.truth
    told = vsa("label", path, "-t", "hollow").error
    assert "column 'hollow' holds struct<>, not labels; choose another column with --target" in told
    with pytest.raises(DataError, match="is an empty group and cannot hold labels"):
        fill(path.read_bytes(), "hollow", [0], pa.array(["a"]))


def test_rows_and_repeated_values_are_not_the_same(vsa, tmp_path, two_groups) -> None:
    """Of lists the footer may count no rows: those of the row groups are told."""
    rows = [line.split(",") for line in two_groups.lines()]
    table = pa.table(
        {
            "list": [[i, i + 1] for i in range(len(rows))],
            "x": [float(row[0]) for row in rows],
            "label": [row[2] or None for row in rows],
        }
    )
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(with_footer(parquet(table, row_group_size=7), lambda footer: put(footer.meta, File.ROWS, 0)))
    result = vsa("label", path, "-t", "label", "-o", out, "--confidence")
    assert result.code == 0, result.stderr
    read = pq.read_table(out)
    assert read["label"].to_pylist() == two_groups.truth
    assert read["list"].to_pylist() == table["list"].to_pylist()
    assert pq.ParquetFile(out).metadata.num_rows == len(rows)


def test_files_of_columns_are_told_apart_from_their_names() -> None:
    def away(footer: Footer) -> None:
        for chunk in chunks(footer):
            chunk[Chunk.FILE_PATH] = (BINARY, b"part-0.parquet")
            put(get(chunk, Chunk.META), Meta.DATA_PAGE, ELSEWHERE)
            get(chunk, Chunk.META).pop(Meta.DICTIONARY_PAGE, None)

    with pytest.raises(DataError, match="keeps its columns in other files"):
        ParquetTable(with_footer(parquet(two_columns()), away), "in.parquet")


@pytest.mark.parametrize("extra", [False, True])
def test_lz4_as_hadoop_names_it(vsa, tmp_path, two_groups, extra: bool) -> None:
    """Codec 5 is LZ4 with or without frames around it; Arrow reads both, and writes 7."""
    rows = [line.split(",") for line in two_groups.lines()]
    table = pa.table({"x": [float(row[0]) for row in rows], "label": [row[2] or None for row in rows]})
    data = with_footer(parquet(table, compression="lz4"), set_in_all(metas, Meta.CODEC, I32, 5))
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(data)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "UNKNOWN"
    result = vsa("label", path, "-t", "label", "-o", out, *(["--confidence"] if extra else []))
    assert result.code == 0, result.stderr
    assert pq.read_table(out)["label"].to_pylist() == two_groups.truth
    assert pq.read_table(out)["x"].to_pylist() == table["x"].to_pylist()
    codecs = [get(meta, Meta.CODEC) for meta in metas(read_footer(io.BytesIO(out.read_bytes()), "x"))]
    assert codecs == ([5, 7, 7] if extra else [5, 7])
    only_added = fill(data, "label", [], pa.array([], pa.string()), [ExtraColumn("p", pa.array([0.5] * len(rows)))])
    assert pq.read_table(io.BytesIO(only_added))["label"].to_pylist() == table["label"].to_pylist()


@pytest.mark.parametrize("codec", [3, 99])
def test_what_arrow_cannot_read_is_not_called_damaged(vsa, tmp_path, two_groups, codec: int) -> None:
    rows = [line.split(",") for line in two_groups.lines()]
    table = pa.table({name: [float(row[j]) for row in rows] for j, name in enumerate(("x", "y"))})
    table = table.append_column("label", pa.array([row[2] or None for row in rows]))

    def change(footer: Footer) -> None:
        put(next(metas(footer)), Meta.CODEC, codec)

    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(with_footer(parquet(table, compression="none"), change))
    error = vsa("label", path, "-t", "label", "-o", out).error
    assert f"{path}: Arrow cannot read the column 'x' (" in error
    assert "leave it out with --exclude" in error
    result = vsa("label", path, "-t", "label", "-o", out, "--exclude", "x", "--confidence")
    assert result.code == 0, result.stderr
    assert pq.read_table(out, columns=["label"])["label"].to_pylist() == two_groups.truth


def test_columns_of_lists_are_not_read(vsa, tmp_path, two_groups) -> None:
    """They give no attribute: one that cannot be read, or takes long, is no matter."""
    rows = [line.split(",") for line in two_groups.lines()]
    table = pa.table(
        {
            "notes": pa.array([{"k": str(i)} for i in range(len(rows))]),
            "x": [float(row[0]) for row in rows],
            "label": [row[2] or None for row in rows],
        }
    )
    data = bytearray(parquet(table))
    first, stop = chunk_span(next(chunks(read_footer(io.BytesIO(data), "x"))))
    data[first:stop] = b"\xff" * (stop - first)
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    path.write_bytes(data)
    result = vsa("label", path, "-t", "label", "-o", out)
    assert result.code == 0, result.stderr
    assert "notes (each cell holds several values (a list or a record))" in result.stderr
    assert pq.read_table(out, columns=["label"])["label"].to_pylist() == two_groups.truth


def stored_wide(values: list[decimal.Decimal | None], kind: pa.DataType, stored: pa.DataType) -> bytes:
    """A file of decimals in bytes or integers of another width than Arrow's, as other writers have it."""
    cells = pa.array(values, kind)
    plain = parquet(pa.table({"v": cells}), store_schema=False)
    (element,) = get(read_footer(io.BytesIO(plain), "x").meta, File.SCHEMA)[1:]
    data = parquet(pa.table({"v": as_stored(cells, stored)}), store_schema=False, row_group_size=2)

    def change(footer: Footer) -> None:
        schema = get(footer.meta, File.SCHEMA)
        schema[1] = dict(sorted({**element, **{f: schema[1][f] for f in (1, 2) if f in schema[1]}}.items()))
        if 2 not in get(read_footer(io.BytesIO(data), "x").meta, File.SCHEMA)[1]:
            schema[1].pop(2, None)

    return with_footer(data, change)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (pa.decimal128(3, 2), pa.binary(16)),
        (pa.decimal128(3, 2), pa.binary(2)),
        (pa.decimal128(3, 2), pa.binary(40)),
        (pa.decimal128(3, 2), pa.binary()),
        (pa.decimal128(3, 2), pa.int64()),
        (pa.decimal128(3, 2), pa.int32()),
        (pa.decimal128(30, 2), pa.binary(16)),
        (pa.decimal256(50, 2), pa.binary(32)),
        (pa.decimal256(50, 2), pa.binary()),
    ],
    ids=str,
)
def test_decimals_keep_their_width(kind: pa.DataType, stored: pa.DataType) -> None:
    values = [decimal.Decimal("1.50"), None, decimal.Decimal("-2.25"), None, decimal.Decimal("0.01")]
    data = stored_wide(values, kind, stored)
    before = pq.ParquetFile(io.BytesIO(data))
    if str(stored) != "fixed_size_binary[40]":
        assert before.read()["v"].to_pylist() == values
    else:
        with pytest.raises(pa.ArrowException):
            before.read()
        return
    filled = [decimal.Decimal("-9.99"), decimal.Decimal("7.00")]
    out = fill(data, "v", [1, 3], pa.array(filled, kind))
    after = pq.ParquetFile(io.BytesIO(out))
    a, b = (file.schema.column(0) for file in (before, after))
    assert (a.physical_type, a.length, str(a.logical_type)) == (b.physical_type, b.length, str(b.logical_type))
    assert after.read()["v"].to_pylist() == [values[0], filled[0], values[2], filled[1], values[4]]
    told = after.metadata.row_group(0).column(0).statistics
    assert (told.min, told.max, told.null_count) == (filled[0], values[0], 0)


def test_uint32_of_format_1_stays_int64() -> None:
    table = pa.table({"label": pa.array([4_000_000_000, None, 5, 6], pa.uint32())})
    data = parquet(table, version="1.0", row_group_size=2)
    out = fill(data, "label", [1], pa.array([4_000_000_001], pa.uint32()))
    assert pq.ParquetFile(io.BytesIO(out)).schema.column(0).physical_type == "INT64"
    assert chunk_bytes(out)[1] == chunk_bytes(data)[1]
    assert pq.read_table(io.BytesIO(out))["label"].to_pylist() == [4_000_000_000, 4_000_000_001, 5, 6]


def test_notes_without_a_value_stay() -> None:
    def change(footer: Footer) -> None:
        get(footer.meta, File.KEY_VALUES).append({1: (BINARY, b"empty")})

    data = with_footer(parquet(two_columns()), change)
    out = fill(data, "label", [2], pa.array(["b"]), [ExtraColumn("p", pa.array([0.5] * 6))])
    assert key_values(read_footer(io.BytesIO(out), "x"))[b"empty"] == {1: (BINARY, b"empty")}
