"""Parquet files for tests, and what must be the same in two of them."""

from __future__ import annotations

import datetime as dt
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vsacli.tables.parquet.footer import chunk_span, get, read_footer
from vsacli.tables.parquet.table import ParquetTable

NOON = dt.datetime(2024, 3, 1, 12, 30, 15)


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
