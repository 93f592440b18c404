"""Faults of the machine and of the world, met by the command as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.conftest import Vsa, make_two_groups

ROOT = Path(__file__).parent.parent
VSA = Path(sys.executable).parent / "vsa"

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


def run(
    *args: str | Path, folder: Path, user: int | None = None, **environment: str | None
) -> subprocess.CompletedProcess:
    """Run the command in `folder`; a variable that is None is taken away. `user`: as whom, if we may choose."""
    env = {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
    done = subprocess.run([VSA, *args], cwd=folder, env=env, capture_output=True, text=True, user=user)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_bytes(make_two_groups().csv())
    return tmp_path


@posix
def test_killed_while_it_writes_the_target_is_old_or_new():
    """Ten times; `python tests/faults/kill_writing.py 100` does it a hundred times."""
    done = subprocess.run(
        [sys.executable, ROOT / "faults" / "kill_writing.py", "10"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {what: int(n) for n, what in (line.split(maxsplit=1) for line in done.stdout.splitlines())}
    assert sum(counts.values()) == 10
    assert counts.get("old, killed", 0) >= 1


@posix
@pytest.mark.parametrize("what", ["directory", "file"])
def test_places_that_are_read_only(vsa: Vsa, what: str):
    """For a user whom permissions bind it is said before any work, and nothing is left or changed."""
    with tempfile.TemporaryDirectory() as name:
        folder, superuser = Path(name), os.geteuid() == 0
        (folder / "in.csv").write_bytes(make_two_groups().csv())
        assert vsa("label", folder / "in.csv", "-t", "label", "-o", folder / "out.csv").code == 0
        before = (folder / "out.csv").read_bytes()
        os.chmod(folder / "out.csv", 0o444)
        os.chmod(folder, 0o555 if what == "directory" else 0o777)
        if superuser:
            os.seteuid(65534)  # after a first run, so that all is imported
        try:
            result = vsa("label", folder / "in.csv", "-t", "label", "-o", folder / "out.csv")
        finally:
            if superuser:
                os.seteuid(0)
            os.chmod(folder, 0o700)
        assert re.search(r"cannot write .*out\.csv: the (directory|file) is read-only$", result.error)
        assert result.code == 1
        assert (folder / "out.csv").read_bytes() == before
        assert sorted(os.listdir(folder)) == ["in.csv", "out.csv"]


@posix
def test_a_disk_that_fills_up_leaves_the_old_file(table: Path):
    """A limit on the size of files stands in for the disk."""
    (table / "out.csv").write_bytes(b"old")
    large = b"x,label\n" + b"1,a\n2,\n" * 200_000
    (table / "large.csv").write_bytes(large)
    script = f"ulimit -f 100; trap '' XFSZ; exec '{VSA}' label large.csv -t label -o out.csv -q"
    done = subprocess.run(["bash", "-c", script], cwd=table, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"vsa: error: cannot write out\.csv: File too large\n", done.stderr)
    assert (table / "out.csv").read_bytes() == b"old"
    assert sorted(os.listdir(table)) == ["in.csv", "large.csv", "out.csv"]


@posix
@pytest.mark.parametrize("how", ["no home", "no cache can be written"])
def test_a_home_that_is_of_no_use(table: Path, how: str):
    """Neither a home directory nor a cache is needed to label a table."""
    nowhere = table / "in.csv" / "home"
    environment = {
        "no home": {"HOME": None, "XDG_CACHE_HOME": None, "USER": None, "LOGNAME": None},
        "no cache can be written": {"HOME": "/proc", "XDG_CACHE_HOME": str(nowhere), "HF_HOME": str(nowhere)},
    }[how]
    done = run("label", "in.csv", "-t", "label", "-q", folder=table, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 25
    assert os.listdir(table) == ["in.csv"]


def test_a_locale_that_is_not_utf8(tmp_path: Path):
    """Names and cells beyond ASCII go through it unharmed; what cannot be shown is spelled out."""
    data = make_two_groups().csv({"a": "größe", "b": "数"}).decode().replace("label", "étiquette").encode()
    (tmp_path / "données.csv").write_bytes(data)
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # else Python takes C for UTF-8
    env = {**os.environ, "VSA_SHOW_VALUES": "1", **locale}
    done = subprocess.run([VSA, "label", "données.csv", "-t", "étiquette"], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().count("größe") + done.stdout.decode().count("数") == 24
    assert b"labels: 8 given" in done.stderr
    assert b"Traceback" not in done.stderr
    wrong = subprocess.run([VSA, "label", "données.csv", "-t", "x数"], cwd=tmp_path, env=env, capture_output=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(b"vsa: error: ")
    assert wrong.stderr.count(b"\n") == 1


@posix
def test_an_input_that_changes_under_way(table: Path):
    """What was read is what is labeled and written: text is held in memory from one moment on."""
    before = (table / "in.csv").read_bytes()
    os.mkfifo(table / "pipe")
    process = subprocess.Popen(
        [VSA, "label", "in.csv", "-t", "label", "--labeled", "pipe", "-o", "out.csv", "-q"],
        cwd=table,
        stderr=subprocess.PIPE,
    )
    with open(table / "pipe", "wb") as pipe:  # opens when the command, which has read in.csv by then, opens it
        (table / "in.csv").write_bytes(b"something,else\n")
        pipe.write(b"x,y,label\n1,20,a\n")
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    after = (table / "out.csv").read_bytes()
    assert [line.rsplit(b",", 1)[0] for line in after.splitlines()] == [
        line.rsplit(b",", 1)[0] for line in before.splitlines()
    ]


@posix
def test_an_interrupt_while_it_writes_leaves_the_old_file(table: Path):
    """The reader of the labels is slow: the command waits in the middle of its work when Ctrl-C comes."""
    (table / "out.csv").write_bytes(b"old")
    large = table / "large.csv"
    large.write_bytes(b"x,label\n" + b"1,a\n2,\n" * 2_000_000)
    process = subprocess.Popen(
        [VSA, "label", large, "-t", "label", "-o", "out.csv"], cwd=table, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(name.startswith(".vsa-") for name in os.listdir(table)) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it was faster than the signal")
    assert (process.returncode, stderr) == (130, "vsa: interrupted\n")
    assert (table / "out.csv").read_bytes() == b"old"
    assert sorted(os.listdir(table)) == ["in.csv", "large.csv", "out.csv"]
