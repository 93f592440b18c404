"""GP: a Gaussian process on the attributes themselves, its kernel tuned on other tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vsacli.methods.config import AttributesConfig
from vsacli.methods.embedding import AttributesAsTheyAre, EmbeddingNetwork
from vsacli.nn.heads import GPHead


@dataclass(frozen=True)
class GPConfig(AttributesConfig):
    """Hyperparameters of :class:`GP`."""

    method: ClassVar[str] = "meta-rbf-gp"


class GP(EmbeddingNetwork):
    """RBF kernel in the attribute space and Gaussian noise; three numbers are learned over all tasks.

    They minimize the test loss of meta-training tasks, as every method's weights do. Classes are one-hot targets
    (:func:`vsacli.nn.answers.class_logits`). With ``standardize`` distances are means over attributes, so that one
    length scale serves tables of any width; without, sums.
    """

    def __init__(self, config: GPConfig) -> None:
        super().__init__(config, AttributesAsTheyAre(config), GPHead(learned_scale=config.standardize))
