"""Signals at any moment, memory that is short, files that cannot be written: one line, a defined code, nothing lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import TwoGroups, Vsa
from tests.labeling.parts.conftest import MakeParts
from tests.labeling.parts.conftest import make_parts as make_parts
from vsacli.insight.report.facts import _bin, _edges
from vsacli.support.loading import drop_unusable_thread_count
from vsacli.support.signals import Terminated, held, signals_unwind
from vsacli.tables import output

VSA = Path(sys.executable).parent / "vsa"
LABEL = ["label", "in.csv", "-t", "label", "-o", "out.csv", "-q"]


@pytest.fixture
def folder(tmp_path: Path, two_groups: TwoGroups) -> Path:
    (tmp_path / "in.csv").write_bytes(two_groups.csv())
    return tmp_path


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True)


# A module that stands in for a library: it says that it is being loaded, and takes a while for it.
SLOW_LIBRARY = """
import sys, time
sys.modules.pop("{name}")
open("loading", "w").close()
for _ in range({tenths}):
    time.sleep(0.1)
open("loaded", "w").close()
raise ImportError("only a stand-in")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["torch", "pyarrow"])
def test_a_signal_waits_while_a_library_is_loaded(folder: Path, number: signal.Signals, name: str) -> None:
    (folder / "libraries").mkdir()
    (folder / "libraries" / f"{name}.py").write_text(SLOW_LIBRARY.format(name=name, tenths=5))
    env = {**os.environ, "PYTHONPATH": str(folder / "libraries")}
    process = subprocess.Popen(
        [VSA, *LABEL],
        cwd=folder,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # under nohup, children would ignore SIGHUP
    )
    wait_for(lambda: (folder / "loading").exists(), process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert (folder / "loaded").exists()
    interrupted = number == signal.SIGINT
    assert stderr == ("vsa: interrupted\n" if interrupted else "vsa: terminated\n")
    assert process.returncode == (130 if interrupted else 143)
    assert not (folder / "out.csv").exists()
    assert not (folder / ".out.csv.lock").exists()


def test_a_second_signal_does_not_wait(folder: Path) -> None:
    (folder / "libraries").mkdir()
    (folder / "libraries" / "torch.py").write_text(SLOW_LIBRARY.format(name="torch", tenths=600))
    env = {**os.environ, "PYTHONPATH": str(folder / "libraries")}
    process = subprocess.Popen([VSA, *LABEL], cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (folder / "loading").exists(), process)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (-signal.SIGTERM, "")


def test_signals_from_the_first_moment_on(folder: Path) -> None:
    """While the command line itself is loaded they wait as well."""
    code = (
        "import os, signal, sys\n"
        "import vsacli.__main__ as command\n"
        "class Sends:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Sends())\n"
        "sys.argv = ['vsa', '--version']\n"
        "sys.exit(command.run())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "vsa: interrupted\n")


def test_what_waits_is_raised_at_the_end_of_the_block() -> None:
    log = []
    for number, expected in ((signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)):
        before = signal.getsignal(number)
        with pytest.raises(expected), signals_unwind():  # noqa: PT012
            with held(), held():
                signal.raise_signal(number)
                log.append(number)
            log.append("not reached")
        assert signal.getsignal(number) is before
    assert log == [signal.SIGTERM, signal.SIGINT]


def test_code_of_others_keeps_its_own_handlers() -> None:
    received = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        with signals_unwind(), held():
            signal.raise_signal(signal.SIGTERM)
        assert received == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="where ulimit -v counts")
@pytest.mark.parametrize("megabytes", [100, 400, 700, 1000])
def test_a_limit_on_memory(folder: Path, megabytes: int) -> None:
    done = shell(f"ulimit -v {megabytes * 1000}; exec '{VSA}' {' '.join(LABEL)}", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("vsa: error: ")
    assert done.stderr.count("\n") == 1
    assert "memory" in done.stderr
    assert sorted(os.listdir(folder)) == ["in.csv"]


@pytest.mark.skipif(sys.platform != "linux", reason="where a directory in use can be removed")
def test_a_working_directory_that_was_removed(folder: Path) -> None:
    script = f"mkdir gone; cd gone; rmdir ../gone; exec '{VSA}' label '{folder / 'in.csv'}' -t label -q"
    done = shell(script, folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "vsa: error: the working directory was removed: change to another one (cd), and run it again\n"
    )


@pytest.mark.parametrize("number", ["99", "99999999999999999999", "4294967296"])
@pytest.mark.parametrize("option", ["--output", "--json", "--report", "--suggest-to"])
def test_descriptors_that_are_not_open(vsa: Vsa, folder: Path, number: str, option: str) -> None:
    for place in (f"/dev/fd/{number}", f"/proc/self/fd/{number}"):
        result = vsa("label", folder / "in.csv", "-t", "label", option, place)
        assert result.code == 1
        assert result.error == f"vsa: error: cannot write {place}: no such file is open"


@pytest.mark.parametrize(
    ("name", "value"),
    [("OMP_NUM_THREADS", "abc"), ("OMP_NUM_THREADS", ""), ("OMP_STACKSIZE", "bad"), ("OMP_PROC_BIND", "bad")],
)
def test_what_openmp_does_not_understand_is_not_printed(folder: Path, name: str, value: str) -> None:
    done = shell(f"exec '{VSA}' {' '.join(LABEL)}", folder, **{name: value})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("value", "kept"), [("abc", False), ("-1", False), ("0", False), ("9" * 30, False), ("1,2", False), ("2", True)]
)
def test_numbers_of_threads(monkeypatch: pytest.MonkeyPatch, value: str, kept: bool) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    drop_unusable_thread_count()
    assert ("OMP_NUM_THREADS" in os.environ) == kept


def test_nothing_is_ignored_in_development_mode(folder: Path) -> None:
    done = shell(
        f"exec '{VSA}' {' '.join(LABEL)} --report r.html --suggest-to s.csv.gz --json j.json",
        folder,
        PYTHONDEVMODE="1",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("option", ["--report", "--json", "--suggest-to"])
def test_a_file_on_the_run_that_cannot_be_written_leaves_the_table(
    vsa: Vsa, folder: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """All take their places at the end, or none does."""
    (folder / "out.csv").write_bytes(b"old")
    write = output._Sink.write

    def fails(self: output._Sink, data: bytes) -> int:
        if self._name.endswith("more"):
            raise output.OutputError(f"cannot write {self._name}: No space left on device")
        return write(self, data)

    monkeypatch.setattr(output._Sink, "write", fails)
    result = vsa("label", folder / "in.csv", "-t", "label", "-o", folder / "out.csv", "-q", option, folder / "more")
    assert result.code == 1
    assert result.error == f"vsa: error: cannot write {folder / 'more'}: No space left on device"
    assert (folder / "out.csv").read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == ["in.csv", "out.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("option", ["--report", "--json", "--suggest-to"])
def test_a_device_that_fails_late_says_that_the_labels_are_written(vsa: Vsa, folder: Path, option: str) -> None:
    out = folder / "out.csv"
    result = vsa("label", folder / "in.csv", "-t", "label", "-o", out, "-q", option, "/dev/full")
    assert result.code == 1
    assert result.error == (
        f"vsa: error: cannot write /dev/full: No space left on device; the labels are written to {out}"
    )
    assert out.read_bytes().count(b"\n") == 25


def test_two_runs_on_one_file(vsa: Vsa, folder: Path) -> None:
    """The first waits for its labeled rows, from a pipe; the second is refused, also through a link."""
    path = folder / "in.csv"
    os.mkfifo(folder / "pipe")
    (folder / "link.csv").symlink_to("in.csv")
    command = [VSA, "label", "in.csv", "-t", "label", "--labeled", "pipe", "-o", "in.csv", "-q"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        wait_for((folder / ".in.csv.lock").exists, process)
        for name in ("in.csv", "link.csv"):
            result = vsa("label", path, "-t", "label", "-o", folder / name)
            assert result.code == 2
            assert result.error == (
                f"vsa: error: {folder / name}: another run is writing there (process {process.pid}); "
                f"wait for its end or stop it, or give another --output"
            )
        assert vsa("label", path, "-t", "label", "-o", folder / "other.csv").code == 0
        (folder / "pipe").write_bytes(b"x,y,label\n1,20,a\n")
    finally:
        _, stderr = process.communicate(timeout=100)
    assert (process.returncode, stderr) == (0, "")
    assert not any(line.endswith(b",") for line in path.read_bytes().splitlines())
    assert sorted(os.listdir(folder)) == ["in.csv", "in.csv.vsa", "link.csv", "other.csv", "pipe"]
    assert vsa("label", path, "-t", "label", "-o", path).code == 0


@pytest.mark.parametrize(
    "numbers",
    [
        [1.7e308, -1.7e308, 1.6e308, -1.5e308, 1.2e308, 9e307],
        [5e-324, 1e-323, 0.0, 2e-323, 1.5e-323, 1e-320],
        [5e-324, 0.0] * 3,
        [-5e-324, 5e-324] * 3,
        [1e300, -1.0, 2.0, 3.0, 4e-300, 5.0],
    ],
    ids=["largest", "smallest", "one step", "two signs", "both"],
)
def test_a_report_on_numbers_at_the_ends_of_their_range(vsa: Vsa, tmp_path: Path, numbers: list[float]) -> None:
    rng = np.random.default_rng(0)
    cells = [*map(repr, numbers), *[""] * 12]
    rows = [f"{a:.3f},{b:.3f},{cell}" for (a, b), cell in zip(rng.random((18, 2)), cells, strict=True)]
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text("\n".join(["x,y,target", *rows, ""]))
    more = ("--report", tmp_path / "r.html", "--suggest-to", tmp_path / "s.csv", "--json", tmp_path / "j.json")
    result = vsa("label", path, "-t", "target", "--task", "regression", "--confidence", "-o", out, "-q", *more)
    assert result.code == 0, result.stderr
    filled = [float(line.split(",")[2]) for line in out.read_text().splitlines()[1:]]
    assert filled[: len(numbers)] == numbers
    assert np.isfinite(filled).all()
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_bins_at_the_ends_of_the_range_hold_all() -> None:
    largest = sys.float_info.max
    for values in ([largest, -largest], [largest, 1.0], [0.0, 5e-324], [-5e-324, 5e-324], [1e289, 1.1e289], [3.0, 3.0]):
        edges = _edges(np.array(values))
        assert np.isfinite(edges).all()
        assert edges[0] <= min(values)
        assert edges[-1] >= max(values)
        assert sum(_bin(np.array(values), edges)) == len(values)


def test_a_full_disk_in_the_middle_of_a_folder(vsa: Vsa, make_parts: MakeParts, tmp_path: Path) -> None:
    """What is finished stays finished, also if a run that resumes fails; in the end all bytes are those of one run."""
    parts, whole, out = make_parts(4), tmp_path / "whole", tmp_path / "out"
    rng = np.random.default_rng(0)
    code = np.arange(2_000) % 2
    large = {"x": 1 + 8 * code + rng.normal(0, 0.4, 2_000), "word": np.array(["low", "high"])[code]}
    pq.write_table(
        pa.table({**large, "truth": pa.array(code, pa.int8()), "y": pa.array([None] * 2_000, pa.string())}),
        parts / "part-2.parquet",
    )
    args = ["label", str(parts), "-t", "y", "--exclude", "truth", "--device", "cpu", "-q"]
    assert vsa(*args, "-o", whole).code == 0
    # a limit on the size of files stands in for the disk
    names = ["part-0.parquet", "part-1.parquet"]
    for kilobytes in (12, 0):
        done = shell(f"ulimit -f {kilobytes}; trap '' XFSZ; exec '{VSA}' {' '.join(args)} -o '{out}'", tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("vsa: error: ")
        assert "File too large" in done.stderr
        assert done.stderr.count("\n") == 1
        assert sorted(os.listdir(out)) == [".vsa-parts.jsonl", *names]
    written = {name: (out / name).stat().st_mtime_ns for name in names}
    again = vsa(*args, "-o", out)
    assert again.code == 0, again.stderr
    assert {name: (out / name).stat().st_mtime_ns for name in names} == written
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }


@pytest.mark.parametrize("link", ["a part", "another part", "the folder", "an input", "the labeled table"])
def test_outputs_that_are_links_to_inputs(vsa: Vsa, make_parts: MakeParts, tmp_path: Path, link: str) -> None:
    parts, labeled, out = make_parts(2), make_parts(1, folder="more") / "part-0.parquet", tmp_path / "out"
    first, second = parts / "part-0.parquet", parts / "part-1.parquet"
    if link == "the folder":
        out.symlink_to(parts)
    else:
        out.mkdir()
    if link == "a part":
        (out / "part-0.parquet").symlink_to(first)
    elif link == "another part":
        (out / "part-0.parquet").symlink_to(second)
    elif link == "an input":
        first.rename(out / "part-0.parquet")
        first.symlink_to(out / "part-0.parquet")
    elif link == "the labeled table":
        (out / "part-1.parquet").symlink_to(labeled)
    before = [path.read_bytes() for path in (first, second, labeled)]
    result = vsa("label", parts, "-t", "y", "--exclude", "truth", "--labeled", labeled, "-o", out)
    assert result.code == 2
    assert re.search("would replace .*, which is an input|cannot be labeled in place", result.error)
    assert [path.read_bytes() for path in (first, second, labeled)] == before


def test_hard_links_to_inputs_are_cut(vsa: Vsa, make_parts: MakeParts, tmp_path: Path) -> None:
    parts, out = make_parts(2), tmp_path / "out"
    out.mkdir()
    before = {path.name: path.read_bytes() for path in parts.iterdir()}
    for name in before:
        os.link(parts / name, out / name)
    assert vsa("label", parts, "-t", "y", "--exclude", "truth", "-o", out, "-q").code == 0
    assert {path.name: path.read_bytes() for path in parts.iterdir()} == before
    assert pq.read_table(out)["y"].null_count == 0


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_before_there_are_handlers(folder: Path, number: signal.Signals) -> None:
    code = (
        "import os, signal, sys\n"
        "import vsacli.__main__ as command\n"
        "before = signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "class Sends:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'vsacli.support.signals':\n"
        f"            os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Sends())\n"
        "sys.argv = ['vsa', '--version']\n"
        "code = command.run()\n"
        "assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    interrupted = number == signal.SIGINT
    assert (done.returncode, done.stdout) == (130 if interrupted else 143, "")
    assert done.stderr == ("vsa: interrupted\n" if interrupted else "vsa: terminated\n")


def test_numbers_whose_errors_cannot_be_measured(vsa: Vsa, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("x,target\n" + "".join(f"{i},{(-1) ** i * 1.7e308!r}\n" for i in range(20)))
    error = vsa("eval", path, "-t", "target", "--task", "regression").error
    assert "too large for their errors to be measured; divide all by 1e200" in error
