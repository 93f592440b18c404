"""Deep sets, exchangeable layers and attention over elements, each against a loop in NumPy or a known property."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from vsacli.methods.atthml import AttHMLConfig, Encoder
from vsacli.methods.deepsets import DeepSet, mean_of
from vsacli.methods.exchangeable import ExchangeableLayer


def dense(layers: nn.Sequential, x: np.ndarray) -> np.ndarray:
    """A feed-forward network with ReLU, by its matrices."""
    maps = [m for m in layers if isinstance(m, nn.Linear)]
    for i, m in enumerate(maps):
        x = x @ m.weight.detach().numpy().T + m.bias.detach().numpy()
        if i + 1 < len(maps):
            x = np.maximum(x, 0)
    return x


def test_a_deep_set_has_no_order_and_leaves_out_what_is_not_there() -> None:
    torch.manual_seed(0)
    layer = DeepSet(2, 5, 3).double()
    assert [tuple(m.weight.shape) for m in layer.elements if isinstance(m, nn.Linear)] == [(5, 2), (5, 5), (5, 5)]
    x = np.random.default_rng(0).normal(size=(4, 2))
    there = np.array([True, False, True, True])
    expected = dense(layer.whole, dense(layer.elements, x[there]).mean(0))
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        got = layer(torch.from_numpy(x[order])[None], torch.from_numpy(there[order])[None])[0]
        np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-10)
    nothing = layer(torch.from_numpy(x)[None], torch.zeros(1, 4, dtype=torch.bool))[0]
    np.testing.assert_allclose(nothing.detach().numpy(), dense(layer.whole, np.zeros(5)), rtol=1e-10)


def test_the_mean_of_nothing_is_zero_whatever_stands_there() -> None:
    values = torch.full((2, 3, 4), torch.inf)
    assert (mean_of(values, torch.zeros(2, 3, dtype=torch.bool)) == 0).all()


def matrix(n: int = 4, s: int = 3, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    seen = rng.random((n, s)) < 0.7
    seen[0, 0] = True
    return rng.normal(size=(n, s, d)), seen


def test_an_exchangeable_layer_is_the_equation_cell_by_cell() -> None:
    torch.manual_seed(0)
    layer = ExchangeableLayer(2, 5).double()
    z, seen = matrix()
    w = {name: getattr(layer, name).weight.detach().numpy().T for name in ("cell", "row", "column", "all")}

    def mean(cells: list[np.ndarray]) -> np.ndarray:
        return np.mean(cells, 0) if cells else np.zeros(2)

    got = layer(torch.from_numpy(z)[None], torch.from_numpy(seen)[None])[0].detach().numpy()
    for n in range(4):
        for s in range(3):
            expected = z[n, s] @ w["cell"] + layer.cell.bias.detach().numpy()
            expected = expected + mean([z[n, j] for j in range(3) if seen[n, j]]) @ w["row"]
            expected = expected + mean([z[i, s] for i in range(4) if seen[i, s]]) @ w["column"]
            expected = expected + mean([z[i, j] for i in range(4) for j in range(3) if seen[i, j]]) @ w["all"]
            np.testing.assert_allclose(got[n, s], expected, rtol=1e-10)


def test_an_exchangeable_layer_follows_permutations_of_rows_and_columns() -> None:
    torch.manual_seed(0)
    layer = ExchangeableLayer(2, 5).double()
    z, seen = (torch.from_numpy(a)[None] for a in matrix())
    rows, columns = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
    moved = layer(z[:, rows][:, :, columns], seen[:, rows][:, :, columns])
    torch.testing.assert_close(moved, layer(z, seen)[:, rows][:, :, columns], rtol=1e-10, atol=1e-10)


def test_the_encoder_is_a_pre_norm_transformer_layer_of_torch() -> None:
    torch.manual_seed(0)
    ours = Encoder(AttHMLConfig(width=8, heads=2)).double().eval()
    reference = nn.TransformerEncoderLayer(8, 2, 8, 0.0, nn.functional.gelu, batch_first=True, norm_first=True)
    reference = reference.double().train()  # in evaluation it may take a fused path
    b = ours.block
    first, second = (m for m in b.ff if isinstance(m, nn.Linear))
    with torch.no_grad():
        reference.self_attn.in_proj_weight.copy_(
            torch.cat([b.attention.query.weight, b.attention.key.weight, b.attention.value.weight])
        )
        reference.self_attn.in_proj_bias.zero_()
        reference.self_attn.out_proj.weight.copy_(b.attention.out.weight)
        reference.self_attn.out_proj.bias.zero_()
    for theirs, own in (
        (reference.norm1, b.norm_in),
        (reference.norm2, b.norm),
        (reference.linear1, first),
        (reference.linear2, second),
    ):
        theirs.load_state_dict(own.state_dict())
    tokens = torch.randn(3, 6, 8, dtype=torch.float64)
    there = torch.ones(3, 6, dtype=torch.bool)
    there[1, 4:] = False
    expected = reference(tokens, src_key_padding_mask=~there)
    torch.testing.assert_close(ours(tokens, there)[there], expected[there], rtol=1e-8, atol=1e-8)
