"""How the libraries say that memory, of the host or of an accelerator, is not enough."""

from __future__ import annotations

import errno

from vsacli.support.free_memory import free_addresses

_NEXT_TO_NOTHING = 200_000_000  # bytes
_WORDS = (
    "out of memory",  # CUDA, MPS, XPU
    "can't allocate memory",  # torch's allocator on a CPU
    "cannot allocate memory",  # the system
    "not enough memory",  # torch's allocator on Windows
    "status_alloc_failed",  # cuBLAS, cuDNN
    "failed to map segment",  # the loader of libraries
    "can't start new thread",  # whose stack has no room
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is not enough.

    `MemoryError` is Python's own; NumPy's and Arrow's are kinds of it. torch has a kind of `RuntimeError` for
    accelerators, and elsewhere only the words.
    """
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    text = str(error).lower()
    return isinstance(error, (RuntimeError, ImportError)) and any(words in text for words in _WORDS)


def nearly_out_of_memory() -> bool:
    """Whether a limit on addresses (`ulimit -v`) leaves next to nothing: whatever fails then, fails for that."""
    free = free_addresses()
    return free is not None and free < _NEXT_TO_NOTHING
