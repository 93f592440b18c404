"""AttHML: HML with transformers (Vaswani et al. 2017) in place of its feed-forward networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from vsacli.errors import CheckpointError
from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import mean_of
from vsacli.methods.embedding import EmbeddingNetwork, attribute_values
from vsacli.methods.hml import with_columns
from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import Block, feed_forward
from vsacli.nn.config import VSAConfig
from vsacli.nn.heads import GPHead, PrototypeHead


@dataclass(frozen=True)
class AttHMLConfig(LayeredConfig):
    """Hyperparameters of :class:`AttHML`.

    Attributes
    ----------
    heads : int
        Of each attention; they share the width.
    """

    method: ClassVar[str] = "atthml"

    heads: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise CheckpointError(f"a width of {self.width} cannot be shared by {self.heads} heads")

    @property
    def training_floats(self) -> int:
        """As the VSA network of these sizes, with one block a layer; scores come on top, and are not known here."""
        return encoder_config(self).training_floats


def encoder_config(config: AttHMLConfig) -> VSAConfig:
    """The sizes of one transformer encoder layer."""
    return VSAConfig(
        layers=config.layers,
        width=config.width,
        heads=config.heads,
        head_width=config.width // config.heads,
        ff_width=config.width,
        ff_layers=2,
    )


class Encoder(nn.Module):
    """A transformer encoder layer, pre-norm: the VSA network's block on tokens, where the second mode has size 1."""

    def __init__(self, config: AttHMLConfig) -> None:
        super().__init__()
        self.block = Block(encoder_config(config), 1, config.width, config.width)

    def forward(self, tokens: Tensor, there: Tensor) -> Tensor:
        """(B, T, H) -> (B, T, H); every token attends to all that are there, (B, T) bool."""
        one = torch.ones(len(tokens), 1, dtype=torch.bool, device=tokens.device)
        return self.block(tokens.unsqueeze(2), there, one).squeeze(2)


class AttHMLEmbedding(nn.Module):
    """Vectors of attributes from the labeled rows, then rows from their values with these vectors, both by attention.

    The elements of all labeled rows, values and labels, attend to each other in one long sequence. After each layer
    the elements of a row are averaged to a vector of the row, those of an attribute (or class) to one of the
    attribute, and both are added to the elements: this is how elements know where they belong. At the end every row,
    labeled or not, is embedded from its values and the vectors of the attributes, its own elements attending to each
    other, and averaged.

    The paper gives three layers, four heads, 32 hidden units, and attention "across elements of example-attribute
    pairs". Chosen here: the three layers take the part of HML's three rounds, one more embeds the rows, layers are
    pre-norm with 32 hidden units, a last norm precedes the mean, and numbers become vectors by a three-layered
    network (by a linear map, the embeddings of circles collapse before anything is learned). Time grows with the
    square of labeled rows times columns.
    """

    def __init__(self, config: AttHMLConfig) -> None:
        super().__init__()
        h = config.width
        self.standardize = config.standardize
        self.element = feed_forward(2, h, h, 3, nn.ReLU)
        self.blocks = nn.ModuleList(Encoder(config) for _ in range(config.layers))
        self.place_of_row = nn.ModuleList(nn.Linear(h, h) for _ in range(config.layers - 1))
        self.place_of_column = nn.ModuleList(nn.Linear(h, h) for _ in range(config.layers - 1))
        self.own_element = feed_forward(1 + h, h, h, 3, nn.ReLU)
        self.own_block = Encoder(config)
        self.norm = nn.LayerNorm(h)
        self.out = nn.Linear(h, h)

    def forward(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, width)."""
        values, seen = attribute_values(batch, self.standardize)
        own = self.own_element(with_columns(values, self.attribute_vectors(batch, values, seen)))  # (B, N, M, H)
        own = self.own_block(own.flatten(0, 1), seen.flatten(0, 1)).view(own.shape)
        return self.out(mean_of(self.norm(own), seen))

    def attribute_vectors(self, batch: TaskBatch, values: Tensor, seen: Tensor) -> Tensor:
        """What the labeled rows say of each attribute, (B, M, width)."""
        m = values.shape[2]
        y = batch.one_hot().to(values.dtype)  # (B, L, C)
        cells = torch.cat([values[:, : batch.n_labeled], y], 2)  # (B, L, S)
        y_seen = batch.labeled_mask.unsqueeze(2) & batch.class_mask.unsqueeze(1)
        there = torch.cat([seen[:, : batch.n_labeled], y_seen], 2)
        is_label = (torch.arange(cells.shape[2], device=cells.device) >= m).to(cells.dtype).expand_as(cells)
        z = self.element(torch.stack([cells, is_label], -1))  # (B, L, S, H)
        for i, block in enumerate(self.blocks):
            z = block(z.flatten(1, 2), there.flatten(1)).view(z.shape)
            columns = mean_of(z.transpose(1, 2), there.transpose(1, 2))  # (B, S, H)
            if i + 1 == len(self.blocks):
                return columns[:, :m]
            rows = mean_of(z, there)  # (B, L, H)
            z = z + self.place_of_row[i](rows).unsqueeze(2) + self.place_of_column[i](columns).unsqueeze(1)
        raise AssertionError("a network has at least one layer")


class AttHML(EmbeddingNetwork):
    """Classes are the mean embeddings of their labeled rows, targets a Gaussian process on the embeddings."""

    def __init__(self, config: AttHMLConfig) -> None:
        head = GPHead if config.kind == "regression" else PrototypeHead
        super().__init__(config, AttHMLEmbedding(config), head(learned_scale=False))
