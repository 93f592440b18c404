"""The lock of a run, between real processes."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vsacli.errors import UsageError
from vsacli.support.locks import locked

BUSY = "{holder} is at it; wait"
HOLD = """
import os, sys, time
from pathlib import Path
from vsacli.support.locks import locked
with locked(Path(sys.argv[1]), "busy"):
    if len(sys.argv) > 2 and os.fork() == 0:  # as a worker of a DataLoader
        print(os.getpid(), flush=True)
        time.sleep(60)
        os._exit(0)
    if len(sys.argv) == 2:
        print(os.getpid(), flush=True)
    time.sleep(60)
"""


def holding(path: Path, *args: str) -> tuple[subprocess.Popen[str], int]:
    """A process that holds the lock, and the number that it prints: its own, or that of its child."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, path, *args], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_one_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process, number = holding(path)
    with pytest.raises(UsageError, match=rf"^process {number} is at it; wait$"), locked(path, BUSY):
        pass
    kill(process)
    assert path.exists()  # and means nothing
    with locked(path, BUSY), pytest.raises(UsageError, match=f"process {os.getpid()} "), locked(path, BUSY):
        pass
    assert not path.exists()


def test_children_of_a_killed_run_do_not_hold_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process, child = holding(path, "fork")
    try:
        with pytest.raises(UsageError, match=f"process {process.pid} "), locked(path, BUSY):
            pass
        kill(process)
        os.kill(child, 0)  # it lives on
        with locked(path, BUSY):
            pass
    finally:
        os.kill(child, signal.SIGKILL)


def test_waiting_for_the_other(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process, _ = holding(path)
    code = (
        "import sys; from pathlib import Path; from vsacli.support.locks import locked\n"
        "with locked(Path(sys.argv[1]), wait=True): pass"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code, path])
    time.sleep(0.7)
    assert waiting.poll() is None
    kill(process)
    assert waiting.wait(20) == 0
    assert not path.exists()


def test_a_lock_that_was_removed_while_it_was_waited_for(tmp_path: Path) -> None:
    """Each holder removes the file: of many that wait, only one at a time may be inside."""
    path, log = tmp_path / "lock", tmp_path / "log"
    code = f"""
from pathlib import Path
from vsacli.support.locks import locked
for _ in range(100):
    with locked(Path({str(path)!r}), wait=True), open({str(log)!r}, "a") as file:
        for word in ("in", "out"):
            print(word, file=file, flush=True)
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [p.wait(60) for p in running] == [0, 0, 0]
    assert log.read_text().split() == ["in", "out"] * 300
    assert not path.exists()


def test_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    host = re.escape(socket.gethostname())
    for text, told in ((b"", "another process"), (b"12 elsewhere\n", "process 12 on elsewhere"), (b"\xff", "another ")):
        with locked(path, BUSY):
            path.write_bytes(text)
            with pytest.raises(UsageError, match=f"^{told}") as caught, locked(path, BUSY):
                pass
        assert not re.search(host, str(caught.value))


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def none(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", none)
    with locked(tmp_path / "lock", BUSY), locked(tmp_path / "lock", BUSY):
        pass
    assert not os.listdir(tmp_path)


def test_a_folder_that_cannot_be_written_is_not_locked(tmp_path: Path) -> None:
    with locked(tmp_path / "absent" / "lock", BUSY):
        pass
    assert not (tmp_path / "absent").exists()
