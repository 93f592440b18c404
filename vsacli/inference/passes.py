"""One pass of the network over labeled and unlabeled rows, and what a table needs to be cut into passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vsacli.checkpoints.calibration import std_factor, temperature
from vsacli.errors import ResourceError
from vsacli.support.out_of_memory import is_out_of_memory

if TYPE_CHECKING:
    import torch

    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.config import InferenceConfig
    from vsacli.nn.batch import StructureBatch, TaskBatch
    from vsacli.structure import RowStructure


@dataclass(frozen=True)
class PassRows:
    """Rows of a pass: their attributes (k, M), and their place in the structure of the whole table."""

    x: np.ndarray
    structure: RowStructure | None = None

    def __len__(self) -> int:
        return len(self.x)

    def part(self, rows: slice) -> PassRows:
        """Some of the rows."""
        return PassRows(self.x[rows], None if self.structure is None else self.structure.take(rows))

    def followed_by(self, other: PassRows) -> PassRows:
        """These rows, then the others."""
        both = None if self.structure is None or other.structure is None else self.structure.joined(other.structure)
        return PassRows(np.concatenate([self.x, other.x]), both)


def structure_batch(context: RowStructure | None, chunk: RowStructure | None) -> StructureBatch | None:
    """The structure of labeled and unlabeled rows as the network takes it, a batch of one task."""
    import torch

    from vsacli.nn.batch import StructureBatch

    if context is None or chunk is None:
        return None
    both = context.joined(chunk)
    return StructureBatch(
        coordinates=torch.from_numpy(both.coordinates)[None],
        weights=torch.from_numpy(both.weights)[None],
        mask=torch.ones(1, len(both.weights), dtype=torch.bool),
        answers=torch.from_numpy(np.nan_to_num(both.answers))[None],
        answered=torch.from_numpy(both.answered)[None],
    )


class Runner:
    """Passes of one checkpoint on one device; halves a pass that does not fit."""

    def __init__(self, checkpoint: Checkpoint, device: torch.device, n_classes: int) -> None:
        self.kind = checkpoint.kind
        self.config = checkpoint.model.config
        self.model = checkpoint.model.to(device)
        self.device = device
        self.n_classes = n_classes
        self.calibration: dict[str, float] = checkpoint.meta.get("calibration", {})
        self.width = n_classes if self.kind == "classification" else 2
        self.too_many: int | None = None  # rows of a pass that did not fit

    def run(
        self, context: PassRows, y: np.ndarray, chunk: PassRows, least: int, beside: PassRows | None = None
    ) -> np.ndarray:
        """Answers (rows of ``chunk``, width), in one pass if that fits in memory.

        With unlabeled rows ``beside`` the rows of the chunk read only these and the labeled ones, and no other row
        of the chunk: its answers do not depend on which rows it has.
        """
        return np.concatenate(self._parts(partial(self._pass, beside=beside), context, y, chunk, least))

    def embed(self, context: PassRows, y: np.ndarray, chunk: PassRows, least: int) -> list[np.ndarray]:
        """Embeddings (rows of ``context`` and of a part of ``chunk``, M * H^(B)) of each part, one pass a part."""
        return self._parts(self._embedding_pass, context, y, chunk, least)

    def _parts(
        self,
        one_pass: Callable[[PassRows, np.ndarray, PassRows], np.ndarray],
        context: PassRows,
        y: np.ndarray,
        chunk: PassRows,
        least: int,
    ) -> list[np.ndarray]:
        """What ``one_pass`` gives for each part of ``chunk``: for all of it, if that fits in memory."""
        rows = len(context) + len(chunk)
        if self.too_many is None or rows < self.too_many or len(chunk) <= least:
            try:
                return [one_pass(context, y, chunk)]
            except (RuntimeError, MemoryError) as e:
                if not is_out_of_memory(e):
                    raise
            # outside of the handler, whose traceback keeps the tensors of the failed pass alive
            self.too_many = rows
        if len(chunk) <= least:
            raise ResourceError(
                f"{len(context)} labeled and {len(chunk)} unlabeled rows of {chunk.x.shape[1]} attributes do not fit "
                "in memory; leave out columns with --exclude, or use --device cpu on a machine with more"
            )
        half = len(chunk) // 2
        halves = (chunk.part(slice(half)), chunk.part(slice(half, None)))
        return [part for h in halves for part in self._parts(one_pass, context, y, h, least)]

    def _pass(self, context: PassRows, y: np.ndarray, chunk: PassRows, beside: PassRows | None = None) -> np.ndarray:
        import torch

        from vsacli.nn.model import ClassOutput

        with torch.inference_mode():
            asked = chunk if beside is None else beside.followed_by(chunk)
            batch = self._batch(context, y, asked)
            first = 0 if beside is None else len(beside)
            batch.n_read = None if beside is None else len(context) + first
            output = self.model(batch)
            if isinstance(output, ClassOutput):
                t = temperature(self.calibration, len(context), self.n_classes)
                return (output.log_probs[0, first:] / t).softmax(-1).float().cpu().numpy()
            mean, var = output.mean[0, first:, 0], output.var[0, first:, 0] * std_factor(self.calibration) ** 2
            return torch.stack([mean, var], 1).float().cpu().numpy()

    def _embedding_pass(self, context: PassRows, y: np.ndarray, chunk: PassRows) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return self.model.embed(self._batch(context, y, chunk))[0].float().cpu().numpy()

    def _batch(self, context: PassRows, y: np.ndarray, chunk: PassRows) -> TaskBatch:
        import torch

        from vsacli.nn.batch import TaskBatch

        x = np.concatenate([context.x, chunk.x])
        seen = np.isfinite(x)
        target = torch.from_numpy(y)[None]
        batch = TaskBatch(
            x=torch.from_numpy(np.where(seen, x, np.float32(0)))[None],
            observed=torch.from_numpy(seen)[None],
            n_labeled=len(context),
            y=target if self.kind == "classification" else target.unsqueeze(-1),
            row_mask=torch.ones(1, len(x), dtype=torch.bool),
            attr_mask=torch.ones(1, x.shape[1], dtype=torch.bool),
            class_mask=torch.ones(1, self.n_classes, dtype=torch.bool),
            structure=structure_batch(context.structure, chunk.structure),
        )
        return batch.to(self.device)


@dataclass(frozen=True)
class TargetScale:
    """Targets to mean 0 and spread 1, in float64: values near 1e13 or 1e308 must not meet float32 before.

    Everything is computed on targets divided by the largest magnitude, ``size``.
    """

    size: float
    centre: float
    spread: float  # 0: all equal
    first: float  # the value of equal targets

    @classmethod
    def of(cls, y: np.ndarray) -> TargetScale:
        y = np.asarray(y, np.float64)
        size = float(np.abs(y).max())
        if y.min() == y.max():
            return cls(size, 0.0, 0.0, float(y[0]))
        parts = y / size
        return cls(size, float(parts.mean()), float(parts.std()), float(y[0]))

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Targets as the network takes them, float32; 0 if all are equal."""
        if not self.spread:
            return np.zeros(len(y), np.float32)
        return ((np.asarray(y, np.float64) / self.size - self.centre) / self.spread).astype(np.float32)

    def undo(self, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation in the units of the targets, float64, finite."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            m = (mean.astype(np.float64) * self.spread + self.centre) * self.size
            s = np.sqrt(var.astype(np.float64)) * self.spread * self.size
        # NaN stays NaN, for the caller to see; what lies beyond float64 becomes its last number.
        return np.clip(m, -most, most), np.minimum(s, most)


def rows_that_fit(config: InferenceConfig, runner: Runner, n_context: int, n_attributes: int) -> int:
    """Unlabeled rows of a chunk: ``chunk_rows``, or fewer if the table is wide."""
    slots = n_attributes + runner.n_classes
    per_row = slots * 4 * runner.config.pass_floats
    return int(np.clip(config.memory // per_row - n_context, config.least_chunk, config.chunk_rows))


def deal_contexts(codes: np.ndarray | None, n: int, limit: int) -> list[np.ndarray]:
    """Deal ``n`` labeled rows, as they come, into contexts of about ``limit``, every class in each of them.

    A class with fewer rows than there are contexts lends a row to several.
    """
    order = np.arange(n)
    if n <= limit:
        return [order]
    k = -(-n // limit)
    if codes is None:
        return [order[i::k] for i in range(k)]
    hands: list[list[np.ndarray]] = [[] for _ in range(k)]
    for c in np.unique(codes):
        own = order[codes == c]
        for i in range(k):
            hands[i].append(own[i::k] if len(own) > i else own[i % len(own)][None])
    return [np.concatenate(h) for h in hands]
