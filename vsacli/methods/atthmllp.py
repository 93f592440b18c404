"""AttHMLLP: label propagation on the embeddings of AttHML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.atthml import AttHMLConfig, AttHMLEmbedding
from vsacli.methods.embedding import EmbeddingNetwork
from vsacli.nn.heads import LabelPropagationHead


@dataclass(frozen=True)
class AttHMLLPConfig(AttHMLConfig):
    """Hyperparameters of :class:`AttHMLLP`."""

    method: ClassVar[str] = "atthmllp"


class AttHMLLP(EmbeddingNetwork):
    """Rows are embedded with regard to labeled rows only; unlabeled ones enter where labels spread."""

    def __init__(self, config: AttHMLLPConfig) -> None:
        super().__init__(config, AttHMLEmbedding(config), LabelPropagationHead(learned_scale=False))
