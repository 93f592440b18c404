"""Exchangeable matrix layers (Hartford et al. 2018): rows and columns in any order and number."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import mean_of
from vsacli.nn.batch import TaskBatch
from vsacli.nn.inputs import input_tensor, input_width, observed_values


class ExchangeableLayer(nn.Module):
    r"""A linear map of each cell with the means of its row, of its column and of all cells.

    .. math:: z'_{ns} = W_1 z_{ns} + W_2 \bar z_{n\cdot} + W_3 \bar z_{\cdot s} + W_4 \bar z_{\cdot\cdot} + b

    Means are over observed cells only, as Hartford et al. do for sparse matrices.
    """

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.cell = nn.Linear(width_in, width_out)
        self.row = nn.Linear(width_in, width_out, bias=False)
        self.column = nn.Linear(width_in, width_out, bias=False)
        self.all = nn.Linear(width_in, width_out, bias=False)

    def forward(self, z: Tensor, seen: Tensor) -> Tensor:
        """(B, N, S, width_in) -> (B, N, S, width_out), with the observed cells (B, N, S)."""
        rows = self.row(mean_of(z, seen)).unsqueeze(2)
        columns = self.column(mean_of(z.transpose(1, 2), seen.transpose(1, 2))).unsqueeze(1)
        whole = self.all(mean_of(z.flatten(1, 2), seen.flatten(1)))[:, None, None]
        return self.cell(z) + rows + columns + whole


class ExchangeableEmbedding(nn.Module):
    """Rows of a task, labeled and unlabeled, by layers over the matrix of attributes and labels.

    The matrix is the input tensor of the VSA network; labels of unlabeled rows are cells that are not observed.
    Chosen here, where the paper is silent: ReLU between layers, and a row's embedding is the mean over its observed
    attributes in the last layer (the label cells of labeled rows have done their work by then).
    """

    def __init__(self, config: LayeredConfig) -> None:
        super().__init__()
        self.config = config
        widths = [input_width(config), *[config.width] * config.layers]
        self.blocks = nn.ModuleList(ExchangeableLayer(a, b) for a, b in pairwise(widths))

    def forward(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, width)."""
        z = input_tensor(batch, self.config)
        _, seen = observed_values(batch)
        given = batch.row_mask.unsqueeze(2) & batch.class_mask.unsqueeze(1)
        given = given & (torch.arange(z.shape[1], device=z.device) < batch.n_labeled)[None, :, None]
        cells = torch.cat([seen, given], 2)  # (B, N, S)
        for i, layer in enumerate(self.blocks):
            z = layer(z.relu() if i else z, cells)
        return mean_of(z[:, :, : seen.shape[2]], seen)
