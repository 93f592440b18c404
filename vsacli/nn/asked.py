"""Rows that are asked about after others were read, which no other row attends to.

    rows that are read --blocks--> keys and values, attention between slots, of each block
    another row, these --blocks--> its representation, which no other row that is asked about enters

A row that is asked about attends to the rows that were read and to itself, and between its slots as they do.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vsacli.nn.block import Block
from vsacli.nn.inplace import by_rows, finish_, heads_of, softmax_
from vsacli.nn.kept import Kept, KeptRows, KeptSlots


def hidden_when_asked(
    embed_in: nn.Module, blocks: nn.ModuleList, norm_out: nn.Module, z: Tensor, kept: list[Kept]
) -> Tensor:
    """The representation (u, S, H) after the last block of rows that are asked about, in pre-norm blocks.

    Parameters
    ----------
    embed_in, norm_out : Module
        What is done for each cell before and after the blocks.
    blocks : ModuleList of Block
    z : Tensor, shape (u, S, D_3)
    kept : list
        What each block has kept.
    """
    hidden = embed_in(z)
    for block, left in zip(blocks, kept, strict=True):
        assert isinstance(block, Block)
        if isinstance(left, KeptRows):
            _ask_between_rows(block, hidden, left)
        else:
            _ask_between_slots(block, hidden, left)
    return norm_out(hidden)


def _ask_between_rows(block: Block, z: Tensor, kept: KeptRows) -> None:
    """``z`` (u, S, H) becomes ``block(z)``: each row attends to those that were read and to itself."""
    attention, n = block.attention, kept.keys.shape[1]
    u, s, _ = z.shape
    scale = (s * attention.head_width) ** -0.5
    x = block.norm_in(z)
    q, k, v = (by_rows(attention, project(x)) for project in (attention.query, attention.key, attention.value))
    scores = z.new_zeros(attention.heads, u, n + 1)  # the last column: of each row with itself
    scores[..., :n].baddbmm_(q, kept.keys.transpose(1, 2), alpha=scale)
    scores[..., n] = (q * k).sum(-1).mul_(scale)
    softmax_(scores)
    o = torch.bmm(scores[..., :n], kept.values).addcmul_(scores[..., n:], v)
    finish_(block, z, o.view(attention.heads, u, s, -1).permute(1, 2, 0, 3))


def _ask_between_slots(block: Block, z: Tensor, kept: KeptSlots) -> None:
    """``z`` (u, S, H) becomes ``block(z)``: slots attend to each other as in the rows that were read."""
    attention = block.attention
    u, s, _ = z.shape
    v = heads_of(attention, attention.value(block.norm_in(z))).permute(2, 1, 0, 3).flatten(2)  # (R, S, u H_V)
    o = torch.bmm(kept.shares, v).view(attention.heads, s, u, -1)
    finish_(block, z, o.permute(2, 1, 0, 3))
