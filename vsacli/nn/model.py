"""The VSA network: a task goes in, the answers for its unlabeled rows come out.

    Z^(1) --blocks along examples, along attributes and labels, in turn--> embeddings --head--> answers

Sections 3.3-3.6 of the paper. Nothing depends on the number of rows, attributes or classes.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vsacli.nn.answers import (
    ClassOutput,
    Head,
    RegressionOutput,
    class_logits,
    class_output,
    gp_moments,
    scale_answers,
    scale_targets,
)
from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import Block, feed_forward
from vsacli.nn.config import VSAConfig
from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead
from vsacli.nn.inputs import input_tensor, input_width
from vsacli.nn.kernel_ridge import ALL, MODELS, MORE_CHANNELS, MORE_MODELS, kernel_ridge_answers
from vsacli.nn.network import Network
from vsacli.nn.slices import can_be_sliced, hidden_in_slices
from vsacli.nn.structure import (
    FOLLOWED_AT_FIRST,
    SPACE_FOLLOWED_AT_FIRST,
    known_answers,
    structure_answers,
    structure_channels,
    structure_width,
    with_coordinates,
)
from vsacli.structure.answers import CLASS_CHANNELS, SPACE_ANSWERS

ALL_FOLLOWED_AT_FIRST = 0.5
"""Share of the average of all kernels in what an untrained network answers, if it reads them."""


def input_channels(config: VSAConfig) -> dict[str, int]:
    """Channels of the tensor that the first layer reads, in their order: how many for each thing that it reads."""
    graph = structure_width(replace(config, class_space=False))
    return {
        "values": input_width(config),
        "kernel_ridge": MODELS if config.kernel_ridge else 0,
        "structure": graph,
        "class_space": structure_width(config) - graph,
        "more_kernels": MORE_CHANNELS if config.more_kernels else 0,
    }


class VSAModel(Network[VSAConfig]):
    """The network of a :class:`VSAConfig`; its weights serve tasks of any size."""

    def __init__(self, config: VSAConfig) -> None:
        super().__init__(config)
        prenorm = config.residual == "prenorm"
        self.structure_width = structure_width(config)
        d3 = sum(input_channels(config).values())
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

        self.head: Head
        head = {"prototype": PrototypeHead, "label_propagation": LabelPropagationHead, "gp": GPHead}[config.head]
        self.head = head(learned_scale=config.standardize)
        self.readout: nn.Linear | None = None
        if config.readout:
            # Zero at first, so that training starts from the head alone.
            self.readout = nn.Linear(d3, 1 if config.kind == "classification" else 2)
            nn.init.zeros_(self.readout.weight)
            nn.init.zeros_(self.readout.bias)
        self.follow: nn.Linear | None = None
        if config.kernel_ridge:
            self.follow = nn.Linear(d3, MODELS + (MORE_MODELS if config.more_kernels else 0))
            nn.init.zeros_(self.follow.weight)
            nn.init.zeros_(self.follow.bias)
            if config.more_kernels:
                nn.init.constant_(self.follow.bias[ALL], ALL_FOLLOWED_AT_FIRST)
        self.follow_graph: nn.Linear | None = None
        if config.structure:
            self.follow_graph = nn.Linear(d3, structure_answers(config.kind))
            nn.init.zeros_(self.follow_graph.weight)
            nn.init.constant_(self.follow_graph.bias, FOLLOWED_AT_FIRST[config.kind])
        self.follow_space: nn.Linear | None = None
        if config.class_space:
            self.follow_space = nn.Linear(d3, SPACE_ANSWERS)
            nn.init.zeros_(self.follow_space.weight)
            nn.init.constant_(self.follow_space.bias, SPACE_FOLLOWED_AT_FIRST)

    def forward(self, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for the unlabeled rows of each task."""
        if self.config.kind == "classification":
            return self.classify(batch)
        return self.regress(batch)

    def classify(self, batch: TaskBatch) -> ClassOutput:
        """Class probabilities (section 3.4): head on embeddings, plus readout, masked last."""
        closed = self._closed_form(batch)
        batch = self._with_structure(batch)
        z = self._hidden(batch, closed)
        logits = class_logits(self.head, batch, self._embeddings(batch, z))
        slots = z[:, batch.n_labeled :, batch.x.shape[2] :]  # (B, U, C, H)
        if self.readout is not None:
            logits = logits + self.readout(slots).squeeze(-1).to(logits.dtype)
        if self.follow is not None and closed is not None:
            share = self.follow(slots).to(logits.dtype)  # (B, U, C, 3 or 6)
            logits = logits + (share * closed[:, batch.n_labeled :, :, : share.shape[-1]]).sum(-1)
        if batch.structure is not None:
            known = known_answers(batch)[:, batch.n_labeled :].to(logits.dtype)  # (B, U, C, A)
            for gate, first in ((self.follow_graph, 0), (self.follow_space, CLASS_CHANNELS)):
                if gate is not None:
                    share = gate(slots).to(logits.dtype)  # (B, U, C, A')
                    logits = logits + (share * known[..., first : first + share.shape[-1]]).sum(-1)
        return class_output(logits, batch)

    def regress(self, batch: TaskBatch) -> RegressionOutput:
        """Mean and variance (section 3.6), computed on targets scaled by the labeled rows."""
        batch, scale = scale_targets(batch, self.config.standardize)
        closed = self._closed_form(batch)
        batch = self._with_structure(scale_answers(batch, scale))
        z = self._hidden(batch, closed)
        mean, var = gp_moments(self.head, batch, self._embeddings(batch, z))
        slots = z[:, batch.n_labeled :, batch.x.shape[2] :]  # (B, U, T, H)
        if self.readout is not None:
            shift, log_ratio = self.readout(slots).to(mean.dtype).unbind(-1)
            mean = mean + shift
            var = var * log_ratio.clamp(-8, 8).exp()
        if self.follow is not None and closed is not None:
            share = self.follow(slots).to(mean.dtype)  # (B, U, T, 3 or 6)
            models = closed[:, batch.n_labeled :, :, : share.shape[-1]]
            mean = mean + (share * (models - mean.unsqueeze(-1))).sum(-1)
        if self.follow_graph is not None and batch.structure is not None:
            share = self.follow_graph(slots).to(mean.dtype)  # (B, U, T, A')
            along = known_answers(batch)[:, batch.n_labeled :, :, : share.shape[-1]].to(mean.dtype)
            known = batch.structure.answered[:, batch.n_labeled :, None, None]
            mean = mean + (share * known * (along - mean.unsqueeze(-1))).sum(-1)
        return scale.undo(mean, var)

    def _closed_form(self, batch: TaskBatch) -> Tensor | None:
        """Answers of kernel ridge regression (B, N, C, 3 or 12), if the network reads them."""
        return kernel_ridge_answers(batch, self.config.more_kernels) if self.config.kernel_ridge else None

    def _with_structure(self, batch: TaskBatch) -> TaskBatch:
        """The tasks with coordinates as attributes, if the network reads the structure of tables."""
        return with_coordinates(batch) if self.structure_width else replace(batch, structure=None)

    def _hidden(self, batch: TaskBatch, closed: Tensor | None) -> Tensor:
        """The representation after the last block, (B, N, M + C, H)."""
        parts = [input_tensor(batch, self.config)]
        kernels: list[Tensor] = []
        if closed is not None:
            # They are in the label slots; attributes have none.
            kernels = list(
                F.pad(closed.to(parts[0].dtype), (0, 0, batch.x.shape[2], 0)).split_with_sizes(
                    [MODELS, closed.shape[-1] - MODELS], -1
                )
            )
        structure = [structure_channels(batch, self.structure_width)] if self.structure_width else []
        # In the order of `input_channels`.
        z = torch.cat([*parts, *kernels[:1], *structure, *kernels[1:]], -1)
        slots = torch.cat([batch.attr_mask, batch.class_mask], 1)  # (B, S)
        if can_be_sliced(self.blocks, z, batch.row_mask, slots):
            return hidden_in_slices(self.embed_in, self.blocks, self.norm_out, z, batch.n_read)
        z = self.embed_in(z)
        for block in self.blocks:
            z = block(z, batch.row_mask, slots, batch.n_read)
        return self.norm_out(z)

    def embed(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, M * H^(B)); 0 at attributes that are padding."""
        if self.config.kind == "regression":
            batch, scale = scale_targets(batch, self.config.standardize)
            batch = scale_answers(batch, scale)
        m, closed = batch.x.shape[2], self._closed_form(batch)
        batch = self._with_structure(batch)
        return self._embeddings(batch, self._hidden(batch, closed))[:, :, : m * self.config.channels]

    def _embeddings(self, batch: TaskBatch, z: Tensor) -> Tensor:
        m = batch.x.shape[2]
        e = self.to_channels(z[:, :, :m]) * batch.attr_mask[:, None, :, None]  # (B, N, M, H^(B))
        # Distances and solves need more digits than bfloat16 has.
        return e.flatten(2).to(torch.promote_types(e.dtype, torch.float32))
