"""The network applied to one table: chunks of unlabeled rows, each with the labeled rows as context.

    x (n, M), labeled rows, y --contexts x chunks--> one answer per unlabeled row

A table of a few hundred rows is one chunk, as in the paper: all its rows are read together. A
larger one is split, so that time grows linearly with its rows and memory not at all: every chunk
holds the labeled rows and ``chunk_rows`` unlabeled ones, drawn at random from the whole table.
More labeled rows than ``context_rows`` are dealt into several contexts (every class in each), whose
answers are averaged.

Which rows share a chunk, and in which order rows and attributes enter the network, depends on their
contents and the seed (:mod:`vsacli.hashing`), not on their order in the table: another order gives
the same answers, and identical rows get identical ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.calibration import std_factor, temperature
from vsacli.compact import CompactAttributes, take_rows
from vsacli.errors import DataError, ResourceError, UsageError
from vsacli.hashing import attribute_signatures, reading_order, row_order, signs

if TYPE_CHECKING:
    import torch

    from vsacli.checkpoints import Checkpoint
    from vsacli.nn.batch import TaskBatch

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class InferenceConfig:
    """Sizes of the passes through the network."""

    chunk_rows: int = 256  # unlabeled rows read together
    context_rows: int = 384  # labeled rows read together
    contexts_per_chunk: int = 2  # contexts averaged where labeled rows need several
    memory: int = 400 << 20  # bytes that a pass may take, about
    least_chunk: int = 16  # unlabeled rows below which a pass is not cut further
    views: int = 1  # passes averaged: the table as it is, then with the signs of random attributes turned
    at_a_time: int | None = None  # passes side by side on a CPU, one thread each; None: as torch has threads


@dataclass
class Prediction:
    """Answers for the unlabeled rows, in the order of the table.

    Attributes
    ----------
    rows : ndarray of int64, shape (U,)
        Their row numbers.
    device : str
        Where the network ran.
    proba : ndarray of float32, shape (U, C), or None
        Class probabilities.
    mean, std : ndarray of float64, shape (U,), or None
        Predicted target and its standard deviation.
    best : (ndarray of int32, ndarray of float32), shape (U,) each, or None
        The most probable class and its probability, where `proba` was not to be kept.
    """

    rows: np.ndarray
    device: str
    proba: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    best: tuple[np.ndarray, np.ndarray] | None = None


def choose_device(name: str) -> torch.device:
    """The device of a name; ``auto`` takes CUDA, then MPS, then the CPU.

    Raises
    ------
    UsageError
        If that device is not there.
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(d for d, ok in there.items() if ok))
    kind, _, index = name.partition(":")
    if kind not in there or (index and not index.isdecimal()) or name.endswith(":"):
        raise UsageError(f"unknown device {name!r}; use auto, cpu, cuda or mps")
    if not there[kind]:
        raise UsageError(f"device {name} is not available here; use --device cpu")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if index and int(index) >= count:
        raise UsageError(f"device {name} is not available here: there is {kind}:0 to {kind}:{count - 1}")
    return torch.device(name)


def check_classes(n_classes: int, config: InferenceConfig | None = None) -> None:
    """Refuse more classes than a context has rows.

    Each pass reads a row of every class, and its time grows with the square of their number: a thousand classes
    would take minutes for sixteen rows.

    Raises
    ------
    DataError
    """
    most = (config or InferenceConfig()).context_rows
    if n_classes > most:
        raise DataError(
            f"{n_classes:,} classes are more than the network reads together ({most}): unite rare classes, or fill in "
            f"a coarser column first and then label the rows of each of its values by themselves; "
            f"if the labels are numbers, --task regression"
        )


