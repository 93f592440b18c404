"""The block f^(b) around a VSA layer (equation 6 of the paper), and its pre-norm form."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from vsacli.nn.attention import MVSA
from vsacli.nn.config import VSAConfig
from vsacli.nn.kept import Kept


def feed_forward(width_in: int, hidden: int, width_out: int, layers: int, activation: type[nn.Module]) -> nn.Sequential:
    """A feed-forward network over the third mode: ``layers`` linear maps with activations between."""
    widths = [width_in, *[hidden] * (layers - 1), width_out]
    parts: list[nn.Module] = []
    for i, (a, b) in enumerate(pairwise(widths)):
        if i:
            parts.append(activation())
        parts.append(nn.Linear(a, b))
    return nn.Sequential(*parts)


class Block(nn.Module):
    r"""Attention along one mode, then a feed-forward network over the third mode.

    ``residual="paper"`` (equation 6):

    .. math:: f(Z) = Z \times_3 W^R + \mathrm{FF}(\mathrm{LN}(\mathrm{MVSA}(Z)))

    ``"none"`` drops the first term. ``"prenorm"``:

    .. math:: Z' = Z + \mathrm{MVSA}(\mathrm{LN}(Z)), \qquad f(Z) = Z' + \mathrm{FF}(\mathrm{LN}(Z'))

    Parameters
    ----------
    config : VSAConfig
        Widths and the kind of residual.
    axis : {1, 2}
        1: attention along examples; 2: along attributes and labels.
    width_in, width_out : int
        Third mode before and after; equal for ``"prenorm"``.
    """

    def __init__(self, config: VSAConfig, axis: int, width_in: int, width_out: int) -> None:
        super().__init__()
        self.axis = axis
        self.prenorm = config.residual == "prenorm"
        inner = width_in if self.prenorm else config.width
        self.attention = MVSA(width_in, inner, config.heads, config.head_width)
        self.norm = nn.LayerNorm(inner) if config.layer_norm else nn.Identity()
        activation = nn.GELU if self.prenorm else nn.ReLU
        self.ff = feed_forward(inner, config.ff_width, width_out, config.ff_layers, activation)
        self.residual = nn.Linear(width_in, width_out, bias=False) if config.residual == "paper" else None
        if self.prenorm:
            self.norm_in = nn.LayerNorm(width_in) if config.layer_norm else nn.Identity()

    def forward(self, z: Tensor, row_mask: Tensor, slot_mask: Tensor, kept: list[Kept] | None = None) -> Tensor:
        """(B, N, S, width_in) -> (B, N, S, width_out), with masks (B, N) and (B, S); ``kept`` as for `MVSA`."""
        masks = (row_mask, slot_mask) if self.axis == 1 else (slot_mask, row_mask)
        if self.prenorm:
            z = z + self.attention(self.norm_in(z), self.axis, *masks, kept)
            return z + self.ff(self.norm(z))
        out = self.ff(self.norm(self.attention(z, self.axis, *masks, kept)))
        return out if self.residual is None else self.residual(z) + out
