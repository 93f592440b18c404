"""Deep sets (Zaheer et al. 2017): one vector for a set, whatever the order and number of its elements."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vsacli.methods.config import LayeredConfig
from vsacli.methods.embedding import attribute_values
from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import feed_forward


class DeepSet(nn.Module):
    r"""A feed-forward network on each element, the mean over elements, and another network on it.

    .. math:: z = g\Big(\frac{1}{|S|} \sum_{s \in S} f(s)\Big)

    The paper says three-layered networks of 32 hidden units. Chosen here: both f and g have three layers, ReLU
    activations and ``width`` outputs, and elements are averaged, not summed, so that sets of a thousand elements
    do not give vectors a hundred times as long as sets of ten.

    Parameters
    ----------
    width_in : int
        Numbers of an element.
    width : int
        Hidden units, and numbers of the result.
    layers : int
        Linear maps of f, and of g.
    """

    def __init__(self, width_in: int, width: int, layers: int) -> None:
        super().__init__()
        self.elements = feed_forward(width_in, width, width, layers, nn.ReLU)
        self.whole = feed_forward(width, width, width, layers, nn.ReLU)

    def forward(self, elements: Tensor, there: Tensor) -> Tensor:
        """Vectors of sets.

        Parameters
        ----------
        elements : Tensor, shape (..., K, width_in)
            Finite everywhere.
        there : Tensor of bool, shape (..., K)
            False if there is no element; an empty set gives g(0).

        Returns
        -------
        Tensor, shape (..., width)
        """
        return self.whole(mean_of(self.elements(elements), there))


def mean_of(values: Tensor, there: Tensor) -> Tensor:
    """Mean over the second last axis of what is there, 0 of nothing.

    Parameters
    ----------
    values : Tensor, shape (..., K, H)
    there : Tensor of bool, shape (..., K)

    Returns
    -------
    Tensor, shape (..., H)
    """
    there = there.unsqueeze(-1)
    total = torch.where(there, values, torch.zeros_like(values)).sum(-2)
    return total / there.sum(-2).clamp(min=1)


class DeepSetEmbedding(nn.Module):
    """Each row by itself, as the set of its observed values.

    Values carry no mark of their attribute: two of them can change places in a single row without any effect.
    """

    def __init__(self, config: LayeredConfig) -> None:
        super().__init__()
        self.standardize = config.standardize
        self.rows = DeepSet(1, config.width, config.layers)

    def forward(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, width)."""
        x, seen = attribute_values(batch, self.standardize)
        return self.rows(x.unsqueeze(-1), seen)
