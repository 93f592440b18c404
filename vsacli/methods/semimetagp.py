"""SemiMetaGP: a Gaussian process on embeddings by exchangeable matrix layers, which read unlabeled rows, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import LayeredConfig
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.methods.exchangeable import ExchangeableEmbedding
from vsacli.nn.heads import GPHead


@dataclass(frozen=True)
class SemiMetaGPConfig(LayeredConfig):
    """Hyperparameters of :class:`SemiMetaGP`."""

    method: ClassVar[str] = "semimetagp"


class SemiMetaGP(EmbeddingNetwork):
    """The kernel's numbers are learned with the embedding."""

    def __init__(self, config: SemiMetaGPConfig) -> None:
        super().__init__(config, ExchangeableEmbedding(config), GPHead(learned_scale=False))
