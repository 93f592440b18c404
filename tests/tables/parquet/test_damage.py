"""Parquet files that are cut off, damaged, encrypted or none: one line each, and nothing but our errors."""

from __future__ import annotations

import base64
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables.parquet.parquet_files import chunk_bytes, fill, parquet, wide_table
from vsacli.errors import DataError, InputError, VsaError
from vsacli.tables.parquet.footer import chunk_span, get, read_footer
from vsacli.tables.parquet.table import ParquetTable

BAD = {
    "cut off": (lambda data: data[:-100], InputError, "cut off"),
    "cut to its start": (lambda data: data[:6], InputError, "cut off"),
    "not Parquet": (lambda data: b"a,b\n1,2\n" * 9, DataError, "not a Parquet"),
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


@pytest.mark.parametrize(
    "footer", [b"\x1c" * 5000 + b"\x00", b"\x2c" + b"\x00" * 9], ids=["structs in structs", "no list"]
)
def test_metadata_that_are_no_schema(footer: bytes) -> None:
    data = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(DataError, match=r"in\.parquet: the Parquet file is damaged"):
        ParquetTable(data, "in.parquet")


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
