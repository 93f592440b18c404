"""Files that several processes may write at once: each is whole or not there, and a killed process leaves no litter.

A file is written under a name of its own beside its place (`.vsa-` and 16 random digits) and renamed at the end.
What a killed process left is removed by the next one that writes there, once it is a day old: nobody is still
writing it then.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

OLD = 24 * 3600  # seconds
_TEMPORARY = re.compile(r"\.vsa-[0-9a-f]{16}\.tmp")
_swept: set[str] = set()


def temporary_name(folder: str) -> str:
    """The path of a file in a folder that no other process has; old ones that were left there are removed first."""
    if folder not in _swept:  # once is enough: a folder may hold many thousand files
        _swept.add(folder)
        remove_leftovers(folder, OLD)
    return os.path.join(folder, f".vsa-{secrets.token_hex(8)}.tmp")


def remove_leftovers(folder: str, age: float) -> None:
    """Remove the temporary files in a folder that nobody has written to for so many seconds, as far as possible."""
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime >= age:
                        os.unlink(entry.path)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name under which to write a file; it takes the place of `path` when the block ends.

    After an exception the older file is still there, and nothing else.

    Raises
    ------
    OSError
        If it cannot be renamed.
    """
    fresh = Path(temporary_name(os.path.dirname(path)))
    try:
        yield fresh
        os.replace(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