def predict(
    checkpoint: Checkpoint,
    x: np.ndarray | CompactAttributes,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int = 0,
    *,
    device: str = "auto",
    seed: int = 0,
    config: InferenceConfig | None = None,
    progress: Progress | None = None,
    signatures: np.ndarray | None = None,
    best_only: bool = False,
) -> Prediction:
    """Answer every unlabeled row of a table.

    Parameters
    ----------
    checkpoint : Checkpoint
        Of the kind that ``y`` asks for.
    x : ndarray of float32, or CompactAttributes, shape (n, M)
        Attributes; NaN where not observed.
    labeled : ndarray of bool, shape (n,)
        Rows with a label.
    y : ndarray, shape (number of labeled rows,)
        Their classes (0 to ``n_classes`` - 1, each at least once) or targets, in row order.
    n_classes : int
        C; not used for regression.
    device : str
        See :func:`choose_device`.
    seed : int
        Decides which rows share a chunk and a context.
    config : InferenceConfig, optional
    progress : callable, optional
        Called with (rows done, rows in all).
    signatures : ndarray of uint64, shape (M,), optional
        :func:`attribute_signatures` of a larger table that ``x`` is part of, so that its parts are read alike.
    best_only : bool
        Of the class probabilities keep the largest of each row alone: two numbers a row, not C.

    Returns
    -------
    Prediction

    Raises
    ------
    DataError
        If no row is labeled, or there are more classes than `check_classes` allows.
    ResourceError
        If even the smallest pass does not fit in memory.
    """
    config = config or InferenceConfig()
    check_classes(n_classes, config)
    rows = np.flatnonzero(~labeled)
    support = np.flatnonzero(labeled)
    if not len(support):
        raise DataError("no labeled row: give at least one label")
    where = choose_device(device)
    classes = checkpoint.kind == "classification"
    out = Prediction(rows, str(where))
    if classes and (n_classes == 1 or not len(rows)):
        out.proba = np.ones((len(rows), n_classes), np.float32)
        return out
    scale = None if classes else _TargetScale.of(y)
    if scale is not None and (scale.spread == 0 or not len(rows)):
        # All given targets are equal, and nothing says how others differ.
        out.mean, out.std = np.full(len(rows), scale.first), np.zeros(len(rows))
        return out
    target = np.asarray(y, np.int64) if scale is None else scale.apply(y)

    runner = _Runner(checkpoint, where, n_classes if classes else 1)
    signatures = attribute_signatures(x) if signatures is None else signatures
    attributes = np.argsort(signatures, kind="stable")
    turned = signs(signatures[attributes], config.views, seed)
    order = row_order(x, signatures, seed, target, rows=support)
    contexts = _contexts(target[order] if classes else None, len(order), config.context_rows)
    contexts = [order[c] for c in contexts]
    fit = _rows_that_fit(config, runner, len(contexts[0]), x.shape[1])
    order, first = reading_order(x, signatures, seed, rows)
    read = order if len(rows) <= fit else order[first]  # a table read at once is read as it is
    n_chunks = -(-len(read) // fit)
    answers = _Answers(len(read), runner.width, best_only and classes)

    def answer(i: int) -> int:
        """Answer chunk ``i``; its number of rows."""
        here = slice(i * len(read) // n_chunks, (i + 1) * len(read) // n_chunks)
        chunk = read[here]
        unlabeled = take_rows(x, rows[chunk], attributes)
        parts = []
        for j in range(min(config.contexts_per_chunk, len(contexts))):
            c = contexts[(i * config.contexts_per_chunk + j) % len(contexts)]
            context = take_rows(x, support[c], attributes)
            parts += [runner.run(context * s, target[c], unlabeled * s, config.least_chunk) for s in turned]
        answers.keep(here, _average(parts, classes))
        return len(chunk)

    done = 0
    for count in _side_by_side(answer, n_chunks, where, config.at_a_time):
        done += count
        if progress is not None:
            progress(done * len(rows) // len(read), len(rows))
    group = np.cumsum(first, dtype=order.dtype) - order.dtype.type(1)  # identical rows get the answer of their first
    back = np.empty_like(order)
    back[order] = group if len(read) < len(rows) else np.flatnonzero(first).astype(order.dtype)[group]
    if scale is not None:
        out.mean, out.std = scale.undo(*answers.numbers[back].T)
    elif best_only:
        out.best = answers.codes[back], answers.numbers[back, 0]
    else:
        out.proba = answers.numbers[back]
    return out


class _Answers:
    """The answers for rows in the order in which they are read: ``numbers`` (rows, width), or the best of each."""

    def __init__(self, rows: int, width: int, best_only: bool) -> None:
        self.numbers = np.empty((rows, 1 if best_only else width), np.float32)
        self.codes = np.empty(rows if best_only else 0, np.int32)
        self._best_only = best_only

    def keep(self, rows: slice, answers: np.ndarray) -> None:
        """Keep the answers for some rows, (rows, width)."""
        if not self._best_only:
            self.numbers[rows] = answers
            return
        self.codes[rows] = codes = answers.argmax(1)
        self.numbers[rows, 0] = answers[np.arange(len(codes)), codes]


def _side_by_side(
    answer: Callable[[int], int], n_chunks: int, device: torch.device, at_a_time: int | None = None
) -> Iterator[int]:
    """What ``answer`` returns for each chunk, in order; on a CPU as many at a time as torch has threads.

    A pass is made of many small operations. One thread for each of two passes is a third faster than
    two threads for each operation, and does not suffer when the machine has other work, since no
    thread waits for another within an operation. The answers are the same: each pass has its thread.
    """
    import torch

    threads = torch.get_num_threads()
    if device.type != "cpu" or (at_a_time is None and (threads < 2 or n_chunks < 2 * threads)):
        yield from map(answer, range(n_chunks))
        return
    pool = ThreadPoolExecutor(at_a_time or threads, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(answer, range(n_chunks))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


class _Runner:
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

    def run(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray, least: int) -> np.ndarray:
        """Answers (rows of ``chunk``, width), in one pass where that fits in memory."""
        return np.concatenate(self._parts(self._pass, context, y, chunk, least))

    def embed(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray, least: int) -> list[np.ndarray]:
        """Embeddings (rows of ``context`` and of a part of ``chunk``, M * H^(B)) of each part, one pass a part."""
        return self._parts(self._embedding_pass, context, y, chunk, least)

    def _parts(
        self,
        one_pass: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        context: np.ndarray,
        y: np.ndarray,
        chunk: np.ndarray,
        least: int,
    ) -> list[np.ndarray]:
        """What ``one_pass`` gives for each part of ``chunk``: for all of it, where that fits in memory."""
        rows = len(context) + len(chunk)
        if self.too_many is None or rows < self.too_many or len(chunk) <= least:
            try:
                return [one_pass(context, y, chunk)]
            except (RuntimeError, MemoryError) as e:
                if not _out_of_memory(e):
                    raise
            # outside of the handler, whose traceback keeps the tensors of the failed pass alive
            self.too_many = rows
        if len(chunk) <= least:
            raise ResourceError(
                f"{len(context)} labeled and {len(chunk)} unlabeled rows of {chunk.shape[1]} attributes do not fit "
                "in memory; leave out columns with --exclude, or use --device cpu on a machine with more"
            )
        half = len(chunk) // 2
        halves = (chunk[:half], chunk[half:])
        return [part for h in halves for part in self._parts(one_pass, context, y, h, least)]

    def _pass(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        import torch

        from vsacli.nn.model import ClassOutput

        with torch.inference_mode():
            output = self.model(self._batch(context, y, chunk))
            if isinstance(output, ClassOutput):
                t = temperature(self.calibration, len(context), self.n_classes)
                return (output.log_probs[0] / t).softmax(-1).float().cpu().numpy()
            mean, var = output.mean[0, :, 0], output.var[0, :, 0] * std_factor(self.calibration) ** 2
            return torch.stack([mean, var], 1).float().cpu().numpy()

    def _embedding_pass(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return self.model.embed(self._batch(context, y, chunk))[0].float().cpu().numpy()

    def _batch(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray) -> TaskBatch:
        import torch

        from vsacli.nn.batch import TaskBatch

        x = np.concatenate([context, chunk])
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
        )
        return batch.to(self.device)


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or any(
        s in str(error).lower()
        for s in (
            "out of memory",
            "not enough memory",
            "can't allocate memory",
            "cannot allocate memory",
            "status_alloc_failed",
        )
    )


@dataclass(frozen=True)
class _TargetScale:
    """Targets to mean 0 and spread 1, in float64: values near 1e13 or 1e308 must not meet float32 before.

    Everything is computed on targets divided by the largest magnitude, ``size``.
    """

    size: float
    centre: float
    spread: float  # 0: all equal
    first: float  # the value of equal targets

    @classmethod
    def of(cls, y: np.ndarray) -> _TargetScale:
        y = np.asarray(y, np.float64)
        size = float(np.abs(y).max())
        if y.min() == y.max():
            return cls(size, 0.0, 0.0, float(y[0]))
        parts = y / size
        return cls(size, float(parts.mean()), float(parts.std()), float(y[0]))

    def apply(self, y: np.ndarray) -> np.ndarray:
        """Targets as the network takes them, float32."""
        return ((np.asarray(y, np.float64) / self.size - self.centre) / self.spread).astype(np.float32)

    def undo(self, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation in the units of the targets, float64, finite."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            m = (mean.astype(np.float64) * self.spread + self.centre) * self.size
            s = np.sqrt(var.astype(np.float64)) * self.spread * self.size
        # NaN stays NaN, for the caller to see; what lies beyond float64 becomes its last number.
        return np.clip(m, -most, most), np.minimum(s, most)


def _average(parts: list[np.ndarray], classes: bool) -> np.ndarray:
    """Mean probabilities; or mean and variance of the equal mixture of Gaussians."""
    stacked = np.stack(parts)
    out = stacked.mean(0)
    if not classes:
        out[:, 1] += stacked[:, :, 0].var(0)
    return out


def _rows_that_fit(config: InferenceConfig, runner: _Runner, n_context: int, n_attributes: int) -> int:
    """Unlabeled rows of a chunk: ``chunk_rows``, or fewer where the table is wide."""
    slots = n_attributes + runner.n_classes
    per_row = slots * 4 * runner.config.pass_floats
    return int(np.clip(config.memory // per_row - n_context, config.least_chunk, config.chunk_rows))


def _contexts(codes: np.ndarray | None, n: int, limit: int) -> list[np.ndarray]:
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
