"""The bytes of an input: a file or standard input, decompressed, and of a kind that can be read."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from vsacli.errors import DataError, InputError, ResourceError
from vsacli.support.free_memory import free_memory, spelled
from vsacli.tables.text.marks import byte_order_mark

if TYPE_CHECKING:
    from pathlib import Path

_PIECE = 1 << 20
_URL = re.compile(r"(?:https?|ftps?|s3|gs|hf|file):/", re.IGNORECASE)
_SHARE_OF_TEXT = 0.4  # of the free memory, for a text with the positions of its cells and its attributes

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
PARQUET_MAGIC = (b"PAR1", b"PARE")  # the second: encrypted, its footer included

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"]\x00\x00": "xz",
}

_LOOKED_AT = 4096
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1a\x1b"))
_MAGIC_OF_LETTERS = (*PARQUET_MAGIC, b"BZh", b"ARROW1", b"FEA1", b"ORC")  # with which a name may begin as well

_SAVE_AS = "save it as CSV or Parquet"
_REFUSED = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Excel workbook (.xls): save the sheet as CSV",
    b"ARROW1": f"an Arrow (Feather) file: {_SAVE_AS}",
    b"FEA1": f"a Feather file: {_SAVE_AS}",
    b"\xff\xff\xff\xff": f"an Arrow stream: {_SAVE_AS}",
    b"ORC": f"an ORC file: {_SAVE_AS}",
    b"Obj\x01": f"an Avro file: {_SAVE_AS}",
    b"SQLite format 3\x00": "an SQLite database: export the table as CSV",
    b"\x89HDF\r\n\x1a\n": f"an HDF5 file: {_SAVE_AS}",
    b"\x93NUMPY": f"a NumPy file: {_SAVE_AS}",
    b"$FL2@(#)": f"an SPSS file: {_SAVE_AS}",
    b"%PDF-": "a PDF",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"\x7fELF": "a program",
    b"\x80\x04\x95": f"a Python pickle, which is never opened here: {_SAVE_AS}",
    b"\x80\x05\x95": f"a Python pickle, which is never opened here: {_SAVE_AS}",
    b"<stata_dta>": f"a Stata file: {_SAVE_AS}",
    b"{\\rtf": "a text document (RTF): save the table in it as CSV",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it first",
    b"\x04\x22\x4d\x18": "compressed with lz4: unpack it first",
    b"\x1f\x9d": "compressed with compress (.Z): unpack it first",
    **dict.fromkeys(_COMPRESSIONS, "compressed twice: unpack it once"),
    b"Rar!\x1a\x07": "a RAR archive: unpack it first",
    b"RDX3\n": f"an R data file: {_SAVE_AS}",
    b"RDX2\n": f"an R data file: {_SAVE_AS}",
    b"version https://git-lfs.github.com/spec/": "a Git LFS pointer, not the file itself: run git lfs pull",
}


@dataclass
class Source:
    """An input, read.

    Attributes
    ----------
    name : str
        For messages: the path as given, or "standard input".
    data : bytes
        The whole content, decompressed. Nothing for a Parquet file on disk, which is read by column.
    path : str or None
        Where it lies; None for standard input and for what had to be decompressed.
    is_parquet : bool
    compression : str or None
        How it was packed: "gzip", "bz2", "xz", "zstd", "zip".
    """

    name: str
    data: bytes | bytearray
    path: str | None = None
    is_parquet: bool = False
    compression: str | None = None


def read_source(source: str | Path) -> Source:
    """Read a file, or standard input for "-".

    Raises
    ------
    InputError
        It is absent, a folder, unreadable, or its compression is damaged.
    DataError
        It is empty, or neither a table of text nor Parquet (Excel, JSON, ...).
    ResourceError
        It does not fit in memory.
    """
    if str(source) == "-":
        name, path = "standard input", None
        data = _read_stdin()
    else:
        name = path = str(source)
        with _open(path) as file, _named(name):
            head = file.read(4)
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if head in PARQUET_MAGIC and regular:
                head += file.read(_LOOKED_AT)
                if not _is_header_of_text(head, _end_of(file)):
                    return Source(name, b"", path, is_parquet=True)
                file.seek(len(head))
            size = os.fstat(file.fileno()).st_size if regular else 0
            data = _read_all(file, name, head, size)
    if not data:
        raise DataError(f"{name} is empty: it has no header and no rows")
    is_text = data.startswith(_MAGIC_OF_LETTERS) and _is_header_of_text(bytes(data[:_LOOKED_AT]), bytes(data[-4:]))
    if is_text:
        return Source(name, data, path)
    compression = next((kind for magic, kind in _COMPRESSIONS.items() if data.startswith(magic)), None)
    if compression is not None:
        data, path = _decompress(data, compression, name), None
        if not data:
            raise DataError(f"{name} is empty once decompressed: it has no header and no rows")
        _refuse_archive(data, f"{name}, decompressed,")
    elif data.startswith(_ZIP):
        data, path, compression = _unzip(data, name), None, "zip"
    if data.startswith(PARQUET_MAGIC):
        return Source(name, data, path, is_parquet=True, compression=compression)
    _refuse(data, name)
    return Source(name, data, path, compression=compression)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Within the block an error of the system names the input."""
    try:
        yield
    except InputError:  # is an OSError itself
        raise
    except OSError as error:
        raise InputError(f"{name} cannot be read: {_reason(error)}") from None


