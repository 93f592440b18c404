"""MetaLP: label propagation (Liu et al. 2018) on embeddings by exchangeable matrix layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import LayeredConfig
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.methods.exchangeable import ExchangeableEmbedding
from vsacli.nn.heads import LabelPropagationHead


@dataclass(frozen=True)
class MetaLPConfig(LayeredConfig):
    """Hyperparameters of :class:`MetaLP`."""

    method: ClassVar[str] = "metalp"


class MetaLP(EmbeddingNetwork):
    """Labels spread over a graph of all rows by an RBF kernel, whose numbers are learned with the embedding."""

    def __init__(self, config: MetaLPConfig) -> None:
        super().__init__(config, ExchangeableEmbedding(config), LabelPropagationHead(learned_scale=False))
