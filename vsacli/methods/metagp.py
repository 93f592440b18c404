"""MetaGP: a Gaussian process on embeddings by deep sets, the counterpart of Proto for targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import DeepSetEmbedding
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.nn.heads import GPHead


@dataclass(frozen=True)
class MetaGPConfig(LayeredConfig):
    """Hyperparameters of :class:`MetaGP`."""

    method: ClassVar[str] = "metagp"


class MetaGP(EmbeddingNetwork):
    """A row is embedded without regard to other rows; the kernel's numbers are learned with the embedding."""

    def __init__(self, config: MetaGPConfig) -> None:
        super().__init__(config, DeepSetEmbedding(config), GPHead(learned_scale=False))
