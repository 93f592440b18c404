"""Everything that can be wrong ends in one line that says what, where and what to do, and a defined exit code."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vsacli.labeling import run as labeling

VSA = Path(sys.executable).parent / "vsa"


@pytest.fixture
def path(two_groups, write) -> Path:
    return write("in.csv", two_groups.csv())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-t", "lable"], r"no column 'lable'; did you mean 'label'\?"),
        (["-t", "nothing like it"], r"it has 3 columns \(VSA_SHOW_VALUES=1 lists them\)"),
        (["-t", "x", "-t", "label"], r"--target is given 2 times; give it only once"),
        (["-t", "label", "-o", "out.xlsx"], r"does not write \.xlsx files"),
        (["-t", "label", "-o", "a", "--output", "b"], r"--output is given 2 times"),
        ([], r"Missing option '--target' / '-t'; see `vsa label --help`"),
        (["-t", "label", "more.csv"], r"unexpected extra argument.*one table is read at a time: for file in"),
        (["-t", "label", "--task", "guess"], r"'--task': 'guess' is not one of"),
        (["-t", "label", "--device", "tpu"], r"'--device'.*: 'tpu' is not one of"),
        (
            ["-t", "label", "--min-confidence", "1.5"],
            r"--min-confidence 1.5: give a number from 0 to 1, or a percentage",
        ),
        (["-t", "label", "--min-confidence", "nan"], r"--min-confidence nan: give a number"),
        (["-t", "label", "--min-confidence", "101%"], r"--min-confidence 101%: give a number"),
        (["-t", "label", "--seed", "x"], r"--seed"),
        (["-t", "label", "--exclude", "z"], r"no column 'z'"),
        (["-t", "label", "--exclude", "label"], r"--exclude label: the target is never an attribute"),
        (["-t", "y", "--task", "regression", "--proba"], r"--proba needs classes"),
        (["-t", "y", "--task", "regression", "--min-confidence", "0.5"], r"--min-confidence needs classes"),
        (["-t", "label", "--encoding", "utf-99"], r"utf-99"),
        (["-t", "label", "--delimiter", "ab"], r"delimiter"),
        (["-t", "label", "--colour"], r"No such option"),
        (["-t", "label", "-o", "out.parquet"], r"in\.csv is text and comes back as text"),
    ],
)
def test_usage_errors(vsa, path: Path, args: list[str], message: str):
    result = vsa("label", path, *args)
    assert re.search(message, result.error)
    assert result.code == 2


def test_both_inputs_from_a_pipe(vsa):
    assert "two inputs are both standard input" in vsa("label", "-", "-t", "y", "--labeled", "-").error


def test_target_header_that_repeats(vsa, two_groups, write):
    result = vsa("label", write("in.csv", two_groups.csv().replace(b"x,y,label", b"label,y,label")), "-t", "label")
    assert result.code == 2
    assert "2 columns are called 'label'" in result.error


def test_parquet_never_goes_to_a_screen_or_a_name_of_text(vsa, tmp_path: Path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": [1.0, 9.0, 2.0], "label": ["a", "b", None]}), path)
    assert "comes back as Parquet" in vsa("label", path, "-t", "label", "-o", tmp_path / "out.csv").error
    ours, screen = pty.openpty()
    command = [VSA, "label", path, "-t", "label", "-o", "-"]
    done = subprocess.run(command, stdout=screen, stderr=subprocess.PIPE, text=True)
    os.close(screen)
    os.close(ours)
    assert done.returncode == 2
    assert "is Parquet, a binary format; give --output" in done.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"empty"),
        (b"\xef\xbb\xbf", r"empty"),
        (b"x,y,label\n", r"no rows"),
        (b"x,y,label\n1,2,a\n1,2\n", r"row 2 \(line 3\)"),
        (b"x,label\n1,\n2,\n", r"no label in any of its 2 rows"),
        (b"PAR1 and then nothing of the kind", r"Parquet"),
    ],
)
def test_bad_data(vsa, write, data: bytes, message: str):
    result = vsa("label", write("in.csv", data), "-t", "label")
    assert re.search(message, result.error)
    assert result.code == 1


def test_names_from_the_file_cannot_draw_on_the_terminal(vsa, write, values_shown):
    data = b'"a\x1b[2J\nb",label\n1,x\n2,\n9,y\n'
    result = vsa("label", write("in.csv", data), "-t", "nope")
    assert r"a\x1b[2J" in result.error
    assert "\x1b" not in result.error
    told = vsa("label", write("in.csv", data), "-t", "label").stderr
    assert "\x1b" not in told
    assert all(line.startswith("vsa: ") for line in told.splitlines())


def test_inputs_that_cannot_be_read(vsa, tmp_path: Path):
    assert "absent.csv" in vsa("label", "absent.csv", "-t", "label").error
    assert re.search("folder|directory", vsa("label", tmp_path, "-t", "label").error)


def test_outputs_that_cannot_be_written(vsa, path: Path, tmp_path: Path):
    before = sorted(os.listdir(tmp_path))
    for output in (path / "out.csv", tmp_path / "absent" / "out.csv", tmp_path):
        result = vsa("label", path, "-t", "label", "-o", output)
        assert "cannot write" in result.error
        assert result.code == 1
    assert sorted(os.listdir(tmp_path)) == before


def test_a_failing_run_leaves_an_older_output(vsa, path: Path, write):
    old = write("out.csv", b"old")
    assert vsa("label", path, "-t", "nothere", "-o", old).code == 2
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("ref", ["no/such/folder", "nothing"])
def test_checkpoint_that_is_not_there(vsa, path: Path, ref: str):
    result = vsa("label", path, "-t", "label", "--checkpoint", ref)
    assert ref in result.error
    assert result.code == 1


def test_unexpected_exception(vsa, path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*args: object, **options: object) -> None:
        raise ZeroDivisionError("so\nthat it breaks")

    monkeypatch.setattr(labeling, "label_table", broken)
    result = vsa("label", path, "-t", "label")
    assert result.code == 70
    assert re.search("unexpected ZeroDivisionError; .*VSA_DEBUG=1", result.error)
    monkeypatch.setenv("VSA_SHOW_VALUES", "1")
    result = vsa("label", path, "-t", "label")
    assert re.search("unexpected ZeroDivisionError: so that it breaks; .*VSA_DEBUG=1", result.error)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "full"), 1, "full"),
    ],
)
def test_failures_of_the_machine(vsa, path: Path, monkeypatch: pytest.MonkeyPatch, error, code: int, message: str):
    def broken(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(labeling, "label_table", broken)
    result = vsa("label", path, "-t", "label")
    assert (result.code, result.stdout) == (code, b"")
    assert re.fullmatch(f"vsa: .*{message}.*\n", result.stderr)


def test_traceback_only_on_request(path: Path):
    done = subprocess.run(
        [VSA, "label", path, "-t", "lable"], capture_output=True, text=True, env={**os.environ, "VSA_DEBUG": "1"}
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("vsa: error: ")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_the_run_quietly(tmp_path: Path, number: int, code: int):
    """The command waits for its standard input when the signal comes."""
    process = subprocess.Popen(
        [VSA, "label", "-", "-t", "label", "-o", "out.csv"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"x,label\n" * 50_000)  # more than a pipe holds: it returns when the command reads
    process.stdin.flush()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == code
    assert stderr.decode() in ("vsa: interrupted\n", "vsa: terminated\n")
    assert os.listdir(tmp_path) == []


def test_closed_standard_streams(path: Path):
    script = f"'{VSA}' label '{path}' -t label -q >&- 2>err.txt; echo $?; '{VSA}' label '{path}' -t lable 2>&-; echo $?"
    done = subprocess.run(["bash", "-c", script], cwd=path.parent, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "2"]
    assert (path.parent / "err.txt").read_text().startswith("vsa: error: cannot write standard output")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk(path: Path):
    done = subprocess.run(
        ["bash", "-c", f"'{VSA}' label '{path}' -t label -q > /dev/full"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert re.fullmatch(r"vsa: error: cannot write standard output: No space left on device\n", done.stderr)
