"""The output is complete or not there; what cannot be written is said before the work."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from vsacli.errors import OutputError, UsageError
from vsacli.tables.output import check_output, open_output

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


def write(path: str | Path | None, data: bytes = b"new", **options: object) -> None:
    with open_output(path, inputs=[], **options) as sink:  # type: ignore[arg-type]
        sink.write(data)


def test_a_new_file(tmp_path: Path):
    write(tmp_path / "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_bytes() == b"new"


@posix
def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path):
    (tmp_path / "plain").write_bytes(b"")
    write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
def test_permissions_of_an_old_file_stay(tmp_path: Path):
    out = tmp_path / "out.csv"
    out.write_bytes(b"old")
    out.chmod(0o640)
    write(out)
    assert (out.read_bytes(), stat.S_IMODE(out.stat().st_mode)) == (b"new", 0o640)


def test_the_old_file_is_there_until_the_end(tmp_path: Path):
    out = tmp_path / "out.csv"
    out.write_bytes(b"old")
    with open_output(out, inputs=[out]) as sink:
        sink.write(b"new")
        assert out.read_bytes() == b"old"
    assert out.read_bytes() == b"new"


def fail_half_way(path: Path, error: type[BaseException]) -> None:
    with open_output(path, inputs=[]) as sink:
        sink.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, BrokenPipeError])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, error: type[BaseException]):
    (tmp_path / "old.csv").write_bytes(b"old")
    for name in ("old.csv", "new.csv", "new.csv.gz"):
        with pytest.raises(error):
            fail_half_way(tmp_path / name, error)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("old.csv", b"old")]


@posix
def test_links_are_followed(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    real = tmp_path / "deep" / "real.csv"
    real.write_bytes(b"old")
    (tmp_path / "link.csv").symlink_to("deep/real.csv")
    (tmp_path / "dangling.csv").symlink_to("deep/later.csv")
    write(tmp_path / "link.csv")
    write(tmp_path / "dangling.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "dangling.csv").is_symlink()
    assert real.read_bytes() == b"new"
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["later.csv", "real.csv"]


@pytest.mark.parametrize(
    ("name", "unpack"),
    [
        ("out.csv.gz", gzip.decompress),
        ("out.csv.bz2", bz2.decompress),
        ("out.csv.xz", lzma.decompress),
        ("out.csv.zst", lambda data: pa.CompressedInputStream(io.BytesIO(data), "zstd").read()),
    ],
)
def test_the_ending_says_how_to_compress(tmp_path: Path, name: str, unpack):
    data = b"a,b\n" * 100_000
    write(tmp_path / name, data)
    packed = (tmp_path / name).read_bytes()
    assert len(packed) < len(data) / 10
    assert unpack(packed) == data
    write(tmp_path / ("again_" + name), data)
    assert (tmp_path / ("again_" + name)).read_bytes() == packed


def test_a_path_below_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(b"a")
    for path in ("in.csv/out.csv", "in.csv/deeper/out.csv"):
        with pytest.raises(OutputError, match=rf"cannot write {path}: in\.csv is a file, not a directory"):
            check_output(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder", "it is a folder"),
        ("out.csv/", "it is a folder"),
        ("absent/out.csv", "the directory absent does not exist; create it"),
        ("absent/deeper/out.csv", "the directory absent/deeper does not exist"),
        ("a\0b", "null byte"),
        ("", "the name is empty"),
        ("out.zip", "zip archives are not written"),
        ("x" * 300, "File name too long|name too long"),
    ],
)
def test_what_cannot_be_written_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str
):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for call in (check_output, lambda p: open_output(p, inputs=[]).__enter__()):
        with pytest.raises(OutputError, match=message) as caught:
            call(path)
        assert "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@posix
def test_read_only_places(ordinary_user: Path):
    out = ordinary_user / "out.csv"
    out.write_bytes(b"old")
    out.chmod(0o444)
    with pytest.raises(OutputError, match="the file is read-only"):
        check_output(out)
    ordinary_user.chmod(0o555)
    with pytest.raises(OutputError, match="the directory is read-only"):
        check_output(ordinary_user / "new.csv")
    ordinary_user.chmod(0)
    with pytest.raises(OutputError, match="Permission denied"):
        check_output(ordinary_user / "new.csv")


def test_an_input_that_is_not_the_table_is_not_replaced(tmp_path: Path):
    table, labels = tmp_path / "t.csv", tmp_path / "labels.csv"
    table.write_bytes(b"t")
    labels.write_bytes(b"l")
    with pytest.raises(UsageError, match="which is an input"):
        check_output(tmp_path / "." / "labels.csv", inputs=[table, labels])
    check_output(table, inputs=[table, labels])
    check_output(tmp_path / "new.csv", inputs=["-", labels])


@posix
def test_devices_and_pipes_are_written_directly(tmp_path: Path):
    write("/dev/null")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"x" * 200_000)
    reader.join()
    assert got == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_named():
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device"):
        write("/dev/full")


def run(code: str, **options) -> subprocess.CompletedProcess[bytes]:
    code = "from vsacli.tables.output import open_output\n" + code
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, **options)


def test_standard_output_gets_bytes_as_they_are():
    for path in ("None", "'-'", "'/dev/stdout'"):
        done = run(f"with open_output({path}, inputs=[]) as sink:\n sink.write(b'a\\r\\n\\xff\\n')")
        assert (done.stdout, done.stderr, done.returncode) == (b"a\r\n\xff\n", b"", 0)


@posix
def test_standard_output_by_its_path_appends(tmp_path: Path):
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        if os.path.exists(path):
            code = f"from vsacli.tables.output import *\nwith open_output('{path}', inputs=[]) as s: s.write(b'x')"
            with log.open("ab") as file:
                subprocess.run([sys.executable, "-c", code], stdout=file, check=True, timeout=60)
    assert log.read_bytes() in (b"before\nx", b"before\nxx", b"before\nxxx")
    assert [p.name for p in tmp_path.iterdir()] == ["log"]


@posix
def test_a_reader_that_has_gone_is_a_broken_pipe():
    read, out = os.pipe()
    os.close(read)
    code = """
