"""The bytes of a large file that stay on disk: read again where they are needed."""

from __future__ import annotations

import os
import stat
import weakref

import numpy as np

from vsacli.errors import InputError
from vsacli.tables.text.scanner import Bytes

LARGE = 32 << 20  # bytes from which on a file is not kept in memory once the positions of its cells are known
_PIECE = 1 << 24


class FileBytes:
    """A file as an array of bytes that is sliced, each slice read from the disk.

    The file is kept open: one that is renamed or replaced meanwhile (by the output, say) is still there. One that is
    written to is not: its time of change or its size shows it, and reading it raises InputError.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self._name = descriptor, name
        self._state = _state(descriptor)
        weakref.finalize(self, os.close, descriptor)

    @classmethod
    def of(cls, path: str, name: str, data: bytes | bytearray | memoryview) -> FileBytes | None:
        """The file at `path` if it still holds `data`; None if not, or if it is not a regular file."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # opening a named pipe would wait for somebody to write
                return None
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError:
            return None
        file = cls(descriptor, name)
        size = len(file)
        if size != len(data):
            return None
        view = memoryview(data)
        try:
            same = all(file[a : a + _PIECE].data == view[a : a + _PIECE] for a in range(0, size, _PIECE))
        except InputError:
            return None
        return file if same else None

    def __len__(self) -> int:
        return self._state[0]

    def __getitem__(self, part: slice) -> Bytes:
        """Read bytes `[start, stop)`.

        Raises
        ------
        InputError
            They cannot be read, or the file is not the same any more.
        """
        start, stop, _ = part.indices(len(self))
        data = np.empty(max(0, stop - start), np.uint8)
        view = data.data
        try:
            if hasattr(os, "preadv"):
                at = 0
                while at < len(view) and (n := os.preadv(self._descriptor, [view[at:]], start + at)):
                    at += n
            else:
                os.lseek(self._descriptor, start, os.SEEK_SET)
                piece = os.read(self._descriptor, len(view))
                at = len(piece)
                view[:at] = piece
        except OSError as error:
            raise InputError(f"{self._name} cannot be read any more: {error.strerror}") from None
        if at < len(view) or _state(self._descriptor) != self._state:
            raise InputError(f"{self._name} was changed while it was read: run it again")
        return data


def _state(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns
