"""OpenML as a source of tasks, end to end: the real client against a server on the loopback interface."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vsacli.errors import InputError, UsageError
from vsacli.tasks import openml_client as client
from vsacli.tasks.openml_client import Listed
from vsacli.tasks.openml_selection import OpenMLSelection, paper_choice
from vsacli.tasks.openml_source import read_openml_tables
from vsacli.training.sources import SourceSpec, collect

from .openml_data import mixed, names, numeric, regression
from .openml_server import DataSet, OpenMLServer


def test_a_suite_is_read_and_the_next_run_asks_nothing(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(3, numeric(10, "three clouds"))
    server.add(5, mixed())
    server.add(9, regression(), kind=2)
    server.suites["99"] = [3, 5, 9]
    seen: list[tuple[str, int, int]] = []
    store, selection = read_openml_tables(99, cache=tmp_path / "vsa", progress=lambda *step: seen.append(step))

    assert names(store) == ["three clouds", "mixed", "slope"]
    assert store.skipped == []
    assert seen == [
        ("reading OpenML task 3", 0, 3),
        ("reading OpenML task 5", 1, 3),
        ("reading OpenML task 9", 2, 3),
        ("reading tables", 3, 3),
    ]
    assert selection.tasks == ((3,), (5,), (9,))
    clouds, mix, slope = store.tables
    assert clouds.kind == "classification"
    assert clouds.x.shape == (90, 3)
    assert np.bincount(clouds.y).tolist() == [30, 30, 30]
    # The row number and the ignored column are gone; both gaps and categories are there.
    assert mix.x.shape[0] == 60
    assert set(mix.column) == {0, 1}
    assert np.isnan(mix.x[[0, 7, 14], 0]).all()
    assert (mix.y == 1 - np.arange(60) % 2).all()  # "None" is a class, the first one, not a missing label
    assert mix.tags == ("task 5", "data 20", "columns 2")
    assert slope.kind == "regression"
    assert slope.n_classes == 1
    expected = [float(line.split(",")[2]) for line in server.data[30].arff.splitlines()[5:]]
    np.testing.assert_allclose(slope.y, expected, rtol=1e-6)

    before = sum(server.requests.values())
    server.mode = "cut"
    again, same = read_openml_tables(99, cache=tmp_path / "vsa")
    assert sum(server.requests.values()) == before
    assert same == selection
    for one, two in zip(store, again, strict=True):
        assert one.split == two.split
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.y, two.y)


def test_an_alias_and_a_recorded_list(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(3, numeric(10, "a"))
    server.add(4, numeric(11, "b"))
    server.suites["tiny-suite"] = [4, 3, 4]
    store, selection = read_openml_tables("tiny-suite", cache=tmp_path / "vsa")
    assert names(store) == ["b", "a"]

    run = tmp_path / "run" / "openml.json"
    selection.save(run)
    assert OpenMLSelection.load(run) == selection
    server.suites["tiny-suite"] = [3]
    server.requests.clear()
    # Another machine, the same list: the suite is not asked for again.
    store, _ = read_openml_tables(cache=tmp_path / "other", recorded=OpenMLSelection.load(run))
    assert names(store) == ["b", "a"]
    assert not any("study" in path for path in server.requests)
    # Only a refresh sees that the suite has changed.
    assert names(read_openml_tables("tiny-suite", cache=tmp_path / "vsa")[0]) == ["b", "a"]
    assert names(read_openml_tables("tiny-suite", cache=tmp_path / "vsa", refresh=True)[0]) == ["a"]


def test_the_papers_own_selection(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(1, numeric(10, "good"))
    server.add(2, numeric(11, "good"))  # the same name
    server.add(3, numeric(10, "good"))  # another task on the same data
    server.add(4, numeric(12, "rare class", per_class=(60, 29)))
    server.add(5, numeric(13, "short", per_class=(30, 29)))
    server.add(6, numeric(14, "long", per_class=(600, 401)))
    server.add(7, numeric(15, "one column", columns=1))
    server.add(8, numeric(16, "eleven", per_class=(30,) * 11))
    server.add(9, numeric(17, "edge", per_class=(30, 30), columns=2))
    unknown = numeric(18, "no qualities", per_class=(40, 20))
    server.add(10, replace(unknown, qualities={}))
    server.add(11, regression())
    server.tasks[11] = (2, 30, "y")
    store, selection = read_openml_tables(cache=tmp_path / "vsa")
    assert names(store) == ["good", "edge"]
    assert selection.tasks == ((1, 2), (9,), (10,))
    assert store.skipped == [("OpenML task 10 (no qualities)", "a class of 20 examples, not at least 30")]
    # What the list rules out is not downloaded.
    assert {path for path in server.requests if path.startswith("/file")} == {
        f"/file/{i}/data.arff" for i in (10, 17, 18)
    }

    server.add(12, regression(31, "too short", n=59), kind=2)
    both, _ = read_openml_tables(cache=tmp_path / "vsa", kinds=("classification", "regression"))
    assert names(both) == ["good", "edge", "slope"]


def test_where_the_first_task_of_a_name_is_broken_the_next_one_is_taken(server: OpenMLServer, tmp_path: Path) -> None:
    broken = numeric(10, "twice")
    server.add(1, replace(broken, arff="@relation r\n@attribute x0 numeric\n@data\n1,2,3\n"))
    server.add(2, numeric(11, "twice"))
    store, _ = read_openml_tables(cache=tmp_path / "vsa")
    assert store.tables[0].tags[0] == "task 2"
    assert store.skipped == []


def test_paper_choice_reads_the_list() -> None:
    fits = Listed(7, 70, "a", "class", 60, 3, 2, 30)
    listed = [
        replace(fits, task_id=9, data_id=71),
        fits,
        replace(fits, task_id=8),  # the same data and target
        replace(fits, task_id=1, name="b", rows=1001),
        replace(fits, task_id=2, name="c", columns=1002),
        replace(fits, task_id=3, name="d", columns=1001, rows=1000, classes=10),
        replace(fits, task_id=4, name="e", smallest_class=float("nan")),
    ]
    assert paper_choice(listed, "classification") == [(3,), (4,), (7, 9)]
    assert paper_choice([replace(fits, classes=0.0, smallest_class=0.0)], "regression") == [(7,)]


def test_parquet_text_targets_and_sparse_files(server: OpenMLServer, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"size": np.arange(40.0), "kind": pd.Categorical(["u", "v"] * 20), "class": ["no", "yes"] * 20}
    )
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    features = [("size", "numeric", []), ("kind", "nominal", ["u", "v"]), ("class", "string", [])]
    server.add(1, DataSet(10, "parquet", features=features, parquet=buffer.getvalue(), arff="not used"))
    cells = "".join(f"{{{i % 3} {i}, 3 {('low', 'high')[i % 2]}}}\n" for i in range(1, 41))
    head = "".join(f"@attribute x{j} numeric\n" for j in range(3)) + "@attribute class {low,high}\n"
    sparse_features = [*((f"x{j}", "numeric", []) for j in range(3)), ("class", "nominal", ["low", "high"])]
    sparse = DataSet(
        11, "sparse", "@relation r\n" + head + "@data\n" + cells, features=sparse_features, format="Sparse_ARFF"
    )
    server.add(2, sparse)
    server.suites["s"] = [1, 2]
    store, _ = read_openml_tables("s", cache=tmp_path / "vsa")
    assert names(store) == ["parquet", "sparse"]
    assert server.requests["/file/10/data.arff"] == 0
    assert (store.tables[0].y == np.arange(40) % 2).all()
    assert store.tables[1].x.shape == (40, 3)
    assert (store.tables[1].y == np.arange(40) % 2).all()
    # Row i has i in column i mod 3 and nothing, which is 0, in the others.
    for j in range(3):
        column = store.tables[1].x[:, j]
        assert len(set(column[np.arange(1, 41) % 3 != j])) == 1
        assert len(set(column[np.arange(1, 41) % 3 == j])) > 10


def test_large_tables_give_the_same_random_rows_each_time(
    server: OpenMLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vsacli.tasks.openml_source.MAX_ROWS", 50)
    server.add(1, numeric(10, "long"))
    server.suites["s"] = [1]
    one, _ = read_openml_tables("s", cache=tmp_path / "one")
    two, _ = read_openml_tables("s", cache=tmp_path / "two")
    assert len(one.tables[0].x) == 50
    np.testing.assert_array_equal(one.tables[0].x, two.tables[0].x)
    monkeypatch.setattr(client, "MAX_FILE_BYTES", 1000)
    with pytest.raises(InputError, match=r"none of 1 OpenML tasks can be used .*is larger than"):
        read_openml_tables("s", cache=tmp_path / "three")


def test_shares_of_the_split_are_the_papers(server: OpenMLServer, tmp_path: Path) -> None:
    for i in range(1, 11):
        server.add(i, numeric(i, f"set {i}", per_class=(12, 12)))
    server.suites["s"] = list(range(1, 11))
    store, _ = read_openml_tables("s", cache=tmp_path / "vsa", seed=3)
    splits = [table.split for table in store]
    assert (splits.count("train"), splits.count("valid"), splits.count("test")) == (7, 1, 2)
    other, _ = read_openml_tables("s", cache=tmp_path / "vsa", seed=4)
    assert splits != [table.split for table in other]


def test_training_on_some_of_the_tables(server: OpenMLServer, tmp_path: Path) -> None:
    for i in range(10):
        server.add(i + 1, numeric(10 + i, f"table {i}", per_class=(30, 30), columns=2))
    server.suites["ten"] = list(range(1, 11))
    drawn = [
        collect(SourceSpec(openml=("ten",), tables=n), "classification", cache=tmp_path / "vsa", record=tmp_path)
        for n in (None, 2, 2)
    ]
    every, some, again = ([(t.name, t.split) for t in c.tables] for c in drawn)
    assert [c.drawn_from for c in drawn] == [None, 7, 7]
    assert [split for _, split in every].count("train") == 7
    assert [split for _, split in some].count("train") == 2
    assert [t for t in some if t[1] != "train"] == [t for t in every if t[1] != "train"]
    assert some == again
    with pytest.raises(UsageError, match="--tables 8: there are 7 tables to train on"):
        collect(SourceSpec(openml=("ten",), tables=8), "classification", cache=tmp_path / "vsa")
