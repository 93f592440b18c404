"""What is done differently in a large table (packed attributes, a file left on disk, a condensed label column)."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import SAMPLES
from tests.tiny import Recorder
from vsacli import prepare
from vsacli.attributes import packed as packed_module
from vsacli.attributes.packed import CompactAttributes
from vsacli.errors import DataError, InputError
from vsacli.inference.config import InferenceConfig
from vsacli.inference.order import attribute_signatures, distinct_rows, reading_order, row_hashes, row_order
from vsacli.inference.predict import predict
from vsacli.labeling.job import LabelReport
from vsacli.labeling.run import LabelOptions, label_table
from vsacli.tables.read import read_table
from vsacli.tables.text import file_bytes
from vsacli.target.column import read_target
from vsacli.target.sparse import read_sparse_target


def mixed_attributes(n: int = 5000) -> np.ndarray:
    """Attributes of all kinds: indicators, constants, few and many values, missing ones, zeros of both signs."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 7)).astype(np.float32)
    x[:, 0] = x[:, 0] > 1
    x[:, 1] = np.where(x[:, 1] > 1, np.nan, 1)
    x[:, 2] = 3
    x[:, 3] = np.round(x[:, 3], 1)
    x[:, 4] = np.where(x[:, 4] > 0, 0.0, -0.0)
    x[:, 5] = np.round(x[:, 5], 3)
    x[::7, 6] = np.nan
    x[n // 2 :: 5] = x[: len(x[n // 2 :: 5])]  # identical rows
    return x


def packed(x: np.ndarray) -> CompactAttributes:
    store = CompactAttributes(len(x))
    store.append(x[:, :2])
    store.append(x[:, 2:])
    return store


@pytest.mark.parametrize("most", [1 << 16, 300])
def test_packed_attributes_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, most: int):
    monkeypatch.setattr(packed_module, "_BLOCK", 999)
    monkeypatch.setattr(packed_module, "_MOST", most)
    x = mixed_attributes()
    store = packed(x)
    assert (store.shape, len(store)) == (x.shape, len(x))
    rows, attributes = np.random.default_rng(1).integers(0, len(x), 400), np.array([6, 0, 4])
    bits = x.view(np.uint32)
    assert (store.take(rows).view(np.uint32) == bits[rows]).all()
    assert (store.take(rows, attributes).view(np.uint32) == bits[np.ix_(rows, attributes)]).all()
    for start, stop in ((0, 5000), (13, 14), (1234, 4321), (16, 16)):
        part = np.stack(list(store.parts(start, stop)), axis=1)
        assert (part.view(np.uint32) == bits[start:stop]).all()
    held = [a.codes.nbytes for a in store._attributes]
    assert held[:3] == [625, 625, 625]
    assert held[3] == 5000
    assert held[5] == (10_000 if most > 300 else 20_000)
    assert held[6] == (10_000 if most > 5000 else 20_000)


@pytest.mark.parametrize(("distinct", "collide", "held"), [(1000, False, 4), (1000, True, 24), (2000, False, 24)])
def test_attributes_of_few_texts_share_one_number_a_row(
    monkeypatch: pytest.MonkeyPatch, distinct: int, collide: bool, held: int
):
    monkeypatch.setattr(packed_module, "_BLOCK", 999)
    monkeypatch.setattr(packed_module, "_MOST", 300)
    if collide:
        monkeypatch.setattr(packed_module, "_hashes", lambda bits: np.zeros(len(bits), np.uint64))
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(distinct, 7)).astype(np.float32)
    texts[3] = np.nan
    texts[:, 2] = texts[:, 2] > 0  # packed by itself
    x = texts[rng.integers(0, distinct, 5000)]
    store = CompactAttributes(len(x))
    store.append(x)
    bits = x.view(np.uint32)
    assert (store.take(np.arange(5000)).view(np.uint32) == bits).all()
    part = np.stack(list(store.parts(1234, 4321)), axis=1)
    assert (part.view(np.uint32) == bits[1234:4321]).all()
    arrays = {id(a.codes): a.codes.nbytes for a in store._attributes}
    assert sum(arrays.values()) == 5000 * held + 5000 // 8


