"""The VSA layer against torch's own attention and against its equations written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vsacli.nn import attention
from vsacli.nn.attention import MVSA


def test_one_slice_in_the_second_mode_is_standard_multi_head_attention() -> None:
    torch.manual_seed(0)
    width, heads = 12, 3
    ours = MVSA(width, width, heads, width // heads).double()
    torchs = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        torchs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        torchs.out_proj.weight.copy_(ours.out.weight)
    z = torch.randn(2, 7, 1, width, dtype=torch.float64)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 5:] = False
    expected, _ = torchs(z[:, :, 0], z[:, :, 0], z[:, :, 0], key_padding_mask=~mask, need_weights=False)
    got = ours(z, 1, mask, torch.ones(2, 1, dtype=torch.bool))[:, :, 0]
    torch.testing.assert_close(got[mask], expected[mask], rtol=1e-10, atol=1e-10)
    # and with the modes swapped, along the second one
    got = ours(z.transpose(1, 2), 2, mask, torch.ones(2, 1, dtype=torch.bool))[:, 0]
    torch.testing.assert_close(got[mask], expected[mask], rtol=1e-10, atol=1e-10)


def test_equations_written_out_in_numpy() -> None:
    rng = np.random.default_rng(0)
    d1, d2, d3, h, r = 5, 4, 3, 2, 2
    torch.manual_seed(1)
    layer = MVSA(d3, 6, r, h).double()
    z = rng.normal(size=(d1, d2, d3))
    w = [m.weight.detach().numpy().reshape(r, h, d3) for m in (layer.query, layer.key, layer.value)]
    heads = []
    for i in range(r):
        q, k, v = (np.einsum("abc,hc->abh", z, w[part][i]) for part in range(3))  # mode-three products, eq. 1
        scores = np.einsum("ibh,jbh->ij", q, k) / math.sqrt(d2 * h)  # eq. 2
        a = np.exp(scores - scores.max(1, keepdims=True))
        a /= a.sum(1, keepdims=True)
        heads.append(np.einsum("ij,jbh->ibh", a, v))  # eq. 3
    expected = np.einsum("abr,hr->abh", np.concatenate(heads, -1), layer.out.weight.detach().numpy())  # eq. 4
    ones = [torch.ones(1, n, dtype=torch.bool) for n in (d1, d2)]
    got = layer(torch.from_numpy(z)[None], 1, *ones)[0].detach().numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    swapped = layer(torch.from_numpy(z).transpose(0, 1)[None], 2, *ones)[0].detach().numpy().swapaxes(0, 1)
    np.testing.assert_allclose(swapped, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("precision", [torch.float64, torch.bfloat16])
def test_the_plain_and_the_fused_attention_agree(monkeypatch: pytest.MonkeyPatch, precision: torch.dtype) -> None:
    torch.manual_seed(2)
    layer = MVSA(6, 6, 2, 4).to(torch.float64 if precision == torch.float64 else torch.float32)
    z = torch.randn(3, 9, 5, 6, dtype=layer.out.weight.dtype, requires_grad=True)
    rows, slots = torch.ones(3, 9, dtype=torch.bool), torch.ones(3, 5, dtype=torch.bool)
    rows[0, 6:] = False
    slots[1, 3:] = False
    exist = (rows[:, :, None] & slots[:, None, :]).unsqueeze(-1)
    results = []
    for most in (512, 0):  # 0: the fused kernel
        monkeypatch.setattr(attention, "PLAIN_SLICES", most)
        parts = []
        for axis, masks in ((1, (rows, slots)), (2, (slots, rows))):
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
                out = layer(z, axis, *masks)
            out = torch.where(exist, out.to(z.dtype), 0)
            parts += [out.detach(), *torch.autograd.grad(out.square().sum(), [z, layer.query.weight])]
        results.append(parts)
    tolerance = 1e-10 if precision == torch.float64 else 0.05
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * float(b.abs().max()))
