"""What a message says fits the case: it names the file, the cause and a remedy that there is."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import TwoGroups, Vsa
from tests.tables.parquet.parquet_files import parquet
from tests.tables.parquet.test_other_writers import with_footer
from vsacli.attributes.encoder import AttributeEncoder
from vsacli.errors import ResourceError
from vsacli.tables.parquet.footer import File, Footer, get
from vsacli.tables.parquet.thrift import I32
from vsacli.training import folder as run_folder
from vsacli.training import state

VSA = Path(sys.executable).parent / "vsa"
TABLE = b"x,label\n1,a\n2,\n9,b\n"


@pytest.mark.parametrize(
    "text", ["x,label\nA\\, B,p\nC,q\nD,\n", "x;label\nA;p\nC\\; D;q\nD;\n", "x,label\n1,p\\,q\n2,\n"]
)
def test_a_backslash_before_a_delimiter(vsa: Vsa, write, text: str) -> None:
    error = vsa("label", write("in.csv", text.encode()), "-t", "label").error
    mark = "semicolon" if ";" in text else "comma"
    assert f"put cells with a {mark} in double quotes, a backslash does not make it part of them" in error
    assert "--header-line" not in error


@pytest.mark.parametrize("shown", ["0", "1"])
@pytest.mark.parametrize("names", [["only"], ["1.5", "2.5"], ["a", "b"]])
def test_advice_for_text_is_not_given_for_parquet(
    vsa: Vsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], shown: str
) -> None:
    monkeypatch.setenv("VSA_SHOW_VALUES", shown)
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({name: [1.0, 2.0] for name in names}), path)
    error = vsa("label", path, "-t", "label", "-o", tmp_path / "out.parquet").error
    assert "has no column 'label'; it" in error
    assert "--delimiter" not in error
    assert "--header-line" not in error


@pytest.mark.parametrize("shown", ["0", "1"])
@pytest.mark.parametrize(
    ("data", "told"),
    [(b'""\n1\n', "its 1 column has no name"), (b",,\n1,2,3\n", "its 3 columns have no names")],
    ids=["1", "3"],
)
def test_columns_without_names(
    vsa: Vsa, write, monkeypatch: pytest.MonkeyPatch, data: bytes, told: str, shown: str
) -> None:
    monkeypatch.setenv("VSA_SHOW_VALUES", shown)
    error = vsa("label", write("in.csv", data), "-t", "label").error
    assert f"has no column 'label'; {told}: --delimiter sets another delimiter" in error


def test_numbers_that_their_type_does_not_allow(vsa: Vsa, tmp_path: Path, two_groups: TwoGroups) -> None:
    rows = [line.split(",") for line in two_groups.lines()]
    x = pa.array([row[0] for row in rows]).cast(pa.decimal128(9, 2))
    data = parquet(pa.table({"x": x, "label": [row[2] or None for row in rows]}), store_schema=False)

    def narrow(footer: Footer) -> None:
        element = get(footer.meta, File.SCHEMA)[1]
        element[8] = (I32, 2)  # precision
        element.pop(10, None)

    path = tmp_path / "in.parquet"
    path.write_bytes(with_footer(data, narrow))
    error = vsa("label", path, "-t", "label", "-o", tmp_path / "out.parquet").error
    assert "column 'x' holds what its type decimal128(2, 2) does not allow; write it in a type that does" in error
    assert "UTF-8" not in error


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


WORKBOOK = zipped(**{"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b""})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (zipped(a=zipped(b=TABLE)), ": the file in the zip archive is a zip archive itself: unpack both"),
        (gzip.compress(zipped(b=TABLE)), ", decompressed, is a zip archive itself: unpack both"),
        (zipped(a=WORKBOOK), ": the file in the zip archive is an Excel workbook (.xlsx): save the sheet as CSV"),
        (gzip.compress(WORKBOOK), ", decompressed, is an Excel workbook (.xlsx): save the sheet as CSV"),
        (gzip.compress(zipped(b=TABLE)[:30]), ", decompressed, is a zip archive itself: unpack both"),
    ],
    ids=["zip in zip", "zip in gzip", "workbook in zip", "workbook in gzip", "half a zip in gzip"],
)
def test_what_is_packed_twice(vsa: Vsa, write, data: bytes, told: str) -> None:
    path = write("in", data)
    assert vsa("label", path, "-t", "label").error.startswith(f"vsa: error: {path}{told}")


def test_outputs_that_are_links_to_nowhere(vsa: Vsa, write, tmp_path: Path) -> None:
    path, link, folder = write("in.csv", TABLE), tmp_path / "out.csv", tmp_path / "absent"
    link.symlink_to(folder / "x.csv")
    told = f"it is a link to {folder / 'x.csv'}, and the directory {folder} does not exist; create it first"
    for option in ("-o", "--report", "--json"):
        error = vsa("label", path, "-t", "label", option, link).error
        assert error == f"vsa: error: cannot write {link}: {told}"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that cannot be read")
def test_a_disk_that_cannot_be_read_names_the_file(vsa: Vsa, write, tmp_path: Path) -> None:
    """The first page of a process's memory gives the error that a broken disk gives."""
    path, bad = write("in.csv", TABLE), tmp_path / "bad.csv"
    bad.symlink_to("/proc/self/mem")
    told = f"vsa: error: {bad} cannot be read: Input/output error"
    assert vsa("label", bad, "-t", "label").error == told
    assert vsa("label", path, "-t", "label", "--labeled", bad).error == told
    assert vsa("label", path, "-t", "label", "--proportions-from", bad).error == told
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.parquet").symlink_to("/proc/self/mem")
    error = vsa("label", tmp_path / "parts", "-t", "label", "-o", tmp_path / "out").error
    assert error.startswith(f"vsa: error: {tmp_path / 'parts' / 'a.parquet'} cannot be read: ")


