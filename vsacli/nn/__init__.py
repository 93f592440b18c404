"""The paper's network: VSA layers, blocks, heads and the model. Knows only tensors."""

from vsacli.nn.batch import TaskBatch
from vsacli.nn.config import VSAConfig, preset
from vsacli.nn.model import ClassOutput, RegressionOutput, VSAModel

__all__ = ["ClassOutput", "RegressionOutput", "TaskBatch", "VSAConfig", "VSAModel", "preset"]
