"""Two runs of one command into one place: the second is refused, unless the first was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_eval import suite as suite
from tests.cli.test_meta_train import command
from tests.cli.test_meta_train import folder as folder
from tests.labeling.parts.conftest import MakeParts
from tests.labeling.parts.conftest import make_parts as make_parts

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("VSA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def started() -> Iterator[Start]:
    """Start a run of `vsa` and let it sleep once it has begun; it is killed when the test ends."""
    running: list[subprocess.Popen[bytes]] = []

    def start(begun: Callable[[], bool], *args: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "vsacli", *map(str, args)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.append(process)
        end = time.monotonic() + 120
        while not begun():
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def held(lock: Path) -> Callable[[], bool]:
    """Whether a run holds a lock by now: it writes its name into the file once it does."""
    return lambda: lock.is_file() and lock.stat().st_size > 0


def killed(process: subprocess.Popen[bytes]) -> None:
    assert process.poll() is None
    process.kill()
    process.wait()


def refused(result, place: Path, process: subprocess.Popen[bytes], option: str) -> None:
    assert result.code == 2
    assert result.error == (
        f"vsa: error: {place}: another run is writing there (process {process.pid}); "
        f"wait for its end or stop it, or give another {option}"
    )


def test_training(vsa, started: Start, folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    state = run / "state" / "state.json"
    # A worker process is a fork: it must not hold on to the lock when the run is killed.
    process = started(
        state.exists, *command(folder, run, "--max-time", "10m", "--save-every", "1", "--workers", "1", "-q")
    )
    refused(vsa("meta-train", "--resume", "-o", run, "--steps", "3"), run, process, "--output")
    refused(vsa(*command(folder, run, "--steps", "3")), run, process, "--output")
    killed(process)
    assert (run / ".vsa-run.lock").exists()
    done = vsa("meta-train", "--resume", "-o", run, "--max-time", "1s", "--workers", "0", "-q")
    assert done.code == 0, done.stderr
    assert not (run / ".vsa-run.lock").exists()


def test_parts(vsa, started: Start, make_parts: MakeParts, tmp_path: Path) -> None:
    parts, output = make_parts(2), tmp_path / "out"
    args = ("label", parts, "-t", "y", "--exclude", "truth", "-o", output, "--device", "cpu", "-q")
    process = started(held(output / ".vsa-parts.lock"), *args)
    refused(vsa(*args), output, process, "--output")
    killed(process)
    done = vsa(*args)
    assert done.code == 0, done.stderr
    assert sorted(p.name for p in output.iterdir()) == ["part-0.parquet", "part-1.parquet"]


def test_results(vsa, started: Start, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    args = ("eval", "--suite", suite, "--methods", "centroid", "--shots", "1", "--unlabeled", "10", "--json", out)
    process = started(held(tmp_path / ".r.jsonl.lock"), *args, "--episodes", "100000", "--jobs", "1")
    refused(vsa(*args, "--episodes", "1", "--jobs", "1"), out, process, "--json")
    killed(process)
    done = vsa(*args, "--episodes", "1", "--jobs", "1")
    assert done.code == 0, done.stderr
    assert len(out.read_text().splitlines()) == 3
    assert not list(tmp_path.glob(".r.jsonl*"))
