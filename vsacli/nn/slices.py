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

from vsacli.nn.attention import MVSA
from vsacli.nn.block import Block

SLICE_CELLS = 4096  # cells of a slice: some hundred kB a tensor, which a processor's cache holds ...
ACCELERATOR_SLICE = 1 << 18  # ... and what keeps an accelerator busy
LEAST_SLICES = 4  # up to so many slices, a pass is computed at once
QUERY_CELLS = 16  # slices of queries between slots are so many times larger, since each reads all keys and values ...
MOST_SCORES = 1 << 22  # ... but have at most so many attention weights
NEGLIGIBLE = 1e-20  # an attention weight


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
    embed_in: nn.Module, blocks: nn.ModuleList, norm_out: nn.Module, z: Tensor, n_read: int | None = None
) -> Tensor:
    """``norm_out(blocks(embed_in(z)))`` of one task for which `can_be_sliced` holds.

    Parameters
    ----------
    embed_in, norm_out : Module
        What is done for each cell before and after the blocks; ``norm_out`` keeps the width.
    blocks : ModuleList of Block
    z : Tensor, shape (1, N, S, D_3)
    n_read : int, optional
        Rows that others read; None: all.

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
        attend(block, hidden, len(hidden) if n_read is None else n_read, cells)
    for part in hidden.split(step):
        part.copy_(norm_out(part))
    return hidden.unsqueeze(0)


def _slice_cells(device: torch.device) -> int:
    return SLICE_CELLS if device.type == "cpu" else ACCELERATOR_SLICE


def _attend_between_rows(block: Block, z: Tensor, n_read: int, cells: int) -> None:
    """``z`` (N, S, H) becomes ``block(z)``; each row attends to the first ``n_read`` rows and to itself."""
    attention = block.attention
    n, s, _ = z.shape
    step = max(1, cells // n)
    scale = (s * attention.head_width) ** -0.5
    asked = n > n_read
    scores = z.new_zeros(attention.heads, n, n_read + asked)  # the last column: of a row that is asked, itself
    for i in range(0, s, step):
        x = block.norm_in(z[:, i : i + step])
        q, k = (_by_rows(attention, project(x)) for project in (attention.query, attention.key))
        scores[..., :n_read].baddbmm_(q, k[:, :n_read].transpose(1, 2), alpha=scale)
        if asked:
            scores[..., n_read].add_((q * k).sum(-1), alpha=scale)
    if asked:
        scores[:, :n_read, n_read] = -1e30  # these rows are among the keys already
    _softmax(scores)
    for i in range(0, s, step):
        part = z[:, i : i + step]
        v = _by_rows(attention, attention.value(block.norm_in(part)))
        o = torch.bmm(scores[..., :n_read], v[:, :n_read])
        if asked:
            o.addcmul_(scores[..., n_read:], v)
        o = o.view(attention.heads, n, -1, attention.head_width)
        _finish(block, part, o.permute(1, 2, 0, 3))


def _attend_between_slots(block: Block, z: Tensor, n_read: int, cells: int) -> None:
    """``z`` (N, S, H) becomes ``block(z)``; the first ``n_read`` rows decide which slots attend to which."""
    attention = block.attention
    n, s, _ = z.shape
    scale = (n_read * attention.head_width) ** -0.5
    k, v = (z.new_empty(attention.heads, s, rows, attention.head_width) for rows in (n_read, n))
    step = max(1, cells // s)
    for i in range(0, n, step):
        x = block.norm_in(z[i : i + step])
        v[:, :, i : i + step] = _heads(attention, attention.value(x)).permute(2, 1, 0, 3)
        if i < n_read:
            k[:, :, i : i + step] = _heads(attention, attention.key(x[: n_read - i])).permute(2, 1, 0, 3)
    k, v = k.flatten(2), v.flatten(2)
    step = max(1, min(QUERY_CELLS * cells // n, MOST_SCORES // (attention.heads * s)))
    for i in range(0, s, step):
        part = z[:, i : i + step]
        q = _heads(attention, attention.query(block.norm_in(part[:n_read]))).permute(2, 1, 0, 3).flatten(2)
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(scale)
        _softmax(scores)
        o = torch.bmm(scores, v).view(attention.heads, -1, n, attention.head_width)
        _finish(block, part, o.permute(2, 1, 0, 3))


def _softmax(scores: Tensor) -> None:
    """In place, over the last axis. Weights far below a rounding error become 0: products of denormals are slow."""
    torch.softmax(scores, -1, out=scores)
    torch.threshold_(scores, NEGLIGIBLE, 0.0)


def _heads(attention: MVSA, projected: Tensor) -> Tensor:
    """(n, s, R H_K) -> (n, s, R, H_K)."""
    return projected.unflatten(2, (attention.heads, attention.head_width))


def _by_rows(attention: MVSA, projected: Tensor) -> Tensor:
    """(n, s, R H_K) -> (R, n, s H_K)."""
    return _heads(attention, projected).permute(2, 0, 1, 3).flatten(2)


def _finish(block: Block, part: Tensor, attended: Tensor) -> None:
    """The rest of a block for the cells ``part`` (n, s, H), with the heads (n, s, R, H_V) of what they attended to."""
    y = block.attention.out(attended.flatten(2)).add_(part)
    torch.add(y, block.ff(block.norm(y)), out=part)
