"""Methods that are an embedding of rows and a head that answers: one line each in `PARTS`.

Proto (Snell et al. 2017), LP (Zhou et al. 2003), MetaLP (Liu et al. 2018) and relatives, section 4.2 of the paper.
Methods named Semi, and MetaLP, use unlabeled rows to embed a row; the others do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from vsacli.methods.atthml import AttHMLConfig, AttHMLEmbedding
from vsacli.methods.config import AttributesConfig, LayeredConfig, MethodConfig
from vsacli.methods.deepsets import DeepSetEmbedding
from vsacli.methods.embedding import AttributesAsTheyAre, EmbeddingNetwork
from vsacli.methods.exchangeable import ExchangeableEmbedding
from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead


@dataclass(frozen=True)
class GPConfig(AttributesConfig):
    """A Gaussian process on the attributes themselves; three numbers of its kernel are learned over all tasks."""

    method: ClassVar[str] = "meta-rbf-gp"


@dataclass(frozen=True)
class LPConfig(AttributesConfig):
    """Label propagation on the attributes themselves; its scale and amount are learned over all tasks."""

    method: ClassVar[str] = "lp"


@dataclass(frozen=True)
class ProtoConfig(LayeredConfig):
    """Prototypical networks on deep sets."""

    method: ClassVar[str] = "proto"


@dataclass(frozen=True)
class MetaGPConfig(LayeredConfig):
    """A Gaussian process on deep sets, the counterpart of Proto for targets."""

    method: ClassVar[str] = "metagp"


@dataclass(frozen=True)
class SemiProtoConfig(LayeredConfig):
    """Prototypes on exchangeable matrix layers."""

    method: ClassVar[str] = "semiproto"


@dataclass(frozen=True)
class SemiMetaGPConfig(LayeredConfig):
    """A Gaussian process on exchangeable matrix layers."""

    method: ClassVar[str] = "semimetagp"


@dataclass(frozen=True)
class MetaLPConfig(LayeredConfig):
    """Label propagation on exchangeable matrix layers."""

    method: ClassVar[str] = "metalp"


@dataclass(frozen=True)
class AttHMLLPConfig(AttHMLConfig):
    """Label propagation on the embeddings of AttHML."""

    method: ClassVar[str] = "atthmllp"


Embedding = Callable[[Any], nn.Module]  # of the method's config
Head = type[GPHead] | type[LabelPropagationHead] | type[PrototypeHead]

PARTS: dict[str, tuple[Embedding, Head]] = {
    "meta-rbf-gp": (AttributesAsTheyAre, GPHead),
    "lp": (AttributesAsTheyAre, LabelPropagationHead),
    "proto": (DeepSetEmbedding, PrototypeHead),
    "metagp": (DeepSetEmbedding, GPHead),
    "semiproto": (ExchangeableEmbedding, PrototypeHead),
    "semimetagp": (ExchangeableEmbedding, GPHead),
    "metalp": (ExchangeableEmbedding, LabelPropagationHead),
    "atthmllp": (AttHMLEmbedding, LabelPropagationHead),
}
"""By method: what embeds rows, and the head."""


class Combined(EmbeddingNetwork):
    """The embedding and the head that `PARTS` names for the method of the config.

    On attributes as they are, ``standardize`` takes distances as means over attributes, so that one scale serves
    tables of any width; else they are sums.
    """

    def __init__(self, config: MethodConfig) -> None:
        embedding, head = PARTS[config.method]
        means = embedding is AttributesAsTheyAre and config.standardize
        super().__init__(config, embedding(config), head(learned_scale=means))
