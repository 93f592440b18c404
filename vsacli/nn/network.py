"""What every trainable network here is: a config that is saved with its weights, answers, and embeddings."""

from __future__ import annotations

from typing import Generic, TypeVar

from torch import Tensor, nn

from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.nn.batch import TaskBatch
from vsacli.nn.config import NetworkConfig

Config = TypeVar("Config", bound=NetworkConfig, covariant=True)


class Network(nn.Module, Generic[Config]):
    """Base of the networks. What answers, below ``head.``, depends on the kind of tasks; the rest embeds a table.

    Parameters
    ----------
    config : NetworkConfig
        Kept as ``config``.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config

    @property
    def config(self) -> Config:
        """Hyperparameters."""
        return self._config

    def forward(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for the unlabeled rows of each task."""
        raise NotImplementedError

    def embed(self, batch: TaskBatch) -> Tensor:
        """Where the network places all rows, labeled first, (B, N, E)."""
        raise NotImplementedError
