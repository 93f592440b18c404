"""OpenML with faults: what is broken, cut short or not there, and what is kept for the next run."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vsacli.errors import InputError, UsageError
from vsacli.tasks import openml_client as client
from vsacli.tasks.openml_selection import OpenMLSelection
from vsacli.tasks.openml_source import read_openml_tables
from vsacli.tasks.store import TableStore
from vsacli.training.sources import SourceSpec, collect

from .openml_data import names, numeric
from .openml_server import OpenMLServer


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
    for i in range(1, 8):
        server.add(i, numeric(i, f"set {i}"))
    server.suites["s"] = list(range(1, 8))

    def fail_after_two(_: str, done: int, __: int) -> None:
        if done == 2:
            server.mode = outage
            monkeypatch.setattr(client, "TIMEOUT_S", 0.3)  # only now: a busy machine may take longer for a good answer
            server.requests.clear()

    store, _ = read_openml_tables("s", cache=tmp_path / "vsa", progress=fail_after_two)
    assert names(store) == ["set 1", "set 2"]
    assert [name for name, _ in store.skipped] == [f"OpenML task {i}" for i in range(3, 8)]
    assert all("could not be downloaded" in reason and "run again" in reason for _, reason in store.skipped)
    assert sum(server.requests.values()) <= 3  # after three failures nobody waits for the others

    server.mode = "ok"
    monkeypatch.undo()
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

    def interrupt(_: str, done: int, __: int) -> None:
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
    with pytest.raises(InputError, match=r"list\.json: not a readable list of OpenML tasks"):
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
