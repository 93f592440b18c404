"""What the machine can do: how large a batch may be, and in which precision it is fast."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from vsacli.nn.config import NetworkConfig
from vsacli.training.config import Precision

SHARE = 0.5  # of the memory that is available when training starts


def cells_that_fit(config: NetworkConfig, device: torch.device) -> int | None:
    """The most cells of a batch on the CPU, a power of two; None if that is not known.

    Linux gives out memory that it does not have and kills the process that then uses it, so that
    there is no error to act on. An accelerator does raise one.
    """
    available = _available() if device.type == "cpu" else None
    if available is None:
        return None
    cells = int(available * SHARE) // (4 * config.training_floats)
    return 1 << max(0, cells.bit_length() - 1)


def leave_cores_to(workers: int) -> None:
    """Take a thread less for each process that prepares batches, at least one; `OMP_NUM_THREADS` is heeded as it is.

    Steps are made of small operations: on two cores one thread beside a worker takes more steps than two that compete
    with it for the second core (docs/performance.md).
    """
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() - workers))


def fast_precision(device: torch.device) -> Precision:
    """bfloat16 where the processor multiplies matrices of it (CUDA; AMX or AVX-512 BF16 on a CPU), else float32.

    With AMX a step takes two thirds of its time in float32, with AVX-512 BF16 alone four fifths (docs/performance.md).
    """
    if device.type == "cpu":
        supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # where there is AMX, there is this as well
        return "bfloat16" if supported is not None and supported() else "float32"
    return "bfloat16" if device.type == "cuda" else "float32"


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
