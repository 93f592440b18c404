"""MAML: model-agnostic meta-learning (Finn et al. 2017) of a network of deep sets."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from vsacli.methods.config import LayeredConfig
from vsacli.methods.deepsets import DeepSet
from vsacli.methods.embedding import attribute_values
from vsacli.nn.answers import ClassOutput, RegressionOutput, class_output, scale_targets
from vsacli.nn.batch import TaskBatch
from vsacli.nn.network import Network

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class MAMLConfig(LayeredConfig):
    """Hyperparameters of :class:`MAML`.

    Attributes
    ----------
    inner_steps : int
        Epochs of gradient descent on the labeled rows of a task.
    inner_rate : float
        Their learning rate.
    first_order : bool
        True takes the inner gradients for constants; False differentiates through them.
    """

    method: ClassVar[str] = "maml"

    inner_steps: int = 5
    inner_rate: float = 1e-3
    first_order: bool = False

    @property
    def training_floats(self) -> int:
        """Each inner step is kept, with its own gradient."""
        return 3 * (1 + self.inner_steps) * super().training_floats


class MAML(Network[Any]):
    r"""Initial weights that a few steps of gradient descent on a task's labeled rows adapt to it.

    A row is embedded as the set of its values (as in Proto); a linear map gives its scores:

    - classes: the map begins as :math:`w_c = 2 \mu_c, b_c = -\lVert \mu_c \rVert^2` from the mean embeddings
      :math:`\mu_c` of the initial weights, which is the prototype classifier (Triantafillou et al. 2020), so that
      any number of classes is served and their order has no say. It is then adapted with the embedding by the
      cross entropy of the labeled rows. The paper does not say how its MAML meets new numbers of classes.
    - targets: one learned map, adapted by half the mean squared error; the variance is learned over all tasks.

    The test loss is differentiated through the inner steps, second derivatives included (``first_order`` leaves them
    out). Each task of a batch has its own weights (`torch.func.vmap`), and padded rows have no part in its loss.
    Everything is computed in float32 or better.
    """

    def __init__(self, config: MAMLConfig) -> None:
        super().__init__(config)
        self.rows = DeepSet(1, config.width, config.layers)
        self.head: nn.Linear | None = None
        self.log_variance: nn.Parameter | None = None
        if config.kind == "regression":
            self.head = nn.Linear(config.width, 1)
            self.log_variance = nn.Parameter(torch.zeros(()))

    def forward(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for the unlabeled rows of each task, by weights adapted to it."""
        with torch.autocast(batch.x.device.type, enabled=False):
            if self.config.kind == "classification":
                scores, _ = self._adapted(batch)
                return class_output(scores, batch)
            assert self.log_variance is not None
            batch, scale = scale_targets(batch, self.config.standardize)
            mean, _ = self._adapted(batch)
            return scale.undo(mean, self.log_variance.exp().expand_as(mean))

    def embed(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows by the adapted weights, (B, N, width)."""
        if self.config.kind == "regression":
            batch, _ = scale_targets(batch, self.config.standardize)
        return self._adapted(batch)[1]

    def _adapted(self, batch: TaskBatch) -> tuple[Tensor, Tensor]:
        """Scores of unlabeled rows (B, U, C or T) and embeddings of all rows (B, N, width)."""
        if torch.is_inference_mode_enabled():  # inner gradients need tensors that such a mode does not make
            with torch.inference_mode(False), torch.no_grad():
                return self._adapted(batch)
        weights: Weights = {f"rows.{k}": v for k, v in self.rows.named_parameters()}
        if self.head is not None:
            weights |= {f"head.{k}": v for k, v in self.head.named_parameters()}
        x, seen = attribute_values(batch, self.config.standardize)
        task = [t.clone() for t in (x, seen, batch.one_hot().to(x.dtype), batch.class_mask, batch.labeled_mask)]
        # Such a call puts the weights into its module meanwhile: a copy, because other threads may answer as well.
        rows = copy.deepcopy(self.rows)
        return vmap(partial(self._task, rows), in_dims=(None, 0, 0, 0, 0, 0))(weights, *task)

    def _task(
        self, rows: DeepSet, weights: Weights, x: Tensor, seen: Tensor, y: Tensor, class_mask: Tensor, there: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One task: x, seen (N, M), y (L, C or T), class_mask (C,), labeled rows without padding (L,)."""
        n = len(y)

        def embedded(weights: Weights, x: Tensor, seen: Tensor) -> Tensor:
            own = {k.removeprefix("rows."): v for k, v in weights.items() if k.startswith("rows.")}
            return functional_call(rows, own, (x.unsqueeze(-1), seen))

        if self.head is None:
            weights = weights | self._prototype_map(embedded(weights, x[:n], seen[:n]), y)

        def loss(weights: Weights) -> Tensor:
            scores = self._scores(weights, embedded(weights, x[:n], seen[:n]))
            if self.head is None:
                each = -(scores.masked_fill(~class_mask, -1e9).log_softmax(-1) * y).sum(-1)
            else:
                each = 0.5 * (scores - y).square().sum(-1)
            return torch.where(there, each, torch.zeros_like(each)).sum() / there.sum().clamp(min=1)

        for _ in range(self.config.inner_steps):
            gradients = grad(loss)(weights)
            if self.config.first_order:
                gradients = {k: g.detach() for k, g in gradients.items()}
            weights = {k: w - self.config.inner_rate * gradients[k] for k, w in weights.items()}
        z = embedded(weights, x, seen)
        return self._scores(weights, z[n:]), z

    @staticmethod
    def _scores(weights: Weights, z: Tensor) -> Tensor:
        return z @ weights["head.weight"].T + weights["head.bias"]

    @staticmethod
    def _prototype_map(z: Tensor, y: Tensor) -> Weights:
        prototypes = y.T @ z / y.sum(0).clamp(min=1).unsqueeze(-1)  # (C, width)
        return {"head.weight": 2 * prototypes, "head.bias": -prototypes.square().sum(-1)}
