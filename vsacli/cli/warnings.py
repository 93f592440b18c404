"""The warnings of the libraries that `vsa` calls."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def library_warnings_silenced() -> Iterator[None]:
    """Within the block Python warnings are not shown, unless Python was started with -W or PYTHONWARNINGS."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        yield