def test_memory_that_lacks_for_the_first_column() -> None:
    def columns():
        raise MemoryError
        yield

    with pytest.raises(ResourceError, match="not even the first column fits in memory"):
        AttributeEncoder().fit_transform(columns())


def test_a_full_disk_claims_no_state_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    state.save_state(tmp_path / "old", {}, {})
    monkeypatch.setattr(state, "_sync", full)
    monkeypatch.setattr(run_folder, "save_checkpoint", full)
    for name, told in (("old", "the last saved state is intact"), ("new", "no state was saved before")):
        with pytest.raises(ResourceError, match=f"No space left on device.*; {told}$"):
            state.save_state(tmp_path / name, {}, {})
    for name, told in (("old", "the older one is intact"), ("new", "there is no older one")):
        (tmp_path / name).mkdir(exist_ok=True)
        if name == "old":
            (tmp_path / name / "model.safetensors").touch()
        with pytest.raises(ResourceError, match=f"No space left on device.*; {told}$"):
            run_folder.keep_checkpoint(tmp_path / name, None, {}, "")


def run(*args: str, folder: Path, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "OPENML"))} | environment
    done = subprocess.run([VSA, *args], cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_home_of_the_hub_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = run("download", "lab/model", folder=tmp_path, HF_HOME=str(tmp_path / "file"))
    assert f"the Hub's folder {tmp_path / 'file'} cannot be used (Not a directory); HF_HOME sets another" in told


@pytest.mark.parametrize("text", ["apikey secret", "connection_n_retries = many\n"])
def test_a_configuration_of_openml_that_is_broken(tmp_path: Path, text: str) -> None:
    (tmp_path / "openml").mkdir()
    config = tmp_path / "openml" / "config"
    config.write_text(text)
    told = run("eval", "--suite", "openml:99", "--episodes", "1", folder=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert told.startswith("vsa: error: OpenML's client cannot start (")
    assert f"correct or remove its configuration, {config}" in told
    assert "secret" not in told