def _end_of(file: IO[bytes]) -> bytes:
    file.seek(-4, os.SEEK_END)
    return file.read(4)


def _is_header_of_text(head: bytes, end: bytes) -> bool:
    """Say whether bytes that begin as those of some format do are text: PARENT_ID, ORCID, ARROW1."""
    if end in PARQUET_MAGIC or not (b"\n" in head or b"\r" in head):
        return False
    return head.translate(None, _CONTROLS) == head


def _open(path: str) -> IO[bytes]:
    try:
        if os.path.isdir(path):
            raise InputError(f"{path} is a folder, not a file: name one table")
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        if _URL.match(path):
            raise InputError(f"{path} is a web address: download the file first, and give its name") from None
        raise InputError(f"{path}: no such file") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _read_stdin() -> bytes | bytearray:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input is closed: give a file, or pipe a table in")
    return _read_all(sys.stdin.buffer, "standard input")


def _read_all(file: IO[bytes], name: str, head: bytes = b"", size: int = 0) -> bytes | bytearray:
    """Read to the end into one piece of memory, without a second copy at any moment."""
    data = bytearray()
    room = _Room(name)
    room.check(size)
    try:
        data = bytearray(size)  # of a file its size is known: no growing
        data[: len(head)] = head
        at = len(head)
        with _named(name), memoryview(data) as view:
            while at < size and (n := file.readinto(view[at:])):  # type: ignore[attr-defined]
                at += n
        del data[at:]
        with _named(name):
            while piece := file.read(_PIECE):
                data += piece
                room.check(len(data))
    except MemoryError:
        raise room.exceeded(max(size, len(data))) from None
    return data


class _Room:
    """Refuses what will not fit in memory, before the system ends the process for it."""

    def __init__(self, name: str) -> None:
        self._name, self._free = name, free_memory()

    def check(self, size: int) -> None:
        if self._free is not None and size > self._free:
            raise self.exceeded(size)

    def exceeded(self, size: int) -> ResourceError:
        return too_large(self._name, size, self._free)


def too_large(name: str, size: int, free: int | None = None) -> ResourceError:
    """The error for a text of at least `size` bytes that is too large for `free` ones; it names what would fit."""
    fits = size / 2 if free is None else min(size, free) * _SHARE_OF_TEXT
    return ResourceError(
        f"{name} takes {spelled(size)} or more and does not fit in memory; one of up to about {spelled(fits)} would: "
        f"label it in parts, or leave out columns that carry no information"
    )


def _decompress(data: bytes | bytearray, compression: str, name: str) -> bytearray:
    result, room = bytearray(), _Room(f"{name}, decompressed,")
    try:
        for piece in _decompressed(data, compression):
            result += piece
            room.check(len(result))
    except MemoryError:
        raise room.exceeded(len(result)) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{name}: the {compression} data is damaged or cut off ({_reason(error)})") from None
    return result


