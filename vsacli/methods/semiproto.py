"""SemiProto: prototypes on embeddings by exchangeable matrix layers, which read unlabeled rows, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import LayeredConfig
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.methods.exchangeable import ExchangeableEmbedding
from vsacli.nn.heads import PrototypeHead


@dataclass(frozen=True)
class SemiProtoConfig(LayeredConfig):
    """Hyperparameters of :class:`SemiProto`."""

    method: ClassVar[str] = "semiproto"


class SemiProto(EmbeddingNetwork):
    """Classes are the mean embeddings of their labeled rows."""

    def __init__(self, config: SemiProtoConfig) -> None:
        super().__init__(config, ExchangeableEmbedding(config), PrototypeHead(learned_scale=False))
