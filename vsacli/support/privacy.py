"""Whether messages may quote the contents of cells: only if asked for, because logs are kept and read by others.

Column names, row and line numbers and counts are not cell values; labels are, including class names. A message that
would quote one asks `quoted` for it. The command line shows them on a terminal; `VSA_SHOW_VALUES=1` shows them
everywhere, and `VSA_SHOW_VALUES=0` nowhere. Results (standard output, files) are not messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

VARIABLE = "VSA_SHOW_VALUES"

_shown: ContextVar[bool] = ContextVar("values shown", default=False)


def values_shown() -> bool:
    """Tell whether messages may hold cell values: as `VSA_SHOW_VALUES` says, else as `showing_values` does."""
    said = os.environ.get(VARIABLE, "")
    return said != "0" if said else _shown.get()


@contextmanager
def showing_values(shown: bool) -> Iterator[None]:
    """Within the block messages may (or may not) hold cell values, unless `VSA_SHOW_VALUES` says otherwise."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def quoted(value: object, instead: str) -> str:
    """Spell a cell's content for a message: its repr, or the words `instead` if values are not shown."""
    return repr(value) if values_shown() else instead