def _decompressed(data: bytes | bytearray, compression: str) -> Iterator[bytes]:
    packed = io.BytesIO(data)
    if compression == "gzip":
        import gzip

        yield from _pieces(gzip.GzipFile(fileobj=packed))
    elif compression == "bz2":
        import bz2

        yield from _pieces(bz2.BZ2File(packed))
    elif compression == "xz":
        import lzma

        try:
            yield from _pieces(lzma.open(packed))  # noqa: SIM115 (nothing to close: it is memory)
        except lzma.LZMAError as error:
            raise OSError(str(error)) from None
    else:
        import pyarrow as pa

        yield from _pieces(pa.CompressedInputStream(packed, "zstd"))


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _unzip(data: bytes | bytearray, name: str) -> bytearray:
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            _refuse_office(names, name)
            files = [n for n in names if not n.endswith("/") and not n.startswith("__MACOSX/")]
            if len(files) != 1:
                raise DataError(f"{name} is a zip archive of {len(files)} files: unpack it and name one table")
            with archive.open(files[0]) as file:
                result, room = bytearray(), _Room(f"{name}, unpacked,")
                for piece in _pieces(file):
                    result += piece
                    room.check(len(result))
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        raise InputError(f"{name}: the zip archive cannot be unpacked ({_reason(error)})") from None
    if not result:
        raise DataError(f"{name}: the file in the zip archive is empty")
    _refuse_archive(result, f"{name}: the file in the zip archive")
    return result


def _refuse_office(names: Sequence[str], name: str) -> None:
    """Raise DataError if the files of a zip archive are those of a document."""
    if "[Content_Types].xml" in names:
        kind = "an Excel workbook (.xlsx)" if any(n.startswith("xl/") for n in names) else "an Office document"
        raise DataError(f"{name} is {kind}: save the sheet as CSV")
    if "mimetype" in names:
        raise DataError(f"{name} is an OpenDocument file: save the sheet as CSV")


def _refuse_archive(data: bytes | bytearray, name: str) -> None:
    """Raise DataError if what came out of a packed file is a zip archive."""
    import zipfile

    if not data.startswith(_ZIP):
        return
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(io.BytesIO(data)) as archive:
        _refuse_office(archive.namelist(), name)
    raise DataError(f"{name} is a zip archive itself: unpack both, and name the table")


def _refuse(data: bytes | bytearray, name: str) -> None:
    """Raise DataError for a file that is known not to be delimited text."""
    for magic, kind in _REFUSED.items():
        if data.startswith(magic):
            raise DataError(f"{name} is {kind}")
    if data[257:262] == b"ustar":
        raise DataError(f"{name} is a tar archive: unpack it and name one table")
    head = _as_utf8(bytes(data[:4096])).lstrip()
    if head[:14].lower().startswith((b"<!doctype html", b"<html", b"<table", b"<?xml")):
        raise DataError(f"{name} is a web page or XML, not a table: was the download redirected?")
    if head[:9].lower() == b"@relation":
        raise DataError(f"{name} is an ARFF file: {_SAVE_AS}")
    if head[:1] in (b"{", b"[") and _is_json(head):
        lines = "" if head[:1] == b"[" else ", lines=True"
        raise DataError(f"{name} is JSON: convert it to CSV first (pandas.read_json(...{lines}).to_csv(...))")


def _as_utf8(head: bytes) -> bytes:
    """The first bytes of a text without its byte order mark, as UTF-8."""
    mark, codec = byte_order_mark(head) or (b"", "utf-8")
    text = head[len(mark) :]
    return text if codec == "utf-8" else text.decode(codec, "ignore").encode()


def _is_json(head: bytes) -> bool:
    """Say whether text that begins with a brace or bracket is JSON rather than a header cell spelled so."""
    line = head.splitlines()[0].strip()
    try:
        return isinstance(json.loads(line), (dict, list))
    except RecursionError:
        return True
    except ValueError:
        # A document over several lines, or a first record longer than what was looked at.
        return line in (b"{", b"[", b"[{") or line.startswith((b'{"', b'[{"'))
