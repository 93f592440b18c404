"""What the blocks keep of the rows that they have read, for others that are asked about (:mod:`vsacli.nn.asked`)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class KeptRows:
    """Of a block along examples: keys and values of the rows, both (R, N, S H_K)."""

    keys: Tensor
    values: Tensor


@dataclass(frozen=True)
class KeptSlots:
    """Of a block along attributes and labels: the attention weights between slots, (R, S, S)."""

    shares: Tensor


Kept = KeptRows | KeptSlots
