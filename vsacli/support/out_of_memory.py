"""How the libraries say that memory, of the host or of an accelerator, is not enough."""

from __future__ import annotations

_WORDS = (
    "out of memory",  # CUDA, MPS, XPU
    "can't allocate memory",  # torch's allocator on a CPU
    "cannot allocate memory",  # the system
    "not enough memory",  # torch's allocator on Windows
    "status_alloc_failed",  # cuBLAS, cuDNN
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is not enough.

    `MemoryError` is Python's own; NumPy's and Arrow's are kinds of it. torch has a kind of `RuntimeError` for
    accelerators, and elsewhere only the words.
    """
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _WORDS)