def test_hashes_of_packed_attributes_are_the_same(monkeypatch: pytest.MonkeyPatch):
    x = mixed_attributes()
    whole = attribute_signatures(x)
    rows = np.arange(0, 5000, 3)
    expected = row_hashes(x, whole, 5), row_order(x, whole, 5, rows=rows), *distinct_rows(x, rows)
    monkeypatch.setattr("vsacli.inference.order._BLOCK", 777)
    for same in (x, packed(x)):
        assert (attribute_signatures(same) == whole).all()
        found = row_hashes(same, whole, 5), row_order(same, whole, 5, rows=rows), *distinct_rows(same, rows)
        assert all((a == b).all() for a, b in zip(expected, found, strict=True))


def test_identical_rows_stand_together_and_the_first_of_them_is_marked():
    x = mixed_attributes(600)
    signatures = attribute_signatures(x)
    rows = np.arange(1, 600)
    order, first = reading_order(x, signatures, 3, rows)
    distinct, group = distinct_rows(x, rows)
    assert (order == row_order(x, signatures, 3, rows=rows)).all()
    assert sorted(order[first]) == sorted(distinct)
    begin = np.maximum.accumulate(np.where(first, np.arange(599), 0))  # where each one's group begins
    assert (order[begin] == distinct[group[order]]).all()


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("chunk", [100, 10_000])
def test_predictions_from_packed_attributes(kind: str, chunk: int):
    x = mixed_attributes(1000)
    labeled = np.arange(1000) % 40 == 0
    y = np.arange(25) % 3 if kind == "classification" else np.arange(25.0)
    config = InferenceConfig(device="cpu", chunk_rows=chunk)
    one = predict(Recorder(kind).checkpoint(), x, labeled, y, 3, config=config)
    two = predict(Recorder(kind).checkpoint(), packed(x), labeled, y, 3, config=config)
    best = predict(Recorder(kind).checkpoint(), x, labeled, y, 3, config=replace(config, best_only=True))
    if kind == "regression":
        assert one.mean is not None
        assert (one.mean == two.mean).all()
        assert (one.std == two.std).all()
        assert best.best is None
        return
    assert one.proba is not None
    assert best.best is not None
    assert (one.proba == two.proba).all()
    assert best.proba is None
    assert (best.best[0] == one.proba.argmax(1)).all()
    assert (best.best[1] == one.proba.max(1)).all()


