"""LP: label propagation (Zhou et al. 2003) on the attributes themselves, tuned on other tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import AttributesConfig
from vsacli.methods.embedding import AttributesAsTheyAre, EmbeddingNetwork
from vsacli.nn.heads import LabelPropagationHead


@dataclass(frozen=True)
class LPConfig(AttributesConfig):
    """Hyperparameters of :class:`LP`."""

    method: ClassVar[str] = "lp"


class LP(EmbeddingNetwork):
    """A graph of all rows by an RBF kernel; its scale and the amount of propagation are learned over all tasks.

    With ``standardize`` distances are means over attributes, so that one scale serves tables of any width; without,
    sums.
    """

    def __init__(self, config: LPConfig) -> None:
        super().__init__(config, AttributesAsTheyAre(config), LabelPropagationHead(learned_scale=config.standardize))
