"""Parts that hold a column in different types: what goes together, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.labeling.parts.conftest import LabelParts, MakeParts, bytes_of
from vsacli.errors import DataError
from vsacli.labeling.parts.folder import Part, check_parts, find_parts


def read(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()


def types(*kinds: pa.DataType, name: str = "x"):
    """A change for `make_parts`: the column in the first part of the first type, and so on."""
    return lambda p, table: table[name].cast(kinds[p % len(kinds)], safe=False)


@pytest.mark.parametrize("empty", [0, 2])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.int64(), pa.float64(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_a_part_whose_labels_are_all_missing_may_be_of_type_null(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, kind: pa.DataType, empty: int
):
    text = pa.types.is_string(kind) or pa.types.is_dictionary(kind)

    def labels(null: pa.DataType):
        def change(p: int, table: pa.Table) -> pa.Array:
            if p == empty:
                return pa.nulls(len(table), null)
            cells = table["y"].combine_chunks()
            if not text:
                cells = pa.array([None if c is None else "ab".index(c) for c in cells.to_pylist()], pa.float64())
            return cells.cast(kind)

        return change

    def word(p: int, table: pa.Table) -> pa.Array:
        return pa.nulls(len(table), pa.null() if p == empty else pa.string()) if p == empty else table["word"]

    whole = make_parts(3, folder="whole", y=labels(kind), word=lambda p, t: word(p, t).cast(pa.string()))
    mixed = make_parts(3, folder="mixed", y=labels(pa.null()), word=word)
    reports = [label_parts(whole, "out-whole", task="classification"), label_parts(mixed, task="classification")]
    assert reports[0].filled == reports[1].filled
    assert (reports[0].missing, reports[0].reason) == (reports[1].missing, reports[1].reason)
    wanted, found = bytes_of(tmp_path / "out-whole"), bytes_of(tmp_path / "out")
    name = f"part-{empty}.parquet"
    assert {n for n in wanted if wanted[n] != found[n]} == {name}
    old, new = read(mixed / name), read(tmp_path / "out" / name)
    assert new["y"].type == kind
    assert new["y"].to_pylist() == read(tmp_path / "out-whole" / name)["y"].to_pylist()
    assert new["y"].null_count == 0
    assert new.drop_columns("y").schema == old.drop_columns("y").schema
    assert new.drop_columns("y") == old.drop_columns("y")
    assert pq.ParquetFile(tmp_path / "out" / name).num_row_groups == 3
    assert len(pd.read_parquet(tmp_path / "out", columns=["y"])) == 36  # and all parts are one table to others


def test_a_part_of_type_null_in_which_nothing_is_filled_stays_as_it_is(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path
):
    folder = make_parts(2, y=lambda p, table: table["y"] if p else pa.nulls(len(table)))
    label_parts(folder, min_confidence=1.1)
    assert bytes_of(tmp_path / "out") == bytes_of(folder)


@pytest.mark.parametrize(
    ("kinds", "wider"),
    [
        ((pa.int32(), pa.int64(), pa.int8()), pa.int64()),
        ((pa.int64(), pa.float64(), pa.int32()), pa.float64()),
        ((pa.float32(), pa.float64(), pa.float32()), pa.float64()),
        ((pa.uint64(), pa.int64(), pa.int64()), pa.float64()),
        ((pa.decimal128(9, 2), pa.decimal128(12, 4), pa.int64()), pa.float64()),
        ((pa.null(), pa.int64(), pa.float64()), pa.float64()),
    ],
    ids=str,
)
def test_numbers_of_several_types_are_one_attribute(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, kinds: tuple[pa.DataType, ...], wider: pa.DataType
):
    """As if all were stored in the wider type; each part keeps its own."""

    def in_types(p: int, table: pa.Table) -> Any:
        if pa.types.is_null(kinds[p]):
            return pa.nulls(len(table))
        return pa.chunked_array([np.rint(table["x"].to_numpy()) + 3 * p]).cast(kinds[p])

    mixed = make_parts(3, folder="mixed", x=in_types)
    one = make_parts(3, folder="one", x=lambda p, table: in_types(p, table).cast(wider))
    assert label_parts(mixed, "a").used == label_parts(one, "b").used
    for p in range(3):
        new, same = (read(tmp_path / out / f"part-{p}.parquet") for out in ("a", "b"))
        assert new["y"] == same["y"]
        assert new.schema == read(mixed / f"part-{p}.parquet").schema


def test_a_number_beyond_the_type_of_the_first_part(make_parts: MakeParts, tmp_path: Path):
    from vsacli.labeling.parts.sample import columns_of_part

    folder = make_parts(
        2, x=lambda p, table: pa.array([3_000_000_000] * 12 if p else [7] * 12, (pa.int32(), pa.int64())[p])
    )
    names, parts = check_parts(find_parts(str(folder))[0])
    cells = [dict(columns_of_part(part, names, [0]))[0] for part in parts]
    assert [(c.type, c[0].as_py()) for c in cells] == [(pa.int64(), 7), (pa.int64(), 3_000_000_000)]


@pytest.mark.parametrize("name", ["word", "y"])
def test_text_of_several_widths_is_one_column(
    make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path, name: str
):
    kinds = pa.string(), pa.large_string(), pa.string()
    mixed = make_parts(3, folder="mixed", **{name: types(*kinds, name=name)})
    plain = make_parts(3, folder="plain")
    assert label_parts(mixed, "a").used == label_parts(plain, "b").used
    for p in range(3):
        new, same = (read(tmp_path / out / f"part-{p}.parquet") for out in ("a", "b"))
        assert new["y"].to_pylist() == same["y"].to_pylist()
        assert new.schema == read(mixed / f"part-{p}.parquet").schema


@pytest.mark.parametrize("kinds", [(pa.int64(), pa.float64()), (pa.int32(), pa.int64())], ids=str)
def test_labels_of_several_types_are_refused(make_parts: MakeParts, label_parts: LabelParts, kinds):
    def numbers(p: int, table: pa.Table) -> pa.Array:
        return pa.array([None if c is None else "ab".index(c) for c in table["y"].to_pylist()], kinds[p])

    folder = make_parts(2, y=numbers)
    words = (
        rf"part-1\.parquet: the labels 'y' are {kinds[1]}, and in .*part-0\.parquet {kinds[0]}; write them in one type"
    )
    with pytest.raises(DataError, match=words):
        label_parts(folder)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.bool_(), pa.int8()),
        (pa.string(), pa.int64()),
        (pa.string(), pa.dictionary(pa.int32(), pa.string())),
        (pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.int64())),
        (pa.string(), pa.binary()),
        (pa.duration("s"), pa.duration("ms")),
    ],
    ids=str,
)
def test_types_that_do_not_go_together_are_named(tmp_path: Path, one: pa.DataType, other: pa.DataType):
    for p, kind in enumerate((pa.null(), one, other)):  # the first has no say
        pq.write_table(pa.table({"a": pa.array([1]), "x": pa.nulls(1, kind)}), tmp_path / f"p{p}.parquet")
    with pytest.raises(DataError) as caught:
        check_parts(find_parts(str(tmp_path))[0])
    kinds = [read(tmp_path / f"p{p}.parquet")["x"].type for p in (1, 2)]
    assert str(caught.value) == (
        f"{tmp_path / 'p2.parquet'}: column 'x' is {kinds[1]}, and in {tmp_path / 'p1.parquet'} {kinds[0]}; "
        f"write all parts with one schema"
    )


def test_parts_of_one_type_are_read_as_they_are(make_parts: MakeParts):
    _, parts = check_parts(find_parts(str(make_parts(2)))[0])
    assert all(isinstance(part, Part) and part.numbers == () for part in parts)
