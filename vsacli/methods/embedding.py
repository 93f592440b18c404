"""Methods that embed all rows of a task and then answer with a head, as the VSA network does."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from vsacli.methods.config import MethodConfig
from vsacli.nn.answers import ClassOutput, Head, RegressionOutput, class_logits, class_output, gp_moments, scale_targets
from vsacli.nn.batch import TaskBatch
from vsacli.nn.inputs import observed_values
from vsacli.nn.network import Network
from vsacli.nn.scales import standardized


class EmbeddingNetwork(Network[Any]):
    """An embedding and a head.

    Parameters
    ----------
    config : MethodConfig
    embedding : nn.Module
        From a TaskBatch, targets scaled already, to vectors of all rows (B, N, E).
    head : Head
    """

    def __init__(self, config: MethodConfig, embedding: nn.Module, head: Head) -> None:
        super().__init__(config)
        self.embedding = embedding
        self.head = head

    def forward(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for the unlabeled rows of each task."""
        if self.config.kind == "classification":
            return class_output(class_logits(self.head, batch, *batch.apart(self._placed(batch))), batch)
        batch, scale = scale_targets(batch, self.config.standardize)
        return scale.undo(*gp_moments(self.head, batch, *batch.apart(self._placed(batch))))

    def embed(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, labeled first, (B, N, E)."""
        if self.config.kind == "regression":
            batch, _ = scale_targets(batch, self.config.standardize)
        return self._placed(batch)

    def _placed(self, batch: TaskBatch) -> Tensor:
        e = self.embedding(batch)
        # Distances and solves need more digits than bfloat16 has.
        return e.to(torch.promote_types(e.dtype, torch.float32))


class AttributesAsTheyAre(nn.Module):
    """Rows are their attribute vectors, with the mean of the task where a value is missing, as the paper imputes."""

    def __init__(self, config: MethodConfig) -> None:
        super().__init__()
        self.standardize = config.standardize

    def forward(self, batch: TaskBatch) -> Tensor:
        """Attribute vectors of all rows, (B, N, M)."""
        x, seen = attribute_values(batch, self.standardize)
        if self.standardize:
            return x  # 0 is the mean
        mean = x.sum(1, keepdim=True) / seen.sum(1, keepdim=True).clamp(min=1)
        missing = batch.row_mask.unsqueeze(2) & batch.attr_mask.unsqueeze(1) & ~seen
        return torch.where(missing, mean, x)


def attribute_values(batch: TaskBatch, standardize: bool) -> tuple[Tensor, Tensor]:
    """Values of attributes, z-scored or as they come, 0 where missing; and where they are observed; (B, N, M)."""
    x, seen = observed_values(batch)
    return (standardized(x, seen) if standardize else x), seen
