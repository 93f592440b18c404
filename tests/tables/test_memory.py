"""Files that do not fit in memory are refused in one line that names the size that would."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from vsacli.attributes.encoder import AttributeEncoder
from vsacli.errors import ResourceError
from vsacli.support.free_memory import free_memory, spelled
from vsacli.tables import source
from vsacli.tables.read import read_table
from vsacli.tables.source import read_source

TEXT = b"id,label\n" + b"1,x\n" * 1_000_000


def zipped(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", data)
    return sink.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zipped], ids=["plain", "gzip", "bz2", "zip"])
def test_a_text_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack):
    path = tmp_path / "t.dat"
    path.write_bytes(pack(TEXT))
    monkeypatch.setattr(source, "free_memory", lambda: 2_500_000)
    with pytest.raises(
        ResourceError, match=r"t\.dat.* takes \d MB or more and does not fit .* about 1 MB would"
    ) as caught:
        read_source(path)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(source, "free_memory", lambda: None)
    assert read_source(path).data == TEXT


def test_sizes_are_spelled_for_people():
    assert [spelled(size) for size in (10, 12_345_678, 1.54e9)] == ["1 MB", "12 MB", "1.5 GB"]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")
def test_a_limit_of_the_shell_is_known():
    script = "from vsacli.support.free_memory import free_memory; print(free_memory())"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 1000000; exec '{sys.executable}' -c '{script}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 < int(done.stdout) < 1_000_000 * 1024
    room = free_memory()
    assert room is None or room > int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is known on Linux")
def test_the_command_says_it_in_one_line(tmp_path: Path):
    """A file of four gigabytes, all of it a hole, under a limit that the libraries alone fit in."""
    command = Path(sys.executable).parent / "vsa"
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(4_000_000_000)
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 3000000; exec '{command}' label large.csv -t label -o out.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 1
    assert re.fullmatch(
        r"vsa: error: large\.csv takes 4\.0 GB or more and does not fit in memory; one of up to about \S+ .B would: "
        r".*\n",
        done.stderr,
    ), done.stderr
    assert os.listdir(tmp_path) == ["large.csv"]


def test_a_shortage_while_cells_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT)

    def short(*args: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("vsacli.tables.text.table.TextTable.__init__", short)
    with pytest.raises(ResourceError, match=r"t\.csv takes 4 MB or more and does not fit in memory; .* 2 MB would"):
        read_table(path)


def test_a_shortage_while_attributes_are_made(monkeypatch: pytest.MonkeyPatch):
    def short(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr("vsacli.attributes.encoder._Growing.append", short)
    columns = [("x", pa.array([0.5, 1.5, 9.0] * 400))]
    with pytest.raises(ResourceError, match=r"1,200 rows .* do not fit in memory.* about 600 rows at a time"):
        AttributeEncoder().fit_transform(columns)
