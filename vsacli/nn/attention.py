"""Variable-feature self-attention (VSA), section 3.3 of the paper.

One attention matrix between the slices of one mode of a three-mode tensor, computed from
projections of the third mode alone, so that the layer takes tensors of any first and second size.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vsacli.nn.kept import Kept, KeptRows, KeptSlots

PLAIN_SLICES = 512  # up to so many slices the plain attention matrix is formed in training on a CPU


class MVSA(nn.Module):
    r"""Multi-head variable-feature self-attention.

    For each head (equations 1-3 of the paper), with slices along the first mode,

    .. math:: A = \mathrm{softmax}(Q_{(1)} K_{(1)}^\top / \sqrt{D_2 H_K}),\quad O = V \times_1 A

    and the heads concatenated along the third mode and projected by :math:`W^O` (equation 4).

    Parameters
    ----------
    width_in : int
        D_3, the third mode of the input.
    width_out : int
        The third mode of the output.
    heads : int
        R.
    head_width : int
        H_K = H_V.

    Notes
    -----
    The matricizations are views of one projection, so the cost is four matrix products and memory
    is O(D_1^2 R + D_1 D_2 R H_K) per task: no tensor of size D_1^2 D_2 is ever formed.
    """

    def __init__(self, width_in: int, width_out: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = head_width
        self.query = nn.Linear(width_in, heads * head_width, bias=False)
        self.key = nn.Linear(width_in, heads * head_width, bias=False)
        self.value = nn.Linear(width_in, heads * head_width, bias=False)
        self.out = nn.Linear(heads * head_width, width_out, bias=False)

    def forward(self, z: Tensor, axis: int, mask: Tensor, other_mask: Tensor, kept: list[Kept] | None = None) -> Tensor:
        """Attend between the slices along one of the two variable modes.

        Parameters
        ----------
        z : Tensor, shape (B, N, S, width_in)
            Finite everywhere, padding included.
        axis : {1, 2}
            1 attends between the N rows, 2 between the S attributes and labels; the other mode is
            then the paper's second mode, D_2.
        mask : Tensor of bool, shape (B, size of the attended mode)
            Slices that exist.
        other_mask : Tensor of bool, shape (B, size of the other mode)
            Elements of the other mode that exist; only they enter the scores, and D_2 counts them.
        kept : list, optional
            What rows that are asked about later need of this layer is appended to it; of one task without padding.

        Returns
        -------
        Tensor, shape (B, N, S, width_out)
            What it holds in padded positions is finite and has no meaning.
        """
        b, n, s, _ = z.shape
        # (B, N, S, R H_K) -> (B, R, D1, D2 H_K)
        order = (0, 3, 1, 2, 4) if axis == 1 else (0, 3, 2, 1, 4)
        q, k, v = (
            project(z).view(b, n, s, self.heads, self.head_width).permute(order).flatten(3)
            for project in (self.query, self.key, self.value)
        )
        # Each task's own D_2; scaling and masking the queries is enough, since scores are Q K^T.
        d2 = other_mask.sum(1).clamp(min=1).to(q.dtype)
        weight = other_mask.to(q.dtype) * (d2 * self.head_width).rsqrt().unsqueeze(1)
        q = q * weight.repeat_interleave(self.head_width, 1)[:, None, None, :]
        if kept is not None and axis == 2:
            shares = (q @ k.transpose(2, 3)).softmax(-1)
            kept.append(KeptSlots(shares[0]))
            o = shares @ v
        else:
            if kept is not None:
                kept.append(KeptRows(k[0], v[0]))
            o = attend(q, k, v, mask)
        # (B, R, D1, D2 H_V) -> (B, N, S, R H_V)
        o = o.view(b, self.heads, *((n, s) if axis == 1 else (s, n)), self.head_width)
        o = o.permute((0, 2, 3, 1, 4) if axis == 1 else (0, 3, 2, 1, 4))
        return self.out(o.reshape(b, n, s, self.heads * self.head_width))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """softmax(Q K^T) V over the keys that exist.

    Parameters
    ----------
    q : Tensor, shape (B, R, D_1, E)
        Queries, already scaled.
    k : Tensor, shape (B, R, K, E)
    v : Tensor, shape (B, R, K, E')
    mask : Tensor of bool, shape (B, K)
        Keys that exist; at least one of each task.

    Notes
    -----
    On a CPU the fused kernel is slow in its backward pass: for matrices of this size the plain products save a
    tenth of a whole step (benchmarks/train_vs_loop.py). Answers without gradients take the fused kernel.
    """
    if q.device.type != "cpu" or not (torch.is_grad_enabled() and q.requires_grad) or q.shape[2] > PLAIN_SLICES:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :], scale=1.0)
    b, r, d1, e = q.shape
    keys = k.shape[2]
    bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -1e30)
    bias = bias[:, None, None, :].expand(b, r, d1, keys).reshape(b * r, d1, keys)
    scores = torch.baddbmm(bias, q.reshape(b * r, d1, e), k.reshape(b * r, keys, e).transpose(1, 2))
    return torch.bmm(scores.softmax(-1), v.reshape(b * r, keys, -1).to(scores.dtype)).view(b, r, d1, -1)
