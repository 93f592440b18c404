"""A folder of tables as a source of tasks."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.errors import InputError
from vsacli.tasks.folder import cached_folder, read_folder_tables

RNG = np.random.default_rng(0)


def text(n: int = 30, target: str = "target", delimiter: str = ",", labels: list[str] | None = None) -> str:
    """Two columns of numbers, one of three words, and a label; one label in ten is missing."""
    lines = [delimiter.join(["a", target, "word", "b"])]
    for i in range(n):
        label = "" if i % 10 == 9 else (labels or ["yes", "no"])[i % 2]
        lines.append(delimiter.join([f"{RNG.normal():.3f}", label, ["x", "y", "z"][i % 3], f"{RNG.normal():.3f}"]))
    return "\n".join(lines) + "\n"


def test_files_of_every_kind_become_tables(tmp_path: Path):
    (tmp_path / "one.csv").write_text(text())
    (tmp_path / "two.tsv").write_text(text(delimiter="\t"))
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "three.CSV.GZ").write_bytes(gzip.compress(text().encode()))
    numbers = pa.table({"a": RNG.normal(size=40), "target": RNG.normal(size=40), "b": RNG.normal(size=40)})
    pq.write_table(numbers, tmp_path / "four.parquet")
    (tmp_path / "notes.txt").write_text("not a table")
    store = read_folder_tables(tmp_path)
    assert store.skipped == []
    tables = {t.name: t for t in store}
    assert sorted(tables) == sorted(["one.csv", "two.tsv", os.path.join("deep", "er", "three.CSV.GZ"), "four.parquet"])
    one = tables["one.csv"]
    assert (one.kind, one.n_classes, one.weight, one.family) == ("classification", 2, 1.0, "one.csv")
    assert one.x.shape == (30, 5)  # a, three words, b
    assert one.column.tolist() == [0, 1, 1, 1, 2]
    assert one.y.tolist() == [-1 if i % 10 == 9 else 1 - i % 2 for i in range(30)]  # no, yes
    four = tables["four.parquet"]
    assert (four.kind, four.n_classes, four.x.shape) == ("regression", 1, (40, 2))
    np.testing.assert_allclose(four.y, numbers["target"].to_numpy(), rtol=1e-6)


def test_another_label_column(tmp_path: Path):
    (tmp_path / "one.csv").write_text(text(target="kind"))
    (tmp_path / "two.csv").write_text(text())
    store = read_folder_tables(tmp_path, target="kind")
    assert [t.name for t in store] == ["one.csv"]
    ((name, reason),) = store.skipped
    assert name == "two.csv"
    assert "kind" in reason


def test_tables_of_no_use_are_skipped_with_a_reason(tmp_path: Path):
    (tmp_path / "few.csv").write_text(text(n=15))
    (tmp_path / "one-class.csv").write_text(text(labels=["yes", "yes"]))
    (tmp_path / "equal.csv").write_text("a,target\n" + "".join(f"{i % 7},1.5\n" for i in range(40)))
    (tmp_path / "nothing.csv").write_text("a,target\n" + "".join(f"5,{i % 2}\n" for i in range(40)))
    (tmp_path / "ragged.csv").write_text("a,target\n1,2\n1,2,3\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    (tmp_path / "good.csv").write_text(text())
    store = read_folder_tables(tmp_path)
    assert [t.name for t in store] == ["good.csv"]
    reasons = dict(store.skipped)
    assert set(reasons) == {
        "few.csv", "one-class.csv", "equal.csv", "nothing.csv", "ragged.csv", "empty.csv", "bad.parquet"
    }  # fmt: skip
    assert "too few" in reasons["few.csv"]
    assert "one class" in reasons["one-class.csv"]
    assert "no column to learn from besides the target (a: constant" in reasons["nothing.csv"]
    assert all("\n" not in reason for reason in reasons.values())


def test_splits_are_seven_one_two_of_ten_and_follow_the_seed(tmp_path: Path):
    for i in range(10):
        (tmp_path / f"{i}.csv").write_text(text(n=25))
    splits = [{t.name: t.split for t in read_folder_tables(tmp_path, seed=seed)} for seed in (0, 0, 1)]
    for split in splits:
        assert sorted(split.values()) == ["test"] * 2 + ["train"] * 7 + ["valid"]
    assert splits[0] == splits[1]
    assert splits[0] != splits[2]


def test_a_manifest_decides(tmp_path: Path):
    for kind, name in (("classification", "one"), ("regression", "two")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{name}.csv").write_text(text(labels=["3", "4"]))
    (tmp_path / "three.csv").write_text(text())
    (tmp_path / "not-listed.csv").write_text(text())
    (tmp_path / "manifest.csv").write_text(
        "task_id,kind,family,split,target_rule\n"
        "one,classification,alpha,valid,declared\n"
        "two,regression,alpha,test,auto\n"
        "three,,,,\n"
        "gone,classification,beta,train,declared\n"
    )
    store = read_folder_tables(tmp_path)
    found = {t.name: (t.kind, t.family, t.split, t.weight, t.tags) for t in store}
    assert found == {
        "one": ("classification", "alpha", "valid", 1.0, ("declared",)),
        "two": ("regression", "alpha", "test", 0.25, ("auto",)),
        "three": ("classification", "three", "train", 1.0, ()),
    }
    assert [name for name, _ in store.skipped] == ["gone"]


def test_a_manifest_without_names_says_where(tmp_path: Path):
    (tmp_path / "manifest.csv").write_text("task_id,kind\none,classification\n,regression\n")
    with pytest.raises(InputError, match=r"manifest\.csv, line 3: no task_id"):
        read_folder_tables(tmp_path)


def test_a_manifest_that_is_no_text(tmp_path: Path):
    (tmp_path / "manifest.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        read_folder_tables(tmp_path)


def test_no_folder_and_no_table(tmp_path: Path):
    with pytest.raises(InputError, match="no such folder"):
        read_folder_tables(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match="no table found"):
        read_folder_tables(tmp_path)


def test_progress(tmp_path: Path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text())
    seen: list[tuple[str, int, int]] = []
    read_folder_tables(tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [("reading a.csv", 0, 2), ("reading b.csv", 1, 2)]


def test_duplicate_names_of_columns_stay_apart(tmp_path: Path):
    rows = "".join(f"{RNG.normal():.3f},{RNG.normal():.3f},{'yn'[i % 2]},{RNG.normal():.3f}\n" for i in range(30))
    (tmp_path / "one.csv").write_text("a,b,target,a\n" + rows)
    (table,) = read_folder_tables(tmp_path)
    assert table.column.tolist() == [0, 1, 2]


def test_the_cache_is_used_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from vsacli.tasks import folder as module

    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    (data / "one.csv").write_text(text())
    calls: list[str] = []
    read = module.read_folder_tables

    def counted(folder: Path, *, target: str, seed: int, progress: module.Progress):
        calls.append(target)
        return read(folder, target=target, seed=seed, progress=progress)

    monkeypatch.setattr(module, "read_folder_tables", counted)
    first = cached_folder(data, cache)
    again = cached_folder(data, cache)
    assert len(calls) == 1
    np.testing.assert_array_equal(first.tables[0].x, again.tables[0].x)
    np.testing.assert_array_equal(first.tables[0].y, again.tables[0].y)
    cached_folder(data, cache, target="word")
    cached_folder(data, cache, seed=1)
    assert len(calls) == 3
    (data / "two.csv").write_text(text(n=40))
    assert [t.name for t in cached_folder(data, cache)] == ["one.csv", "two.csv"]
    assert len(calls) == 4
    damaged = max(cache.iterdir(), key=lambda p: p.stat().st_mtime_ns)
    damaged.write_bytes(damaged.read_bytes()[:200])
    assert len(cached_folder(data, cache)) == 2
    assert len(calls) == 5
    assert all(p.suffix == ".npz" for p in cache.iterdir())


def test_with_a_manifest_another_seed_reads_nothing_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from vsacli.tasks import folder as module

    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    (data / "one.csv").write_text(text())
    (data / "manifest.csv").write_text("task_id,kind,family,split,target_rule\none,classification,a,valid,\n")
    first = cached_folder(data, cache, seed=0)
    monkeypatch.setattr(module, "read_folder_tables", lambda *a, **k: pytest.fail("read again"))
    again = cached_folder(data, cache, seed=7)
    assert [t.split for t in again] == [t.split for t in first] == ["valid"]


# Reads a folder through a cache, as often as it is told to; `limit` is the most that a file may have, in bytes.
READER = """
import resource, sys
from pathlib import Path
import numpy as np
from vsacli.tasks import folder
from vsacli.tasks.store import EncodedTable, TableStore
values = np.random.default_rng(0).normal(size=(300, 10)).astype(np.float32)
table = EncodedTable("one.csv", "", "classification", values, np.arange(10, dtype=np.int32), np.zeros(300, int), 1)
folder.read_folder_tables = lambda *_, **__: TableStore([table])  # which would take most of the time
data, cache, times, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(times):
    store = folder.cached_folder(data, cache)
    assert (store.tables[0].x == values).all()
    for path in cache.glob("tables-*"):
        path.unlink(missing_ok=True)  # so that the next time it is written again
