"""Where a table is written: standard output, or a file that is complete or not there at all."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from vsacli.errors import OutputError, UsageError
from vsacli.support.atomic_files import temporary_name

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


def check_output(path: str | Path | None, *, inputs: Sequence[str | Path] = ()) -> None:
    """Find out, before any work is done, whether `open_output` could write there.

    Parameters
    ----------
    path : path
        None or "-" for standard output.
    inputs : paths
        The files that are read, the table first. The table may be written in place; another may not.

    Raises
    ------
    OutputError
        A folder, a path below a file, a folder that is absent or read-only, a read-only file.
    UsageError
        The output would replace an input that is not the table.
    """
    if path is None or str(path) == "-":
        return
    text = os.fspath(path)
    if _is_direct(text):
        if match := _DESCRIPTOR.fullmatch(text):
            try:
                os.fstat(int(match[1]))
            except (OSError, OverflowError):
                raise OutputError(f"cannot write {text}: no such file is open") from None
        return
    try:
        problem = _problem(text, [other for other in inputs[1:] if str(other) != "-"])
    except OSError as error:
        raise _failed(text, error) from None
    except UnicodeError:
        raise OutputError(f"cannot write {text!r}: a file cannot have this name") from None
    except ValueError as error:  # a NUL byte in the name
        if isinstance(error, UsageError):
            raise
        raise OutputError(f"cannot write {text!r}: {error}") from None
    if problem is not None:
        raise OutputError(f"cannot write {text or repr(text)}: {problem}")


def _problem(text: str, other_inputs: Sequence[str | Path]) -> str | None:
    """The reason why a path cannot be written; None if it can."""
    if not text:
        return "the name is empty"
    if text.endswith(".zip"):
        return "zip archives are not written; use .gz, or another ending"
    target = os.path.realpath(text)
    folder = os.path.dirname(target)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.stat(target)
        for other in other_inputs:
            if os.path.exists(other) and os.path.samefile(target, other):
                raise UsageError(f"--output {text} would replace {other}, which is an input; name another file")
        if os.path.isdir(target):
            return "it is a folder; name a file in it"
        if not _may(target, os.W_OK):
            return "the file is read-only"
    if text.endswith(("/", os.sep)):
        return "it is a folder; name a file in it"
    if not os.path.isdir(folder):
        at = Path(folder)
        while not os.path.lexists(at) and at != at.parent:
            at = at.parent
        if not at.is_dir():
            return f"{_shown(at)} is a file, not a directory"
        if os.path.islink(text):
            return f"it is a link to {target}, and the directory {folder} does not exist; create it first"
        return f"the directory {os.path.dirname(text) or folder} does not exist; create it first"
    if not _may(folder, os.W_OK | os.X_OK):
        return "the directory is read-only"
    return None


def is_stream(path: str) -> bool:
    """Whether `open_output` writes there directly: standard output, a pipe, a device."""
    return path == "-" or _is_direct(path)


def _may(path: str, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _shown(part: Path) -> str:
    """A path relative to the working directory, if it lies below it."""
    with contextlib.suppress(ValueError):
        return str(part.relative_to(os.path.realpath(".")))
    return str(part)


def _is_direct(text: str) -> bool:
    """Say whether a path is not a regular file, so that nothing can be renamed over it (a pipe, a device)."""
    if text in ("/dev/stdout", "/dev/stderr") or _DESCRIPTOR.fullmatch(text):
        return True
    with contextlib.suppress(OSError, ValueError):
        mode = os.stat(text).st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False


def _failed(text: str, error: OSError) -> OutputError:
    return OutputError(f"cannot write {text}: {error.strerror or error}")


_ACCESS_LIST = "system.posix_acl_access"


class _Sink(io.RawIOBase):
    """A binary file whose failures name the output. Closing it leaves the file below open.

    A reader that has gone away (`| head`) stays a BrokenPipeError: whether that is a failure is for the
    caller to say.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._written = file, name, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: ReadableBuffer, /) -> int:
        with self._named():
            view = memoryview(data).cast("B")
            while view:  # an unbuffered file may take a part
                n = self._file.write(view)
                self._written += n
                view = view[n:]
        return memoryview(data).nbytes

    def flush(self) -> None:
        if self._file.closed:  # and flushed by that: this sink is being thrown away
            return
        with self._named():
            self._file.flush()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OutputError(f"cannot write {self._name}: {reason}") from None


