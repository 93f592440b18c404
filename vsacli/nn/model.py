"""The VSA network: a task goes in, the answers for its unlabeled rows come out.

    Z^(1) --blocks along examples, along attributes and labels, in turn--> embeddings --head--> answers

Sections 3.3-3.6 of the paper. Nothing depends on the number of rows, attributes or classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import Block, feed_forward
from vsacli.nn.config import VSAConfig
from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead
from vsacli.nn.inputs import input_tensor, input_width


@dataclass
class ClassOutput:
    """``log_probs`` (B, U, C): log class probabilities, very negative for classes that are padding."""

    log_probs: Tensor


@dataclass
class RegressionOutput:
    """``mean`` and ``var`` (B, U, T) of a new observation, in the units of the targets given."""

    mean: Tensor
    var: Tensor


class VSAModel(nn.Module):
    """The network of a :class:`VSAConfig`; its weights serve tasks of any size."""

    def __init__(self, config: VSAConfig) -> None:
        super().__init__()
        self.config = config
        prenorm = config.residual == "prenorm"
        d3 = input_width(config)
        if prenorm:
            # Identity residuals need the full width from the first block on.
            self.embed_in = feed_forward(d3, config.width, config.width, 2, nn.GELU)
            d3 = config.width
        else:
            self.embed_in = nn.Identity()
        axes = [axis for axis, on in ((1, config.example_attention), (2, config.attribute_attention)) if on]
        plan = axes * config.layers
        if len(axes) == 1:  # an ablation keeps the number of blocks
            plan = plan * 2
        self.blocks = nn.ModuleList()
        for i, axis in enumerate(plan):
            last = i == len(plan) - 1 and not prenorm
            out = config.channels if last else config.width
            self.blocks.append(Block(config, axis, d3, out))
            d3 = out
        self.norm_out = nn.LayerNorm(d3) if prenorm and config.layer_norm else nn.Identity()
        self.to_channels = nn.Linear(d3, config.channels) if prenorm else nn.Identity()

        self.head: PrototypeHead | LabelPropagationHead | GPHead
        head = {"prototype": PrototypeHead, "label_propagation": LabelPropagationHead, "gp": GPHead}[config.head]
        self.head = head(learned_scale=config.standardize)
        self.readout: nn.Linear | None = None
        if config.readout:
            # Zero at first, so that training starts from the head alone.
            self.readout = nn.Linear(d3, 1 if config.kind == "classification" else 2)
            nn.init.zeros_(self.readout.weight)
            nn.init.zeros_(self.readout.bias)

    def forward(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for the unlabeled rows of each task."""
        if self.config.kind == "classification":
            return self.classify(batch)
        return self.regress(batch)

    def classify(self, batch: TaskBatch) -> ClassOutput:
        """Class probabilities (section 3.4): head on embeddings, plus readout, masked last."""
        z = self.hidden(batch)
        labeled, unlabeled = self._split(batch, self._embeddings(batch, z))
        one_hot = batch.one_hot().to(labeled.dtype)
        m = batch.attr_mask.sum(1)
        with torch.autocast(labeled.device.type, enabled=False):  # it would take distances to bfloat16 after all
            if isinstance(self.head, LabelPropagationHead):
                logits = self.head(labeled, unlabeled, one_hot, m, batch.row_mask)
            elif isinstance(self.head, PrototypeHead):
                logits = self.head(labeled, unlabeled, one_hot, m)
            else:
                raise TypeError("a GP head does not classify")
        if self.readout is not None:
            slots = z[:, batch.n_labeled :, batch.x.shape[2] :]  # (B, U, C, H)
            logits = logits + self.readout(slots).squeeze(-1).to(logits.dtype)
        logits = logits.masked_fill(~batch.class_mask.unsqueeze(1), -1e9)
        return ClassOutput(logits.log_softmax(-1))

    def regress(self, batch: TaskBatch) -> RegressionOutput:
        """Mean and variance (section 3.6), computed on targets scaled by the labeled rows."""
        if not isinstance(self.head, GPHead):
            raise TypeError("a classification head does not regress")
        batch, centre, scale = self._scaled_targets(batch)
        z = self.hidden(batch)
        labeled, unlabeled = self._split(batch, self._embeddings(batch, z))
        y = batch.one_hot().to(labeled.dtype)
        with torch.autocast(labeled.device.type, enabled=False):
            mean, var = self.head(labeled, unlabeled, y, batch.attr_mask.sum(1), batch.labeled_mask)
        if self.readout is not None:
            slots = z[:, batch.n_labeled :, batch.x.shape[2] :]  # (B, U, T, H)
            shift, log_ratio = self.readout(slots).to(mean.dtype).unbind(-1)
            mean = mean + shift
            var = var * log_ratio.clamp(-8, 8).exp()
        return RegressionOutput(mean * scale + centre, var * scale.square())

    def hidden(self, batch: TaskBatch) -> Tensor:
        """The representation after the last block, (B, N, M + C, H)."""
        z = self.embed_in(input_tensor(batch, self.config))
        slots = torch.cat([batch.attr_mask, batch.class_mask], 1)  # (B, S)
        for block in self.blocks:
            z = block(z, batch.row_mask, slots)
        return self.norm_out(z)

    def embed(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, M * H^(B)); 0 at attributes that are padding."""
        if self.config.kind == "regression":
            batch, _, _ = self._scaled_targets(batch)
        return self._embeddings(batch, self.hidden(batch))

    def _embeddings(self, batch: TaskBatch, z: Tensor) -> Tensor:
        m = batch.x.shape[2]
        e = self.to_channels(z[:, :, :m]) * batch.attr_mask[:, None, :, None]  # (B, N, M, H^(B))
        # Distances and solves need more digits than bfloat16 has.
        return e.flatten(2).to(torch.promote_types(e.dtype, torch.float32))

    @staticmethod
    def _split(batch: TaskBatch, e: Tensor) -> tuple[Tensor, Tensor]:
        return e[:, : batch.n_labeled], e[:, batch.n_labeled :]

    def _scaled_targets(self, batch: TaskBatch) -> tuple[TaskBatch, Tensor, Tensor]:
        """Targets to zero mean and unit spread over the labeled rows; and what undoes it, (B, 1, T)."""
        seen = batch.labeled_mask.unsqueeze(-1)  # (B, L, 1)
        if not self.config.standardize:
            one = batch.y.new_ones(len(batch.y), 1, batch.y.shape[-1])
            return batch, torch.zeros_like(one), one
        count = seen.sum(1, keepdim=True).clamp(min=1)
        y = torch.where(seen, batch.y, torch.zeros_like(batch.y))
        centre = y.sum(1, keepdim=True) / count
        residual = torch.where(seen, y - centre, torch.zeros_like(y))
        scale = (residual.square().sum(1, keepdim=True) / count).sqrt()
        scale = torch.where(scale > 1e-12, scale, torch.ones_like(scale))
        return replace(batch, y=residual / scale), centre, scale
