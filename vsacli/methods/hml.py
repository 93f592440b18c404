"""HML: heterogeneous meta-learning (Iwata & Kumagai, NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import DeepSet
from vsacli.methods.embedding import EmbeddingNetwork, attribute_values
from vsacli.nn.batch import TaskBatch
from vsacli.nn.heads import GPHead, PrototypeHead


@dataclass(frozen=True)
class HMLConfig(LayeredConfig):
    """Hyperparameters of :class:`HML`.

    Attributes
    ----------
    iterations : int
        Rounds of deep sets over the labeled rows.
    """

    method: ClassVar[str] = "hml"

    iterations: int = 3

    @property
    def training_floats(self) -> int:
        """Three deep sets a round, each with a network on every cell."""
        return 3 * self.iterations * super().training_floats

    @property
    def least_tensors(self) -> int:
        """Those of the attributes' deep sets alone."""
        return 2 * self.layers * self.iterations


class HMLEmbedding(nn.Module):
    r"""Vectors of attributes, of classes and of rows, found in turn from the labeled rows by deep sets.

    With values :math:`x_{nm}` and labels :math:`y_{nc}` (one-hot, or the target) of labeled rows n,

    .. math:: v_m &= \mathrm{DS}_v(\{[x_{nm}, u_n]\}_n), \quad c_c = \mathrm{DS}_c(\{[y_{nc}, u_n]\}_n), \\
              u_n &= \mathrm{DS}_x(\{[x_{nm}, v_m]\}_m) + \mathrm{DS}_y(\{[y_{nc}, c_c]\}_c)

    in three rounds that begin without :math:`u`; then every row, labeled or not, is embedded from its values alone
    with the vectors of the attributes, :math:`z_n = \mathrm{DS}_z(\{[x_{nm}, v_m]\}_m)`.

    The paper leaves open whether rounds share weights and how the parts are joined; here each round has its own
    weights, and the two sets of a row are added.
    """

    def __init__(self, config: HMLConfig) -> None:
        super().__init__()
        self.standardize = config.standardize
        h, layers, rounds = config.width, config.layers, config.iterations
        self.attributes = nn.ModuleList(DeepSet(1 + h * (t > 0), h, layers) for t in range(rounds))
        self.labels = nn.ModuleList(DeepSet(1 + h * (t > 0), h, layers) for t in range(rounds - 1))
        self.rows_by_values = nn.ModuleList(DeepSet(1 + h, h, layers) for _ in range(rounds - 1))
        self.rows_by_labels = nn.ModuleList(DeepSet(1 + h, h, layers) for _ in range(rounds - 1))
        self.embedded = DeepSet(1 + h, h, layers)

    def forward(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, width)."""
        values, seen = attribute_values(batch, self.standardize)
        return self.embedded(with_columns(values, self.attribute_vectors(batch, values, seen)), seen)

    def attribute_vectors(self, batch: TaskBatch, values: Tensor, seen: Tensor) -> Tensor:
        """What the labeled rows say of each attribute, (B, M, width)."""
        x, x_seen = values[:, : batch.n_labeled], seen[:, : batch.n_labeled]  # (B, L, M)
        y = batch.one_hot().to(x.dtype)  # (B, L, C)
        y_seen = batch.labeled_mask.unsqueeze(2) & batch.class_mask.unsqueeze(1)
        rows = None
        for t, attributes in enumerate(self.attributes):
            v = attributes(with_rows(x, rows).transpose(1, 2), x_seen.transpose(1, 2))  # (B, M, H)
            if t + 1 == len(self.attributes):
                return v
            c = self.labels[t](with_rows(y, rows).transpose(1, 2), y_seen.transpose(1, 2))  # (B, C, H)
            rows = self.rows_by_values[t](with_columns(x, v), x_seen)  # (B, L, H)
            rows = rows + self.rows_by_labels[t](with_columns(y, c), y_seen)
        raise AssertionError("a network has at least one round")


class HML(EmbeddingNetwork):
    """Classes are the mean embeddings of their labeled rows, targets a Gaussian process on the embeddings."""

    def __init__(self, config: HMLConfig) -> None:
        head = GPHead if config.kind == "regression" else PrototypeHead
        super().__init__(config, HMLEmbedding(config), head(learned_scale=False))


def with_rows(values: Tensor, rows: Tensor | None) -> Tensor:
    """Each cell of (B, N, S) with the vector of its row, (B, N, S, 1 + H); alone if there are no vectors."""
    cells = values.unsqueeze(-1)
    if rows is None:
        return cells
    return torch.cat([cells.to(rows.dtype), rows.unsqueeze(2).expand(-1, -1, values.shape[2], -1)], -1)


def with_columns(values: Tensor, columns: Tensor) -> Tensor:
    """Each cell of (B, N, S) with the vector of its column, (B, N, S, 1 + H)."""
    cells = values.unsqueeze(-1).to(columns.dtype)
    return torch.cat([cells, columns.unsqueeze(1).expand(-1, values.shape[1], -1, -1)], -1)
