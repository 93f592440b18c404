"""The VSA network: a task goes in, the answers for its unlabeled rows come out.

    Z^(1) --blocks along examples, along attributes and labels, in turn--> embeddings --head--> answers

Sections 3.3-3.6 of the paper. Nothing depends on the number of rows, attributes or classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vsacli.nn.answers import (
    ClassOutput,
    Head,
    RegressionOutput,
    TargetScale,
    class_logits,
    class_output,
    gp_moments,
    scale_answers,
    scale_targets,
    with_exact,
)
from vsacli.nn.asked import hidden_when_asked
from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import Block, feed_forward
from vsacli.nn.config import VSAConfig
from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead
from vsacli.nn.inputs import input_tensor, input_width, observed_values
from vsacli.nn.kept import Kept
from vsacli.nn.kernel_ridge import ALL, ERROR_OF_ALL, MODELS, MORE_CHANNELS, MORE_MODELS, KernelAnswers
from vsacli.nn.network import Network
from vsacli.nn.scales import Scales
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
        return self._read(batch, None)[0]

    def read(self, batch: TaskBatch) -> tuple[ClassOutput | RegressionOutput, Context]:
        """Answers for the unlabeled rows of a task, and what is kept for other rows that are asked about.

        Parameters
        ----------
        batch : TaskBatch
            One task without padding. Gradients must be off, and `VSAConfig.can_be_asked` must hold.
        """
        output, context = self._read(batch, [])
        assert context is not None
        return output, context

    def ask(self, context: Context, batch: TaskBatch) -> ClassOutput | RegressionOutput:
        """Answers for rows that no other row reads.

        Parameters
        ----------
        context : Context
            Of the rows that were read.
        batch : TaskBatch
            One task of u unlabeled rows alone (``n_labeled`` 0), with the attributes and classes of those.
        """
        asked = self._asked(context, batch)
        return self._with_ridge(self._answer(context.given, context.labeled, asked, context.scale), asked.closed)

    def place(self, context: Context, batch: TaskBatch) -> Tensor:
        """Embeddings (1, u, M * H^(B)) of rows that no other row reads; arguments as for `ask`."""
        return self._asked(context, batch).embeddings[..., : batch.x.shape[2] * self.config.channels]

    def _asked(self, context: Context, batch: TaskBatch) -> _Unlabeled:
        closed = None if context.kernels is None else context.kernels.ask(batch)
        if context.scale is not None:
            batch = scale_answers(batch, context.scale)
        batch = self._with_structure(batch)
        z = self._input(batch, closed, context.scales)
        hidden = hidden_when_asked(self.embed_in, self.blocks, self.norm_out, z[0], context.blocks).unsqueeze(0)
        return _Unlabeled(self._embeddings(batch, hidden), hidden[:, :, batch.x.shape[2] :], closed, batch)

    def _read(self, batch: TaskBatch, kept: list[Kept] | None) -> tuple[ClassOutput | RegressionOutput, Context | None]:
        """The answers of a batch, and, with a list to keep what blocks leave, its context."""
        scale = None
        if self.config.kind == "regression":
            batch, scale = scale_targets(batch, self.config.standardize)
        kernels = self._kernels(batch, for_others=kept is not None)
        batch = self._with_structure(batch if scale is None else scale_answers(batch, scale))
        scales = Scales.of(*observed_values(batch)) if self.config.standardize else None
        closed = None if kernels is None else kernels.answers
        z = self._hidden(batch, self._input(batch, closed, scales), kept)
        embeddings = self._embeddings(batch, z)
        labeled, unlabeled = batch.apart(embeddings)
        slots = z[:, :, batch.x.shape[2] :]  # (B, N, C, H)
        rows = _Unlabeled(unlabeled, batch.apart(slots)[1], None if closed is None else batch.apart(closed)[1], batch)
        output = self._with_ridge(self._answer(batch, labeled, rows, scale), closed)
        return output, None if kept is None else Context(batch, scale, scales, kernels, kept, embeddings)

    def _answer(
        self, given: TaskBatch, labeled: Tensor, rows: _Unlabeled, scale: TargetScale | None
    ) -> ClassOutput | RegressionOutput:
        """Answers for unlabeled rows, given the embeddings (B, L, E) of the labeled ones."""
        if scale is None:
            return self._classify(given, labeled, rows)
        return scale.undo(*self._regress(given, labeled, rows))

    def _classify(self, given: TaskBatch, labeled: Tensor, rows: _Unlabeled) -> ClassOutput:
        """Class probabilities (section 3.4): head on embeddings, plus readout, masked last."""
        logits = class_logits(self.head, given, labeled, rows.embeddings)
        if self.readout is not None:
            logits = logits + self.readout(rows.slots).squeeze(-1).to(logits.dtype)
        if self.follow is not None and rows.closed is not None:
            share = self.follow(rows.slots).to(logits.dtype)  # (B, U, C, 3 or 6)
            logits = logits + (share * rows.closed[..., : share.shape[-1]]).sum(-1)
        if rows.batch.structure is not None:
            known = rows.batch.apart(known_answers(rows.batch))[1].to(logits.dtype)  # (B, U, C, A)
            for gate, first in ((self.follow_graph, 0), (self.follow_space, CLASS_CHANNELS)):
                if gate is not None:
                    share = gate(rows.slots).to(logits.dtype)  # (B, U, C, A')
                    logits = logits + (share * known[..., first : first + share.shape[-1]]).sum(-1)
        return class_output(logits, given)

    def _with_ridge(
        self, output: ClassOutput | RegressionOutput, closed: Tensor | None
    ) -> ClassOutput | RegressionOutput:
        """The output, for classes with the kernel ridge answers (B, n, C, 12) that the network may have read."""
        if isinstance(output, ClassOutput) and closed is not None and self.config.more_kernels:
            output.ridge = closed[..., ALL]
        return output

    def _regress(self, given: TaskBatch, labeled: Tensor, rows: _Unlabeled) -> tuple[Tensor, Tensor]:
        """Mean and variance (section 3.6), of targets scaled by the labeled rows."""
        mean, var = gp_moments(self.head, given, labeled, rows.embeddings)
        if self.readout is not None:
            shift, log_ratio = self.readout(rows.slots).to(mean.dtype).unbind(-1)
            mean = mean + shift
            var = var * log_ratio.clamp(-8, 8).exp()
        if self.follow is not None and rows.closed is not None:
            share = self.follow(rows.slots).to(mean.dtype)  # (B, U, T, 3 or 6)
            mean = mean + (share * (rows.closed[..., : share.shape[-1]] - mean.unsqueeze(-1))).sum(-1)
        structure = rows.batch.structure
        if self.follow_graph is not None and structure is not None:
            share = self.follow_graph(rows.slots).to(mean.dtype)  # (B, U, T, A')
            along = rows.batch.apart(known_answers(rows.batch))[1][..., : share.shape[-1]].to(mean.dtype)
            known = rows.batch.apart(structure.answered)[1][:, :, None, None]
            mean = mean + (share * known * (along - mean.unsqueeze(-1))).sum(-1)
        if self.config.more_kernels and rows.closed is not None and not self.training:
            mean, var = with_exact(mean, var, rows.closed[..., ALL], (2 * rows.closed[..., ERROR_OF_ALL]).exp())
        return mean, var

    def _kernels(self, batch: TaskBatch, *, for_others: bool = False) -> KernelAnswers | None:
        """Kernel ridge regressions of a batch, if the network reads their answers."""
        if not self.config.kernel_ridge:
            return None
        return KernelAnswers.of(batch, self.config.more_kernels, for_others=for_others)

    def _with_structure(self, batch: TaskBatch) -> TaskBatch:
        """The tasks with coordinates as attributes, if the network reads the structure of tables."""
        return with_coordinates(batch) if self.structure_width else replace(batch, structure=None)

    def _input(self, batch: TaskBatch, closed: Tensor | None, scales: Scales | None) -> Tensor:
        """What the first layer reads, (B, N, M + C, D_3), in the order of `input_channels`."""
        parts = [input_tensor(batch, self.config, scales)]
        kernels: list[Tensor] = []
        if closed is not None:
            # They are in the label slots; attributes have none.
            kernels = list(
                F.pad(closed.to(parts[0].dtype), (0, 0, batch.x.shape[2], 0)).split_with_sizes(
                    [MODELS, closed.shape[-1] - MODELS], -1
                )
            )
        structure = [structure_channels(batch, self.structure_width)] if self.structure_width else []
        return torch.cat([*parts, *kernels[:1], *structure, *kernels[1:]], -1)

    def _hidden(self, batch: TaskBatch, z: Tensor, kept: list[Kept] | None = None) -> Tensor:
        """The representation after the last block, (B, N, M + C, H)."""
        slots = torch.cat([batch.attr_mask, batch.class_mask], 1)  # (B, S)
        if can_be_sliced(self.blocks, z, batch.row_mask, slots):
            return hidden_in_slices(self.embed_in, self.blocks, self.norm_out, z, kept)
        z = self.embed_in(z)
        for block in self.blocks:
            z = block(z, batch.row_mask, slots, kept)
        return self.norm_out(z)

    def embed(self, batch: TaskBatch) -> Tensor:
        """Embeddings of all rows, (B, N, M * H^(B)); 0 at attributes that are padding."""
        if self.config.kind == "regression":
            batch, scale = scale_targets(batch, self.config.standardize)
            batch = scale_answers(batch, scale)
        m, kernels = batch.x.shape[2], self._kernels(batch)
        batch = self._with_structure(batch)
        z = self._input(batch, None if kernels is None else kernels.answers, None)
        return self._embeddings(batch, self._hidden(batch, z))[:, :, : m * self.config.channels]

    def _embeddings(self, batch: TaskBatch, z: Tensor) -> Tensor:
        m = batch.x.shape[2]
        e = self.to_channels(z[:, :, :m]) * batch.attr_mask[:, None, :, None]  # (B, N, M, H^(B))
        # Distances and solves need more digits than bfloat16 has.
        return e.flatten(2).to(torch.promote_types(e.dtype, torch.float32))


@dataclass(frozen=True)
class Context:
    """What rows that were read leave for others that are asked about (:meth:`VSAModel.ask`).

    Attributes
    ----------
    given : TaskBatch
        The rows.
    scale : TargetScale or None
        Of the targets; None for classes.
    scales : Scales or None
        Of the attributes; None if values are read as they are.
    kernels : KernelAnswers or None
    blocks : list of KeptRows and KeptSlots
    embeddings : Tensor, shape (1, N, E)
        Of the rows.
    """

    given: TaskBatch
    scale: TargetScale | None
    scales: Scales | None
    kernels: KernelAnswers | None
    blocks: list[Kept]
    embeddings: Tensor

    @property
    def labeled(self) -> Tensor:
        """Embeddings of the labeled rows, (1, L, E)."""
        return self.given.apart(self.embeddings)[0]


@dataclass(frozen=True)
class _Unlabeled:
    """Unlabeled rows when they are answered.

    Attributes
    ----------
    embeddings : Tensor, shape (B, U, E)
    slots : Tensor, shape (B, U, C, H)
        Their label slots after the last block.
    closed : Tensor, shape (B, U, C, 3 or 12), or None
        Answers of kernel ridge regressions.
    batch : TaskBatch
        They follow its labeled rows; only its structure is looked at.
    """

    embeddings: Tensor
    slots: Tensor
    closed: Tensor | None
    batch: TaskBatch
