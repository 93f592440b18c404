"""What turns embeddings into answers, adapted to the labeled rows of a task in closed form."""

from vsacli.nn.heads.gp import GPHead
from vsacli.nn.heads.label_propagation import LabelPropagationHead
from vsacli.nn.heads.prototype import PrototypeHead

__all__ = ["GPHead", "LabelPropagationHead", "PrototypeHead"]
