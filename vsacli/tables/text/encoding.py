"""The encoding of a text file: bytes of any codec to UTF-8 and, exactly, back.

Everything after this works on UTF-8, in which the bytes of a delimiter, a quote or a line end
stand for nothing else. UTF-8 files are used as they are. Others are transcoded once, and it is
checked then that encoding gives the file's own bytes again.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from vsacli.errors import DataError, UsageError
from vsacli.support.privacy import quoted
from vsacli.tables.text.marks import byte_order_mark

CHUNK = 1 << 20

_NUL_SHARE = 0.2
"""Share of NUL bytes from which a text is taken for UTF-16 without a byte order mark."""


@dataclass(frozen=True)
class Encoding:
    """How the text of a file is stored.

    Attributes
    ----------
    codec : str
        Python's name of it, byte order included, mark excluded.
    mark : bytes
        The byte order mark in front of the text, or nothing.
    """

    codec: str = "utf-8"
    mark: bytes = b""

    @property
    def is_utf8(self) -> bool:
        return self.codec == "utf-8"


def to_utf8(data: bytes | bytearray, name: str, encoding: str | None = None) -> tuple[bytes | bytearray, int, Encoding]:
    """Find the encoding of a whole file and give its text as UTF-8.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        For messages.
    encoding : str, optional
        Any codec of Python's. Left out: by byte order mark, else UTF-8.

    Returns
    -------
    text : bytes
        `data` itself, if that is UTF-8.
    start : int
        Where the text begins, after a mark.
    encoding : Encoding

    Raises
    ------
    DataError
        Bytes that the encoding does not have, named by line, or that it would write otherwise.
    UsageError
        An encoding that Python does not know.
    """
    found = _find(data, name, encoding)
    start = len(found.mark)
    if found.is_utf8:
        _check(data, start, found.codec, name, given=encoding is not None)
        if encoding is None and not start:
            _refuse_utf16(data, name)
        return data, start, found
    text = _transcode(data, start, found.codec, name)
    return text, len(codecs.BOM_UTF8) * text.startswith(codecs.BOM_UTF8), found  # GB 18030 and UTF-7 also have marks


def _find(data: bytes | bytearray, name: str, encoding: str | None) -> Encoding:
    mark, marked = byte_order_mark(data) or (b"", "")
    if encoding is None:
        return Encoding(marked or "utf-8", mark)
    codec = _codec_name(encoding).removesuffix("-sig")
    if mark:
        if not marked.startswith(codec):
            raise DataError(f"{name}: its byte order mark says {marked}, not {encoding}: leave --encoding out")
        return Encoding(marked, mark)
    if codec in ("utf-16", "utf-32"):
        return Encoding(codec + _byte_order(data))
    return Encoding(codec)


def _codec_name(encoding: str) -> str:
    try:
        "".encode(encoding)  # also refuses codecs that are not text encodings, such as base64
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise UsageError(f"--encoding {encoding}: no such encoding; try utf-8, utf-16, latin-1 or cp1252") from None


def _byte_order(data: bytes | bytearray) -> str:
    """Guess by where the NUL bytes of letters and digits stand: last in little-endian UTF-16 and UTF-32."""
    first = data[:CHUNK:2].count(0)  # the two need no more than a look: a wrong guess gives no known header
    return "-be" if 2 * first > data[:CHUNK].count(0) else "-le"


def _check(data: bytes | bytearray, start: int, codec: str, name: str, given: bool) -> None:
    """Read all bytes as `codec`, piece by piece."""
    decoder, view = codecs.getincrementaldecoder(codec)(), memoryview(data)
    for at in range(start, len(data), CHUNK):
        piece = bytes(view[at : at + CHUNK])
        pending = decoder.getstate()[0]
        if piece.isascii() and not pending:
            continue
        try:
            decoder.decode(piece, final=at + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            bad = at - len(pending) + error.start
            raise _undecodable(data[bad], line_of(data, bad), codec, name, given) from None


def _undecodable(byte: int, line: int, codec: str, name: str, given: bool = True) -> DataError:
    hint = "give the file's own encoding with --encoding"
    if not given:
        hint = "name the file's encoding, as with --encoding cp1252 or --encoding latin-1"
    return DataError(f"{name}, line {line}: byte 0x{byte:02x} is not {codec.upper()}; {hint}")


def _refuse_utf16(data: bytes | bytearray, name: str) -> None:
    """UTF-16 of plain letters is valid UTF-8 with a NUL in every second byte."""
    nuls = data.count(0)
    if nuls > _NUL_SHARE * len(data):
        raise DataError(
            f"{name}: {nuls} of {len(data)} bytes are NUL, so this is UTF-16 without a byte order mark, or not text; "
            f"try --encoding utf-16{_byte_order(data)}"
        )


def _transcode(data: bytes | bytearray, start: int, codec: str, name: str) -> bytearray:
    decoder, encoder = codecs.getincrementaldecoder(codec)(), codecs.getincrementalencoder(codec)()
    view, text, checked = memoryview(data), bytearray(), start
    for at in range(start, len(data), CHUNK):
        final = at + CHUNK >= len(data)
        try:
            piece = decoder.decode(bytes(view[at : at + CHUNK]), final)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(codec, "ignore").encode()
            line = line_of(text + good, len(text) + len(good))
            raise _undecodable(error.object[error.start], line, codec, name) from None
        except UnicodeError:
            raise DataError(f"{name} is not {codec.upper()}; give the file's own encoding with --encoding") from None
        try:
            back = encoder.encode(piece, final)
            text += piece.encode()
        except UnicodeError:
            back = b""
        if view[checked : checked + len(back)] != back or (final and checked + len(back) != len(data)):
            line = line_of(text, len(text) - len(piece.encode(errors="replace")))
            raise DataError(
                f"{name}: {codec.upper()} does not reproduce the bytes from line {line} on; "
                f"convert the file to UTF-8 first (iconv -f {codec} -t utf-8)"
            )
        checked += len(back)
    return text


def line_of(data: bytes | bytearray | memoryview, at: int) -> int:
    """Return the number, from 1, of the line of `data` in which byte `at` stands."""
    lf = cr = crlf = 0
    for begin in range(0, at, CHUNK):
        end = min(begin + CHUNK, at)
        piece = bytes(data[begin:end])
        lf += piece.count(b"\n")
        cr += piece.count(b"\r")
        crlf += piece.count(b"\r\n")
        crlf += piece.endswith(b"\r") and bytes(data[end : end + 1]) == b"\n"
    return 1 + lf + cr - crlf


def not_in_encoding(error: UnicodeEncodeError, encoding: Encoding, name: str) -> DataError:
    """The error for a label with a character that the encoding of the file `name` lacks."""
    what = quoted(error.object[error.start : error.end], "a character of a label")
    return DataError(
        f"{name}: {what} cannot be written in the file's encoding, {encoding.codec}; convert the file to UTF-8 first"
    )