TARGETS = {
    "words": pa.array(["", "a", " ", "b", "", "NA", "a ", "\u200b", "NULL"] * 3, pa.large_string()),
    "codes": pa.array(["EU", "", "NA", "AS", ""], pa.large_string()),
    "numbers": pa.array(["", "1,5", "2,25", "NA", "3,125", ""], pa.large_string()),
    "nulls": pa.array([None, 3, None, 7, 3, 3, 7, 7], pa.int16()),
    "floats": pa.array([1.5, None, float("nan"), 2.25]),
    "null words": pa.array([None, "x", "", "y", "x"]),
    "categories": pa.array([None, "x", "y", None, "x"]).dictionary_encode(),
    "full": pa.array(["a", "b"], pa.large_string()),
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("na", [(), ("a", "3")])
def test_a_condensed_label_column_is_understood_as_the_whole(name: str, na: tuple[str, ...]):
    column = TARGETS[name]
    how = {"task": "auto", "na": na, "default_na": True, "decimal": ".", "name": "y", "where": str}
    try:
        whole = read_target(column, **how)
    except DataError as refusal:
        with pytest.raises(DataError, match=f"^{re.escape(str(refusal))}$"):
            read_sparse_target(column, **how)
        return
    sparse = read_sparse_target(column, **how)
    for field in ("kind", "reason", "missing_tokens", "classes", "notes", "name"):
        assert getattr(sparse, field) == getattr(whole, field), field
    assert list(sparse.missing_tokens) == list(whole.missing_tokens)
    for field in ("missing", "codes", "numbers"):
        np.testing.assert_array_equal(getattr(sparse, field), getattr(whole, field))
    if whole.kind == "classification":
        codes = np.arange(len(whole.classes))
        assert sparse.spell_classes(codes) == whole.spell_classes(codes)
    else:
        values = np.array([1.23456, 2.0])
        assert sparse.spell_numbers(values) == whole.spell_numbers(values)


def test_an_error_of_a_condensed_column_names_the_row():
    column = pa.array(["", "", "1.5", "", "x", "2.5"], pa.large_string())
    with pytest.raises(DataError, match="row 5 of the file"):
        read_sparse_target(
            column,
            task="regression",
            na=(),
            default_na=True,
            decimal=".",
            name="y",
            where=lambda row: f"row {row + 1} of the file",
        )


@pytest.mark.parametrize(
    ("file", "target"),
    [("elements.csv", "metal"), ("orders.csv", "Porto"), ("moons.csv", "moon"), ("readings.parquet", "state")],
)
def test_a_table_that_is_taken_for_large_gets_the_same_bytes(
    file: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    options = LabelOptions(target, device="cpu", confidence=True)

    def label(to: str) -> tuple[bytes, LabelReport]:
        table = read_table(SAMPLES / file)
        run = label_table(table, options)
        with open(tmp_path / to, "wb") as sink:
            run.write(sink)
        return (tmp_path / to).read_bytes(), run.report

    small = label("small")
    monkeypatch.setattr(prepare, "LARGE_ROWS", 0)
    monkeypatch.setattr(file_bytes, "LARGE", 0)
    large = label("large")
    assert large[0] == small[0]
    assert replace(large[1], mean_confidence=None, mean_std=None) == replace(
        small[1], mean_confidence=None, mean_std=None
    )
    assert large[1].mean_confidence == pytest.approx(small[1].mean_confidence)


def test_a_file_left_on_disk_is_read_as_it_was(write: Callable[[str, bytes], Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_bytes, "LARGE", 0)
    path = write("t.csv", b'x,"y"\n1,a\n\n22,"b\nc"\n')
    table = read_table(path)
    assert table.column(1).to_pylist() == ["a", "b\nc"]
    assert table.where(1) == "row 2 (line 4)"
    path.rename(path.with_name("moved.csv"))
    path.write_bytes(b"something else")
    assert table.column(0).to_pylist() == ["1", "22"]
    moved = path.with_name("moved.csv")
    with open(moved, "r+b") as file:
        file.write(b"z")
    os.utime(moved, ns=(0, 0))
    with pytest.raises(InputError, match=r"t\.csv was changed while it was read: run it again"):
        table.column(0)


def test_what_is_no_longer_the_file_that_was_read_stays_in_memory(write: Callable[[str, bytes], Path], tmp_path: Path):
    path = write("t.csv", b"abc")
    assert file_bytes.FileBytes.of(str(path), "t.csv", b"abc") is not None
    assert file_bytes.FileBytes.of(str(path), "t.csv", b"abd") is None
    assert file_bytes.FileBytes.of(str(path), "t.csv", b"abcd") is None
    assert file_bytes.FileBytes.of(str(tmp_path / "none"), "t.csv", b"abc") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of Unix")
def test_a_named_pipe_is_not_opened_again(tmp_path: Path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    found = []
    asking = threading.Thread(target=lambda: found.append(file_bytes.FileBytes.of(pipe, "pipe", b"abc")), daemon=True)
    asking.start()
    asking.join(20)  # it would wait for a writer for ever
    assert found == [None]