import os, sys
try:
    with open_output(None, inputs=[]) as sink:
        for _ in range(100): sink.write(b'x' * 100_000)
except BrokenPipeError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(7)
"""
    code = "from vsacli.tables.output import open_output\n" + code
    done = subprocess.run([sys.executable, "-c", code], stdout=out, stderr=subprocess.PIPE, timeout=60)
    os.close(out)
    assert (done.returncode, done.stderr) == (7, b"")


@posix
def test_a_standard_output_that_is_closed():
    done = run(
        "import sys\ntry:\n with open_output(None, inputs=[]) as s: s.write(b'x')\n"
        "except Exception as e: sys.stderr.write(type(e).__name__ + ': ' + str(e))",
        preexec_fn=lambda: os.close(1),
    )
    assert done.stderr == b"OutputError: cannot write standard output: it is closed"


def test_the_sink_serves_pyarrow(tmp_path: Path):
    import pyarrow.parquet as pq

    table = pa.table({"a": list(range(1000))})
    with open_output(tmp_path / "t.parquet", inputs=[]) as sink:
        pq.write_table(table, sink)
    assert pq.read_table(tmp_path / "t.parquet").equals(table)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes on this system")
def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"here")
    except OSError:
        pytest.skip("no extended attributes in this folder")
    with open_output(path) as sink:
        sink.write(b"new")
    assert path.read_bytes() == b"new"
    assert os.getxattr(path, "user.origin") == b"here"


def acl(entries: list[tuple[int, int, int]]) -> bytes:
    """An access control list as the kernel stores it: (tag, permissions, id) each."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF
DENIED = acl([(1, 6, NOBODY), (2, 0, 12345), (4, 6, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY)])


def with_denied_user(path: Path) -> Path:
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "system.posix_acl_access", DENIED)
    except (OSError, AttributeError):
        pytest.skip("no access control lists in this folder")
    return path


def test_an_access_control_list_stays(tmp_path: Path) -> None:
    path = with_denied_user(tmp_path / "out.csv")
    with open_output(path) as sink:
        sink.write(b"new")
    assert os.getxattr(path, "system.posix_acl_access") == DENIED
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_where_the_list_cannot_be_taken_over_only_the_owner_may_read(tmp_path: Path, monkeypatch) -> None:
    path = with_denied_user(tmp_path / "out.csv")

    def refused(*args: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "setxattr", refused)
    with open_output(path) as sink:
        sink.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
