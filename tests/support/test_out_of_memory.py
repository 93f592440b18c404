"""What is taken for a lack of memory: the libraries' own errors, where they can be had, and those of accelerators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import torch

from vsacli.support.out_of_memory import is_out_of_memory

TOO_MUCH = 1 << 50  # bytes: refused by the system, so that nothing is taken


@pytest.mark.parametrize(
    ("take", "kind"),
    [
        (lambda: torch.empty(TOO_MUCH, dtype=torch.uint8), RuntimeError),
        (lambda: np.empty(TOO_MUCH, np.uint8), MemoryError),
        (lambda: bytearray(TOO_MUCH), MemoryError),
        (lambda: pa.allocate_buffer(TOO_MUCH), MemoryError),
    ],
    ids=["torch", "numpy", "python", "arrow"],
)
def test_what_the_libraries_raise(take: Callable[[], object], kind: type[BaseException]) -> None:
    with pytest.raises(kind) as caught:
        take()
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB"),
        RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
        RuntimeError("MPS backend out of memory (MPS allocated: 17.9 GB, max allowed: 18.1 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:80] data. DefaultCPUAllocator: not enough memory: you tried to"),
        RuntimeError("unable to mmap 4096 bytes from file: Cannot allocate memory (12)"),
    ],
    ids=["torch", "cuda", "mps", "cublas", "cudnn", "windows", "system"],
)
def test_what_accelerators_and_other_systems_say(error: RuntimeError) -> None:
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: device-side assert triggered"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
        RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed."),
        ValueError("out of memory"),  # what someone's file says
        KeyboardInterrupt(),
    ],
    ids=["assert", "shapes", "worker", "value", "interrupt"],
)
def test_other_errors_are_none(error: BaseException) -> None:
    assert not is_out_of_memory(error)
