"""Many tables in one file: what is saved is loaded, and a damaged file is one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tasks.tables import table_of
from vsacli.errors import InputError
from vsacli.tasks.store import TableStore


def make_store() -> TableStore:
    a, b = table_of("a", weight=0.5, tags=("rule", "new")), table_of("b", "regression", n=33, m=2, split="test")
    a.x[3, 1] = np.nan
    a.y[5] = -1
    b.y[7] = np.nan
    a = replace(a, further=np.arange(a.x.shape[1]) == 1)
    return TableStore([a, b, table_of("ü", family="a", split="valid", classes=2)], [("c", "too small")])


def test_what_is_saved_is_loaded(tmp_path: Path):
    store = make_store()
    store.save(tmp_path / "s.npz")
    loaded = TableStore.load(tmp_path / "s.npz")
    assert loaded.skipped == [("c", "too small")]
    assert len(loaded) == 3
    for before, after in zip(store, loaded, strict=True):
        for name in ("x", "column", "y"):
            old, new = getattr(before, name), getattr(after, name)
            assert old.dtype == new.dtype
            np.testing.assert_array_equal(old, new)
        for name in ("name", "family", "kind", "n_classes", "split", "weight", "tags"):
            assert getattr(before, name) == getattr(after, name)
        assert after.further is not None
        assert after.further.tolist() == [j == 1 and before.name == "a" for j in range(before.x.shape[1])]


def test_an_empty_store(tmp_path: Path):
    TableStore([]).save(tmp_path / "s.npz")
    assert len(TableStore.load(tmp_path / "s.npz")) == 0


def test_known_labels():
    a, b, _ = make_store()
    assert np.flatnonzero(~a.labeled).tolist() == [5]
    assert np.flatnonzero(~b.labeled).tolist() == [7]


def test_selection_by_kind_and_split():
    store = make_store()
    names = lambda **want: [t.name for t in store.select(**want)]  # noqa: E731
    assert names() == ["a", "b", "ü"]
    assert names(kind="regression") == ["b"]
    assert names(split="train") == ["a"]
    assert names(split=("valid", "test")) == ["b", "ü"]
    assert names(kind="classification", split="test") == []


def test_damaged_files(tmp_path: Path):
    path = tmp_path / "s.npz"
    make_store().save(path)
    whole = path.read_bytes()
    middle = bytearray(whole)
    for i in range(len(whole) // 4, len(whole) // 2):
        middle[i] ^= 0x55
    for data in (b"", b"PK", whole[:100], whole[: len(whole) // 2], whole[:-30], b"x" * 500, bytes(middle)):
        path.write_bytes(data)
        with pytest.raises(InputError, match="not a readable table store"):
            TableStore.load(path)
    with pytest.raises(InputError, match="not a readable table store"):
        TableStore.load(tmp_path / "none.npz")


def test_files_of_others(tmp_path: Path):
    path = tmp_path / "s.npz"
    blob = lambda text: np.frombuffer(text.encode(), np.uint8)  # noqa: E731
    zeros = np.zeros(4, np.float32)
    table = (
        '{"name":"a","family":"a","kind":"regression","shape":[2,2],"n_classes":1,"split":"train","weight":1,"tags":[]}'
    )
    for index, x in (
        (blob("{}"), zeros),
        (blob('{"tables": [3], "skipped": []}'), zeros),
        (blob('{"tables": [], "skipped": []}'), zeros),  # values that belong to no table
        (blob(f'{{"tables": [{table}], "skipped": []}}'), zeros[:3]),
        (np.array([{}], dtype=object), zeros),  # a pickle, which is never read
    ):
        np.savez(path, index=index, x=x, column=np.zeros(2, np.int32), y=np.zeros(2))
        with pytest.raises(InputError, match="not a readable table store"):
            TableStore.load(path)
    np.savez(path, other=zeros)
    with pytest.raises(InputError, match="not a readable table store"):
        TableStore.load(path)
