"""Files written by several processes at once, and by processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vsacli.support import atomic_files
from vsacli.support.atomic_files import OLD, replacing

# Writes PATH a number of times, from a moment on that all such processes wait for.
WRITER = """
import sys, time
from pathlib import Path
from vsacli.support.atomic_files import replacing
path, letter, start = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
time.sleep(max(0, start - time.time()))
for _ in range(300):
    with replacing(path) as fresh, fresh.open("xb") as file:
        for _ in range(20):
            file.write(letter.encode() * 1000)
            file.flush()
"""
# Writes half a file and waits to be killed.
HALF = """
import sys, time
from pathlib import Path
from vsacli.support.atomic_files import replacing
with replacing(Path(sys.argv[1])) as fresh:
    fresh.write_bytes(b"half")
    print("written", flush=True)
    time.sleep(60)
"""


def python(code: str, *args: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE)


@pytest.fixture(autouse=True)
def nothing_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is a process that has not yet written anywhere."""
    monkeypatch.setattr(atomic_files, "_swept", set())


def test_after_an_exception_the_older_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as fresh:
            fresh.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["x"])
    with replacing(path) as fresh:
        fresh.write_text("new")
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["x"])


def test_processes_that_write_at_once_do_not_meet(tmp_path: Path) -> None:
    path, start = tmp_path / "x", time.time() + 0.7
    running = [python(WRITER, path, letter, start) for letter in "ab"]
    seen = set()
    while any(p.poll() is None for p in running):
        if path.exists():
            seen.add(path.read_bytes())
    for process in running:
        process.communicate()
    assert [p.returncode for p in running] == [0, 0]
    assert seen <= {b"a" * 20_000, b"b" * 20_000}  # never half of one, nor some of both
    assert len(seen) == 2
    assert os.listdir(tmp_path) == ["x"]


def test_what_a_killed_process_left_is_removed_a_day_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    process = python(HALF, path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.read_text() == "old"
    (left,) = set(os.listdir(tmp_path)) - {"x"}
    kept = [".vsa-notes.tmp", "x.tmp", ".vsa-0123456789abcdef"]  # a user's own
    for name in kept:
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (0, 0))

    with replacing(path) as fresh:
        fresh.write_text("new")
    assert (tmp_path / left).exists()  # it might still be written
    long_ago = time.time() - OLD - 1
    os.utime(tmp_path / left, (long_ago, long_ago))
    monkeypatch.setattr(atomic_files, "_swept", set())
    with replacing(path) as fresh:
        fresh.write_text("newer")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "x"])


def test_a_file_without_a_folder_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with replacing(Path("x")) as fresh:
        fresh.write_text("new")
    assert os.listdir() == ["x"]