print(store.notes)
"""


def reader(data: Path, cache: Path, times: int, limit: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READER, str(data), str(cache), str(times), str(limit)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def two_tables(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("one.csv", "two.csv"):
        (data / name).write_text(text())
    return data


def test_processes_that_read_a_folder_at_once_share_its_cache(tmp_path: Path, two_tables: Path):
    running = [reader(two_tables, tmp_path / "cache", 30) for _ in range(2)]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate() for process in running] == [("[]\n", "")] * 2
    assert [process.returncode for process in running] == [0, 0]
    assert not list((tmp_path / "cache").iterdir())


def test_a_full_cache_is_done_without(tmp_path: Path, two_tables: Path):
    out, err = reader(two_tables, tmp_path / "cache", 1, limit=1000).communicate("go\n")
    assert err == ""
    assert "not kept for the next run" in out
    assert "File too large" in out
    assert not list((tmp_path / "cache").iterdir())


def test_a_cache_that_is_no_folder_is_done_without(tmp_path: Path, two_tables: Path):
    (tmp_path / "cache").write_text("a file")
    store = cached_folder(two_tables, tmp_path / "cache")
    assert len(store) == 2
    (note,) = store.notes
    assert note.startswith(f"encoded tables are not kept for the next run: {tmp_path / 'cache' / 'tables-'}")
    assert note.endswith("VSA_CACHE names another folder")
    assert (tmp_path / "cache").read_text() == "a file"


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret"])
@pytest.mark.parametrize("place", ["task_id", "kind"])
def test_a_manifest_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str, place: str):
    (tmp_path / "secret.csv").write_text("a,target\n1,2\n")
    folder = tmp_path / "tables"
    folder.mkdir()
    row = f"{name},classification" if place == "task_id" else f"secret,{name.rpartition('/')[0]}"
    (folder / "manifest.csv").write_text(f"task_id,kind\n{row}\n")
    with pytest.raises(InputError, match=r"manifest\.csv, line 2: the table's name leads out of the folder"):
        read_folder_tables(folder)