@contextlib.contextmanager
def open_output(path: str | Path | None, *, inputs: Sequence[str | Path] = ()) -> Iterator[BinaryIO]:
    """Give a binary sink for the result.

    A file is written under another name beside its place and renamed when the block ends without an
    exception, so that a reader sees the old file or the whole new one; after an exception (Ctrl-C
    included) the old one is still there and nothing else. An existing file's permissions stay. A
    symbolic link is followed; other hard links keep the old content. Standard output, pipes and
    devices are written directly. A path that ends in `.gz`, `.bz2`, `.xz` or `.zst` is compressed.

    Parameters
    ----------
    path, inputs
        As for `check_output`, which is called first.

    Yields
    ------
    binary file
        Its `write` raises OutputError; but BrokenPipeError, if the reader of a pipe has gone.
    """
    check_output(path, inputs=inputs)
    if path is None or str(path) in ("-", "/dev/stdout"):
        if sys.stdout is None or sys.stdout.closed:
            raise OutputError("cannot write standard output: it is closed")
        sink = _Sink(sys.stdout.buffer, "standard output")
        yield cast(BinaryIO, sink)
        sink.flush()
        return
    text = os.fspath(path)
    if _is_direct(text):
        with _open_direct(text) as file, _compressed(_Sink(file, text), text) as sink:
            yield sink
        return
    target = os.path.realpath(text)
    part = temporary_name(os.path.dirname(target))
    try:  # around its creation as well: an interrupt may come right behind it
        try:
            file = open(part, "xb", buffering=0)  # noqa: SIM115 (closed below, before the rename)
        except OSError as error:
            raise _failed(text, error) from None
        with file:
            _take_after(file.fileno(), target)
            with _compressed(_Sink(file, text), text) as sink:
                yield sink
            try:
                os.fsync(file.fileno())
            except OSError as error:
                raise _failed(text, error) from None
        try:
            os.replace(part, target)
        except OSError as error:
            raise _failed(text, error) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    _sync_folder(os.path.dirname(target))


def _open_direct(text: str) -> IO[bytes]:
    try:
        number = 2 if text == "/dev/stderr" else None
        if match := _DESCRIPTOR.fullmatch(text):
            number = int(match[1])
        if number is not None:  # opening it again would start at the head of a file that is appended to
            return os.fdopen(os.dup(number), "wb", buffering=0)
        return open(text, "wb", buffering=0)
    except OSError as error:
        raise _failed(text, error) from None


def _take_after(descriptor: int, target: str) -> None:
    """Give the new file the permissions (and, where allowed, the owner) of the one it is to replace."""
    try:
        old = os.stat(target)
    except OSError:
        return
    with contextlib.suppress(OSError, AttributeError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    if hasattr(os, "listxattr"):
        _take_attributes_after(descriptor, target, stat.S_IMODE(old.st_mode))


def _take_attributes_after(descriptor: int, target: str, mode: int) -> None:
    """Give the new file the extended attributes of the old one, its access control list among them.

    The mode of a file with such a list says less than the list: where it cannot be taken over, only the owner may
    read the new file.
    """
    try:
        names = os.listxattr(target)
    except OSError:
        return
    for name in names:
        try:
            os.setxattr(descriptor, name, os.getxattr(target, name))
        except OSError:
            if name == _ACCESS_LIST:
                with contextlib.suppress(OSError):
                    os.fchmod(descriptor, mode & stat.S_IRWXU)


def _sync_folder(folder: str) -> None:
    """Make the rename last through a power cut, on systems that can sync a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _compressed(sink: _Sink, name: str) -> Iterator[BinaryIO]:
    """Compress what is written, if the name says so. The same input gives the same bytes: no time is stored."""
    if name.endswith(".gz"):
        import gzip

        packed = gzip.GzipFile(filename="", mode="wb", fileobj=cast(BinaryIO, sink), mtime=0)
    elif name.endswith(".bz2"):
        import bz2

        packed = bz2.BZ2File(cast(BinaryIO, sink), "wb")
    elif name.endswith(".xz"):
        import lzma

        packed = lzma.LZMAFile(cast(BinaryIO, sink), "wb")  # noqa: SIM115 (closed below)
    elif name.endswith(".zst"):
        import pyarrow as pa

        packed = pa.CompressedOutputStream(sink, "zstd")
    else:
        packed = contextlib.nullcontext(sink)
    with packed as file:
        yield cast(BinaryIO, file)
