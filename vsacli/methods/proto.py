"""Proto: prototypical networks (Snell et al. 2017) on embeddings by deep sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import DeepSetEmbedding
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.nn.heads import PrototypeHead


@dataclass(frozen=True)
class ProtoConfig(LayeredConfig):
    """Hyperparameters of :class:`Proto`."""

    method: ClassVar[str] = "proto"


class Proto(EmbeddingNetwork):
    """Classes are the mean embeddings of their labeled rows; a row is embedded without regard to other rows."""

    def __init__(self, config: ProtoConfig) -> None:
        super().__init__(config, DeepSetEmbedding(config), PrototypeHead(learned_scale=False))
