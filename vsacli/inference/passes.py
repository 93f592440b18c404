"""One pass of the network over labeled and unlabeled rows, and what a table needs to be cut into passes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.checkpoints.calibration import std_factor, temperature
from vsacli.errors import ResourceError
from vsacli.support.out_of_memory import is_out_of_memory

if TYPE_CHECKING:
    import torch

    from vsacli.checkpoints.folder import Checkpoint
    from vsacli.inference.config import InferenceConfig
    from vsacli.nn.answers import ClassOutput, RegressionOutput
    from vsacli.nn.batch import StructureBatch, TaskBatch
    from vsacli.nn.closed_forms import ClosedForms
    from vsacli.nn.model import Context, VSAModel
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


@dataclass(frozen=True)
class Left:
    """What rows that were read leave for others that are asked about."""

    context: Context
    forms: ClosedForms | None  # that answers are pooled with


def structure_batch(rows: RowStructure) -> StructureBatch:
    """The structure of some rows as the network takes it, a batch of one task."""
    import torch

    from vsacli.nn.batch import StructureBatch

    return StructureBatch(
        coordinates=torch.from_numpy(rows.coordinates)[None],
        weights=torch.from_numpy(rows.weights)[None],
        mask=torch.ones(1, len(rows.weights), dtype=torch.bool),
        answers=torch.from_numpy(np.nan_to_num(rows.answers))[None],
        answered=torch.from_numpy(rows.answered)[None],
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

    @property
    def can_be_asked(self) -> bool:
        """Whether rows can be asked about after others were read."""
        from vsacli.nn.model import VSAModel

        return isinstance(self.model, VSAModel) and self.config.can_be_asked

    def run(self, context: PassRows, y: np.ndarray, chunk: PassRows, least: int) -> np.ndarray:
        """Answers (rows of ``chunk``, width), in one pass if that fits in memory."""

        def one_pass(part: PassRows) -> np.ndarray:
            batch = self._batch(context.followed_by(part), y)
            return self._with_forms(self.model(batch), batch)[0]

        return np.concatenate(self._parts(one_pass, len(context), chunk, least))

    def read(
        self, given: PassRows, y: np.ndarray, beside: PassRows, least: int, *, pooled: bool = True
    ) -> tuple[np.ndarray, Left]:
        """Answers (rows of ``beside``, width), and what these and labeled rows ``given`` leave for others.

        If memory is short, fewer are read, and the others are the first to be asked about. Where only embeddings are
        wanted, answers need not be pooled with closed forms.
        """
        rows = len(beside)
        while True:
            try:
                with self._inference():
                    batch = self._batch(given.followed_by(beside.part(slice(rows))), y)
                    output, context = self._vsa.read(batch)
                    found, forms = self._with_forms(output, batch, pooled=pooled)
                break
            except (RuntimeError, MemoryError) as e:
                if not is_out_of_memory(e):
                    raise
            if rows <= least:
                raise self._does_not_fit(len(given), beside.part(slice(rows)))
            rows //= 2
        left = Left(context, forms)
        if rows < len(beside):
            found = np.concatenate([found, self.ask(left, len(given), beside.part(slice(rows, None)), least)])
        return found, left

    def ask(self, left: Left, n_labeled: int, rows: PassRows, least: int) -> np.ndarray:
        """Answers (rows, width) for rows beside those that were read, ``n_labeled`` labeled ones among them."""

        def one_pass(part: PassRows) -> np.ndarray:
            batch = self._batch(part)
            output = self._vsa.ask(left.context, batch)
            numbers = self._numbers(output, n_labeled)
            ridge = _ridge_of(output)
            if left.forms is not None and ridge is not None:
                numbers = left.forms.pooled(numbers, batch, ridge)
            return numbers.numpy()

        return np.concatenate(self._parts(one_pass, n_labeled, rows, least))

    def place(self, left: Left, n_labeled: int, rows: PassRows, least: int) -> np.ndarray:
        """Embeddings (rows, M * H^(B)) of rows beside those that were read, as :meth:`ask`."""

        def one_pass(part: PassRows) -> np.ndarray:
            return self._vsa.place(left.context, self._batch(part))[0].float().cpu().numpy()

        return np.concatenate(self._parts(one_pass, n_labeled, rows, least))

    def embed(self, context: PassRows, y: np.ndarray, chunk: PassRows, least: int) -> list[np.ndarray]:
        """Embeddings (rows of ``context`` and of a part of ``chunk``, M * H^(B)) of each part, one pass a part."""

        def one_pass(part: PassRows) -> np.ndarray:
            return self.model.embed(self._batch(context.followed_by(part), y))[0].float().cpu().numpy()

        return self._parts(one_pass, len(context), chunk, least)

    def _parts(
        self, one_pass: Callable[[PassRows], np.ndarray], n_labeled: int, chunk: PassRows, least: int
    ) -> list[np.ndarray]:
        """What ``one_pass`` gives for each part of ``chunk``: for all of it, if that fits in memory."""
        rows = n_labeled + len(chunk)
        if self.too_many is None or rows < self.too_many or len(chunk) <= least:
            try:
                with self._inference():
                    return [one_pass(chunk)]
            except (RuntimeError, MemoryError) as e:
                if not is_out_of_memory(e):
                    raise
            # outside of the handler, whose traceback keeps the tensors of the failed pass alive
            self.too_many = rows
        if len(chunk) <= least:
            raise self._does_not_fit(n_labeled, chunk)
        half = len(chunk) // 2
        halves = (chunk.part(slice(half)), chunk.part(slice(half, None)))
        return [part for h in halves for part in self._parts(one_pass, n_labeled, h, least)]

    def _does_not_fit(self, n_labeled: int, unlabeled: PassRows) -> ResourceError:
        return ResourceError(
            f"{n_labeled} labeled and {len(unlabeled)} unlabeled rows of {unlabeled.x.shape[1]} attributes do not fit "
            "in memory; leave out columns with --exclude, or use --device cpu on a machine with more"
        )

    def _inference(self) -> AbstractContextManager[None]:
        import torch

        return torch.inference_mode()

    @property
    def _vsa(self) -> VSAModel:
        from vsacli.nn.model import VSAModel

        assert isinstance(self.model, VSAModel)
        return self.model

    def _with_forms(
        self, output: ClassOutput | RegressionOutput, batch: TaskBatch, *, pooled: bool = True
    ) -> tuple[np.ndarray, ClosedForms | None]:
        """Answers (u, width) for the unlabeled rows of a batch, and the closed forms with which they are pooled."""
        from vsacli.nn.closed_forms import ClosedForms

        numbers, ridge, forms = self._numbers(output, batch.n_labeled), _ridge_of(output), None
        if pooled and ridge is not None and self.n_classes > 1 and len(numbers):
            labeled, unlabeled = batch.apart(ridge)
            forms = ClosedForms.of(batch, labeled, numbers)
            if forms is not None:
                numbers = forms.pooled(numbers, batch, unlabeled)
        return numbers.numpy(), forms

    def _numbers(self, output: ClassOutput | RegressionOutput, n_labeled: int) -> torch.Tensor:
        """The network's calibrated answers (u, width), on the CPU."""
        import torch

        from vsacli.nn.answers import ClassOutput

        if isinstance(output, ClassOutput):
            t = temperature(self.calibration, n_labeled, self.n_classes)
            return (output.log_probs[0] / t).softmax(-1).float().cpu()
        mean, var = output.mean[0, :, 0], output.var[0, :, 0] * std_factor(self.calibration) ** 2
        return torch.stack([mean, var], 1).float().cpu()

    def _batch(self, rows: PassRows, y: np.ndarray | None = None) -> TaskBatch:
        """A task of some rows, of which the first have labels ``y``; None: no row has."""
        import torch

        from vsacli.nn.batch import TaskBatch

        seen = np.isfinite(rows.x)
        classes = self.kind == "classification"
        given = np.zeros(0, np.int64 if classes else np.float32) if y is None else y
        target = torch.from_numpy(given)[None]
        batch = TaskBatch(
            x=torch.from_numpy(np.where(seen, rows.x, np.float32(0)))[None],
            observed=torch.from_numpy(seen)[None],
            n_labeled=len(given),
            y=target if classes else target.unsqueeze(-1),
            row_mask=torch.ones(1, len(rows), dtype=torch.bool),
            attr_mask=torch.ones(1, rows.x.shape[1], dtype=torch.bool),
            class_mask=torch.ones(1, self.n_classes, dtype=torch.bool),
            structure=None if rows.structure is None else structure_batch(rows.structure),
        )
        return batch.to(self.device)


def _ridge_of(output: ClassOutput | RegressionOutput) -> torch.Tensor | None:
    """Kernel ridge answers (1, n, C) that came with answers for classes, if any did."""
    from vsacli.nn.answers import ClassOutput

    return output.ridge if isinstance(output, ClassOutput) else None


def rows_that_fit(config: InferenceConfig, runner: Runner, n_context: int, n_attributes: int) -> int:
    """Unlabeled rows of a chunk: ``chunk_rows``, or fewer if the table is wide."""
    slots = n_attributes + runner.n_classes
    per_row = slots * 4 * runner.config.pass_floats
    return int(np.clip(config.memory // per_row - n_context, config.least_chunk, config.chunk_rows))


def kept_bytes(runner: Runner, n_attributes: int) -> int:
    """What a row that is read leaves for others that are asked about, in bytes."""
    return (n_attributes + runner.n_classes) * 4 * runner.config.kept_floats


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
