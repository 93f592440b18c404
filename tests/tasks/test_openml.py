"""OpenML as a source of tasks, end to end: the real client against a server on the loopback interface."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
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
from vsacli.tasks.store import TableStore
from vsacli.training.sources import SourceSpec, collect

from .openml_server import DataSet, OpenMLServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpenMLServer]:
    """A server, with the client pointed at it, its cache in a folder of its own, and no waiting between tries."""
    with client.quiet_client():
        import openml
    before = (openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries)
    running = OpenMLServer()
    openml.config.server = running.api
    openml.config.set_root_cache_directory(tmp_path / "client")
    openml.config.connection_n_retries = 1
    yield running
    running.close()
    openml.config.server, openml.config._root_cache_directory, openml.config.connection_n_retries = before


def numeric(data_id: int, name: str, *, per_class: tuple[int, ...] = (30, 30, 30), columns: int = 3) -> DataSet:
    """Numbers around a centre for each class."""
    rng = np.random.default_rng(data_id)
    y = np.repeat(np.arange(len(per_class)), per_class)
    x = rng.normal(size=(len(y), columns)) + y[:, None]
    classes = [f"c{k}" for k in range(len(per_class))]
    head = "".join(f"@attribute x{j} numeric\n" for j in range(columns))
    rows = "".join(",".join(f"{v:.4f}" for v in row) + f",c{k}\n" for row, k in zip(x, y, strict=True))
    return DataSet(
        data_id,
        name,
        f"@relation r\n{head}@attribute class {{{','.join(classes)}}}\n@data\n{rows}",
        features=[*((f"x{j}", "numeric", []) for j in range(columns)), ("class", "nominal", classes)],
        qualities={
            "NumberOfInstances": len(y),
            "NumberOfFeatures": columns + 1,
            "NumberOfClasses": len(per_class),
            "MinorityClassSize": min(per_class),
        },
    )


def mixed(data_id: int = 20) -> DataSet:
    """Categories, gaps, a row number, an ignored column, and classes that are called None and yes."""
    rows = []
    for i in range(60):
        colour = ("red", "green", "?")[i % 3]
        rows.append(f"{i},{i * 0.5 if i % 7 else '?'},{colour},{i % 5},{'None' if i % 2 else 'yes'}\n")
    return DataSet(
        data_id,
        "mixed",
        "@relation r\n@attribute no numeric\n@attribute size numeric\n@attribute colour {red,green}\n"
        "@attribute secret numeric\n@attribute class {yes,None}\n@data\n" + "".join(rows),
        features=[
            ("no", "numeric", []),
            ("size", "numeric", []),
            ("colour", "nominal", ["red", "green"]),
            ("secret", "numeric", []),
            ("class", "nominal", ["yes", "None"]),
        ],
        extra={"row_id_attribute": "no", "ignore_attribute": "secret"},
    )


def regression(data_id: int = 30, name: str = "slope", n: int = 80) -> DataSet:
    rng = np.random.default_rng(data_id)
    x = rng.normal(size=(n, 2))
    rows = "".join(f"{a:.4f},{b:.4f},{2 * a - b:.4f}\n" for a, b in x)
    return DataSet(
        data_id,
        name,
        f"@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y numeric\n@data\n{rows}",
        target="y",
        features=[("a", "numeric", []), ("b", "numeric", []), ("y", "numeric", [])],
        qualities={"NumberOfInstances": n, "NumberOfFeatures": 3},
    )


def names(store: TableStore) -> list[str]:
    return [table.name for table in store]


def test_a_suite_is_read_and_the_next_run_asks_nothing(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(3, numeric(10, "three clouds"))
    server.add(5, mixed())
    server.add(9, regression(), kind=2)
    server.suites["99"] = [3, 5, 9]
    seen: list[tuple[int, int, str]] = []
    store, selection = read_openml_tables(99, cache=tmp_path / "vsa", progress=lambda *step: seen.append(step))

    assert names(store) == ["three clouds", "mixed", "slope"]
    assert store.skipped == []
    assert seen == [(0, 3, "OpenML task 3"), (1, 3, "OpenML task 5"), (2, 3, "OpenML task 9"), (3, 3, "")]
    assert selection.tasks == ((3,), (5,), (9,))
    clouds, mix, slope = store.tables
    assert clouds.kind == "classification"
    assert clouds.x.shape == (90, 3)
    assert np.bincount(clouds.y).tolist() == [30, 30, 30]
    # The row number and the ignored column are gone; both gaps and categories are there.
    assert mix.x.shape[0] == 60
    assert set(mix.column) == {0, 1}
    assert np.isnan(mix.x[[0, 7, 14], 0]).all()
    assert (mix.y == np.arange(60) % 2).all()  # "None" is a class, not a missing label
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


def test_tables_that_cannot_be_used_are_skipped_and_named(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(1, numeric(10, "fine"))
    server.add(2, replace(numeric(11, "damaged"), md5="0" * 32))
    server.add(3, replace(numeric(12, "not arff"), arff="<html>moved</html>"))
    server.add(4, numeric(13, "fine"))  # repeats a name
    server.add(5, numeric(10, "fine"))  # repeats a data set
    server.add(6, replace(numeric(14, "one class", per_class=(40,)), md5=None))
    server.add(7, numeric(15, "clusters"), kind=5)
    server.add(8, numeric(16, "no such target"), target="species")
    server.add(10, replace(numeric(17, "features gone"), features=[]))
    server.suites["s"] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    store, _ = read_openml_tables("s", cache=tmp_path / "vsa")
    assert names(store) == ["fine"]
    reasons = dict(store.skipped)
    assert len(reasons) == 9
    assert "hecksum" in reasons["OpenML task 2 (damaged)"]
    assert "ttribute" in reasons["OpenML task 3 (not arff)"] or "ARFF" in reasons["OpenML task 3 (not arff)"]
    assert "repeats task 1" in reasons["OpenML task 4 (fine)"]
    assert "repeats task 1" in reasons["OpenML task 5 (fine)"]
    assert "one class" in reasons["OpenML task 6 (one class)"]
    assert "neither classification nor regression" in reasons["OpenML task 7"]
    assert "OpenML task 8 (no such target)" in reasons
    assert "Unknown task 9" in reasons["OpenML task 9"]
    assert all("\n" not in reason and len(reason) < 300 for reason in reasons.values())

    # Those reasons are kept: nothing is asked again.
    server.requests.clear()
    again, _ = read_openml_tables("s", cache=tmp_path / "vsa")
    assert dict(again.skipped) == reasons
    assert sum(server.requests.values()) == 0
    # A refresh takes what has been repaired.
    server.add(2, numeric(11, "damaged"))
    repaired, _ = read_openml_tables("s", cache=tmp_path / "vsa", refresh=True)
    assert names(repaired) == ["fine", "damaged"]
    assert names(read_openml_tables("s", cache=tmp_path / "vsa")[0]) == ["fine", "damaged"]


@pytest.mark.parametrize("outage", ["cut", "error page", "database", "hang"])
def test_an_outage_half_way_keeps_what_is_there_and_the_next_run_goes_on(
    server: OpenMLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outage: str
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.3)
    for i in range(1, 8):
        server.add(i, numeric(i, f"set {i}"))
    server.suites["s"] = list(range(1, 8))

    def fail_after_two(done: int, _: int, __: str) -> None:
        if done == 2:
            server.mode = outage
            server.requests.clear()

    store, _ = read_openml_tables("s", cache=tmp_path / "vsa", progress=fail_after_two)
    assert names(store) == ["set 1", "set 2"]
    assert [name for name, _ in store.skipped] == [f"OpenML task {i}" for i in range(3, 8)]
    assert all("could not be downloaded" in reason and "run again" in reason for _, reason in store.skipped)
    assert sum(server.requests.values()) <= 3  # after three failures nobody waits for the others

    server.mode = "ok"
    server.requests.clear()
    complete, _ = read_openml_tables("s", cache=tmp_path / "vsa")
    assert names(complete) == [f"set {i}" for i in range(1, 8)]
    assert complete.skipped == []
    assert not any(path.endswith(("/task/1", "/task/2", "/data/1", "/data/2")) for path in server.requests)
    assert [t.split for t in complete][:2] == [t.split for t in store]


def test_an_interrupted_download_goes_on_where_it_stopped(server: OpenMLServer, tmp_path: Path) -> None:
    for i in range(1, 5):
        server.add(i, numeric(i, f"set {i}"))
    server.suites["s"] = [1, 2, 3, 4]

    def interrupt(done: int, _: int, __: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_openml_tables("s", cache=tmp_path / "vsa", progress=interrupt)
    server.requests.clear()
    assert len(read_openml_tables("s", cache=tmp_path / "vsa")[0]) == 4
    assert {path for path in server.requests if path.startswith("/file")} == {"/file/4/data.arff"}
    assert not list((tmp_path / "vsa").rglob("*.new*"))


def test_files_that_were_cut_short_are_fetched_anew(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(1, numeric(10, "a"))
    server.suites["s"] = [1]
    first, _ = read_openml_tables("s", cache=tmp_path / "vsa")
    (encoded,) = (tmp_path / "vsa").rglob("task-1.npz")
    (arff,) = (tmp_path / "client").rglob("dataset.arff")
    # A row short, at the end of a line: it parses, but is not the file.
    lines = arff.read_text().splitlines(keepends=True)
    for damage in ("".join(lines[:-1]), "".join(lines)[: len("".join(lines)) // 2], ""):
        encoded.write_bytes(encoded.read_bytes()[:100])
        arff.write_text(damage)
        for pickled in arff.parent.glob("dataset.pkl*"):
            pickled.unlink()
        server.requests.clear()
        again, _ = read_openml_tables("s", cache=tmp_path / "vsa")
        np.testing.assert_array_equal(again.tables[0].x, first.tables[0].x)
        assert server.requests["/file/10/data.arff"] == 1
    (listed,) = (tmp_path / "vsa").rglob("selection-*.json")
    listed.write_text('{"tasks": [[1')
    assert len(read_openml_tables("s", cache=tmp_path / "vsa")[0]) == 1


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


def test_what_cannot_be_had_is_said_in_one_line(server: OpenMLServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no OpenML suite 'nosuch' at http.*Unknown study nosuch.*OpenML-CC18"):
        read_openml_tables("nosuch", cache=tmp_path / "vsa")
    with pytest.raises(InputError, match="no task in the selection"):
        read_openml_tables(cache=tmp_path / "vsa")
    server.suites["empty"] = []
    with pytest.raises((InputError, UsageError), match="suite"):
        read_openml_tables("empty", cache=tmp_path / "vsa")
    server.mode = "cut"
    with pytest.raises(InputError, match="cannot be reached"):
        read_openml_tables(99, cache=tmp_path / "vsa")
    with pytest.raises(InputError, match="cannot be reached"):
        read_openml_tables(cache=tmp_path / "vsa")
    (tmp_path / "list.json").write_text(json.dumps({"tasks": 3}))
    with pytest.raises(InputError, match=r"list\.json: no readable list of OpenML tasks"):
        OpenMLSelection.load(tmp_path / "list.json")


def test_the_client_is_silent_and_left_as_it_was(
    server: OpenMLServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import openml
    import requests.adapters

    server.add(1, numeric(10, "a"))
    server.add(2, replace(numeric(11, "b"), md5="1"))
    server.suites["s"] = [1, 2]
    send, handlers, level = (
        requests.adapters.HTTPAdapter.send,
        list(logging.root.handlers),
        logging.root.manager.disable,
    )
    read_openml_tables("s", cache=tmp_path / "vsa")
    assert capfd.readouterr() == ("", "")
    assert requests.adapters.HTTPAdapter.send is send
    assert logging.root.handlers == handlers
    assert logging.root.manager.disable == level
    assert openml.config.server == server.api


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


def test_processes_that_download_at_once_do_not_meet(
    server: OpenMLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One waits while the other fetches, and then finds it in the client's cache.

    Here they are threads, which the lock keeps apart as well.
    """
    server.add(1, numeric(10, "a"))
    server.suites["s"] = [1]
    load, entered = client.load_frame, []

    def slow(task: client.TaskDescription) -> tuple[pd.DataFrame, pd.Series]:
        entered.append(task.task_id)
        if len(entered) == 1:
            other.start()
            other.join(1)
            assert len(entered) == 1
        return load(task)

    def read(cache: Path) -> None:
        results.append(read_openml_tables("s", cache=cache)[0])

    results: list[TableStore] = []
    other = threading.Thread(target=read, args=(tmp_path / "two",))
    monkeypatch.setattr(client, "load_frame", slow)
    read(tmp_path / "one")
    other.join(20)
    assert [names(store) for store in results] == [["a"], ["a"]]
    assert server.requests["/file/10/data.arff"] == 1
    assert not list((tmp_path / "client").rglob(".vsa.lock"))


def test_a_cache_that_cannot_be_written_is_done_without(server: OpenMLServer, tmp_path: Path) -> None:
    server.add(1, numeric(10, "a"))
    server.add(2, numeric(20, "b", per_class=(0, 0)))  # of no use
    server.suites["s"] = [1, 2]
    (tmp_path / "file").write_text("")
    spec = SourceSpec(openml=("s",))
    collection = collect(spec, "classification", cache=tmp_path / "file")
    assert names(collection.tables) == ["a"]
    assert [name for name, _ in collection.tables.skipped] == ["OpenML task 2"]
    (note,) = collection.notes
    assert note.startswith(f"encoded tables are not kept for the next run: {tmp_path / 'file'}")
