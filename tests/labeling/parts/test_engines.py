"""Who works on the parts changes no byte: one process, several, Ray; and what happens when one of them dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.labeling.parts.conftest import LabelParts, MakeParts, bytes_of
from vsacli.errors import UsageError
from vsacli.labeling.parts import rayengine
from vsacli.labeling.parts.record import NAME

VSA = Path(sys.executable).parent / "vsa"
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'vsacli[ray]'")


def command(folder: Path, output: Path, *more: str) -> list[str]:
    return [
        str(VSA),
        "label",
        str(folder),
        "-t",
        "y",
        "--exclude",
        "truth",
        "-o",
        str(output),
        "--device",
        "cpu",
        *more,
    ]


def run(*args: str) -> str:
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_killed_run_goes_on(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    """kill -9 of the command takes its workers with it; finished parts are kept; two processes write what one does."""
    folder, output = make_parts(6, 400), tmp_path / "two"
    more = "--confidence", "--workers", "2"
    with subprocess.Popen(command(folder, output, *more), stderr=subprocess.DEVNULL) as process:
        wait_for_parts(output, 1)
        workers = children(process.pid)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    deadline = time.monotonic() + 120
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "workers outlive the command"
        time.sleep(0.05)
    assert 1 <= len(list(output.glob("*.parquet"))) < 6
    said = run(*command(folder, output, *more))
    report = label_parts(folder, confidence=True)
    assert bytes_of(output) == bytes_of(tmp_path / "out")
    assert f"vsa: table: {folder}, 2,400 rows, 4 columns\n" in said
    assert "vsa: missing: 1,596: empty (1,596)\n" in said
    assert "vsa: filled: 1,596" in said
    assert f"vsa: confidence: {report.mean_confidence:.3f} on average\n" in said


def test_a_killed_worker_is_told(make_parts: MakeParts, tmp_path: Path):
    folder, output = make_parts(6, 400), tmp_path / "out"
    with subprocess.Popen(
        command(folder, output, "-q", "--workers", "2"), stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_parts(output, 1)
        for pid in children(process.pid):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                break
        _, said = process.communicate()
    assert process.returncode == 1
    (line,) = said.splitlines()
    assert line.startswith("vsa: error: a worker process ended unexpectedly (killed, or out of memory) at ")
    assert (output / NAME).exists()


def wait_for_parts(output: Path, number: int) -> None:
    deadline = time.monotonic() + 600
    while len(list(output.glob("*.parquet"))) < number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_without_ray_the_error_says_what_to_install(vsa, make_parts: MakeParts, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(rayengine, "find_spec", lambda name: None)
    folder = make_parts(1)
    result = vsa(*command(folder, tmp_path / "out", "--engine", "ray")[1:])
    assert result.error == "vsa: error: --engine ray needs Ray, which is not installed: pip install 'vsacli[ray]'"
    assert result.code == 2
    with pytest.raises(UsageError):
        rayengine.on_ray("127.0.0.1:6379")


@pytest.mark.parametrize(
    ("option", "file", "message"),
    [
        (("--workers", "2"), "in/part-0.parquet", "--workers is for a folder of Parquet parts"),
        (("--header-line", "2"), "in", "--header-line is for a text file"),
        (("--engine", "ray"), "in/part-0.parquet", "--engine is for a folder of Parquet parts"),
        (("--ray-address", "auto"), "in", "--ray-address auto needs --engine ray"),
    ],
)
def test_options_that_do_not_fit(vsa, make_parts: MakeParts, tmp_path: Path, option, file: str, message: str):
    make_parts(1)
    result = vsa("label", tmp_path / file, "-t", "y", "-o", tmp_path / "out", *option)
    assert message in result.error
    assert result.code == 2


# A worker that is killed the first time it has begun to write its part; then Ray starts the task again.
KILLED_ONCE = """
import os, signal, sys
from pathlib import Path
import ray
from vsacli.labeling import LabelOptions
from vsacli.labeling.parts import rayengine, work
from vsacli.labeling.parts.run import label_folder

marker = Path(sys.argv[3])

def killed_once(plan, part, output):
    if part.name == "part-1.parquet" and not marker.exists():
        marker.touch()
        Path(output, ".vsa-half.tmp").write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    from vsacli.labeling.parts.work import label_part
    return label_part(plan, part, output)

if __name__ == "__main__":
    rayengine._work = killed_once
    options = LabelOptions(target="y", exclude=("truth",), device="cpu")
    label_folder(sys.argv[1], sys.argv[2], options, engine=rayengine.on_ray(workers=2))
"""


@needs_ray
def test_ray_gives_the_same_bytes(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    folder = make_parts(3, 300)
    label_parts(folder, confidence=True)
    said = run(*command(folder, tmp_path / "ray", "--confidence", "--engine", "ray", "--workers", "2"))
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "out")
    assert all(line.startswith("vsa: ") for line in said.splitlines())


@needs_ray
def test_ray_labels_the_part_of_a_killed_worker_again(make_parts: MakeParts, label_parts: LabelParts, tmp_path: Path):
    folder = make_parts(3, 60)
    label_parts(folder)
    script, marker = tmp_path / "killed_once.py", tmp_path / "killed"
    script.write_text(KILLED_ONCE, encoding="utf-8")
    run(sys.executable, str(script), str(folder), str(tmp_path / "ray"), str(marker))
    assert marker.exists()
    files = bytes_of(tmp_path / "ray")
    assert files.pop(".vsa-half.tmp") == b"half of it"
    assert files == bytes_of(tmp_path / "out")
