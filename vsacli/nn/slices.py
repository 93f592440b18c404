"""Blocks applied to one large task slice by slice, without gradients: for many attributes, or many classes.

A block as :mod:`vsacli.nn.block` writes it holds about ten tensors of the size of its input. Most of its work is done
for each cell by itself, so it can be done for some of them, in place, and in the cache of a processor. Attention needs
all cells at two points only, and which of them is cheap to keep depends on the mode:

- between rows, of which a pass has some hundred, the attention matrix (R, N, N): it is summed over slices of slots;
- between slots, which may be thousands, the keys and values (R, S, N H_K): queries then go through in slices.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vsacli.nn.block import Block
from vsacli.nn.inplace import by_rows, finish_, heads_of, softmax_
from vsacli.nn.kept import Kept, KeptRows, KeptSlots

SLICE_CELLS = 4096  # cells of a slice: some hundred kB a tensor, which a processor's cache holds ...
ACCELERATOR_SLICE = 1 << 18  # ... and what keeps an accelerator busy
LEAST_SLICES = 4  # up to so many slices, a pass is computed at once
QUERY_CELLS = 16  # slices of queries between slots are so many times larger, since each reads all keys and values ...
MOST_SCORES = 1 << 22  # ... but have at most so many attention weights


def can_be_sliced(blocks: nn.ModuleList, z: Tensor, row_mask: Tensor, slot_mask: Tensor) -> bool:
    """Whether a pass is large, of one task without padding, and needs no gradients.

    Parameters
    ----------
    blocks : ModuleList of Block
    z : Tensor, shape (B, N, S, H)
    row_mask, slot_mask : Tensor of bool, shapes (B, N) and (B, S)
    """
    return (
        z.shape[0] == 1
        and z.shape[1] * z.shape[2] > LEAST_SLICES * _slice_cells(z.device)
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled(z.device.type)
        and all(isinstance(block, Block) and block.prenorm for block in blocks)
        and bool(row_mask.all())
        and bool(slot_mask.all())
    )


def hidden_in_slices(
    embed_in: nn.Module, blocks: nn.ModuleList, norm_out: nn.Module, z: Tensor, kept: list[Kept] | None = None
) -> Tensor:
    """``norm_out(blocks(embed_in(z)))`` of one task without padding, in pre-norm blocks.

    Parameters
    ----------
    embed_in, norm_out : Module
        What is done for each cell before and after the blocks; ``norm_out`` keeps the width.
    blocks : ModuleList of Block
    z : Tensor, shape (1, N, S, D_3)
    kept : list, optional
        What each block leaves for rows that are asked about later is appended to it.

    Returns
    -------
    Tensor, shape (1, N, S, H)
    """
    cells = _slice_cells(z.device)
    step = max(1, cells // z.shape[2])
    hidden = torch.cat([embed_in(part) for part in z.split(step, 1)], 1)[0]  # (N, S, H)
    for block in blocks:
        assert isinstance(block, Block)
        attend = _attend_between_rows if block.axis == 1 else _attend_between_slots
        left = attend(block, hidden, cells, keep=kept is not None)
        if kept is not None and left is not None:
            kept.append(left)
    for part in hidden.split(step):
        part.copy_(norm_out(part))
    return hidden.unsqueeze(0)


def _slice_cells(device: torch.device) -> int:
    return SLICE_CELLS if device.type == "cpu" else ACCELERATOR_SLICE


def _attend_between_rows(block: Block, z: Tensor, cells: int, keep: bool) -> KeptRows | None:
    """``z`` (N, S, H) becomes ``block(z)``; keys and values are given back, if they are to be kept."""
    attention = block.attention
    n, s, _ = z.shape
    step = max(1, cells // n)
    scale = (s * attention.head_width) ** -0.5
    kept = None
    if keep:
        kept = KeptRows(*(z.new_empty(attention.heads, n, s * attention.head_width) for _ in range(2)))
    scores = z.new_zeros(attention.heads, n, n)
    for i in range(0, s, step):
        x = block.norm_in(z[:, i : i + step])
        q, k = (by_rows(attention, project(x)) for project in (attention.query, attention.key))
        scores.baddbmm_(q, k.transpose(1, 2), alpha=scale)
        if kept is not None:
            kept.keys[:, :, i * attention.head_width : (i + step) * attention.head_width] = k
    softmax_(scores)
    for i in range(0, s, step):
        part = z[:, i : i + step]
        v = by_rows(attention, attention.value(block.norm_in(part)))
        if kept is not None:
            kept.values[:, :, i * attention.head_width : (i + step) * attention.head_width] = v
        o = torch.bmm(scores, v).view(attention.heads, n, -1, attention.head_width)
        finish_(block, part, o.permute(1, 2, 0, 3))
    return kept


def _attend_between_slots(block: Block, z: Tensor, cells: int, keep: bool) -> KeptSlots | None:
    """``z`` (N, S, H) becomes ``block(z)``; attention weights are given back, if they are to be kept."""
    attention = block.attention
    n, s, _ = z.shape
    scale = (n * attention.head_width) ** -0.5
    k, v = (z.new_empty(attention.heads, s, n, attention.head_width) for _ in range(2))
    step = max(1, cells // s)
    for i in range(0, n, step):
        x = block.norm_in(z[i : i + step])
        for projected, project in ((k, attention.key), (v, attention.value)):
            projected[:, :, i : i + step] = heads_of(attention, project(x)).permute(2, 1, 0, 3)
    k, v = k.flatten(2), v.flatten(2)
    kept = KeptSlots(z.new_empty(attention.heads, s, s)) if keep else None
    step = max(1, min(QUERY_CELLS * cells // n, MOST_SCORES // (attention.heads * s)))
    for i in range(0, s, step):
        part = z[:, i : i + step]
        q = heads_of(attention, attention.query(block.norm_in(part))).permute(2, 1, 0, 3).flatten(2)
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale)
        softmax_(scores)
        if kept is not None:
            kept.shares[:, i : i + step] = scores
        o = torch.bmm(scores, v).view(attention.heads, -1, n, attention.head_width)
        finish_(block, part, o.permute(2, 1, 0, 3))
    return kept
