"""The network applied to one table: chunks of unlabeled rows, each with the labeled rows as context.

    x (n, M), labeled rows, y --contexts x chunks--> one answer per unlabeled row

A table of a few hundred rows is one chunk, as in the paper: all its rows are read together. A
larger one is split, so that time grows linearly with its rows and memory not at all: every chunk
holds the labeled rows and ``chunk_rows`` unlabeled ones, drawn at random from the whole table.
Which rows share a chunk depends on their contents and the seed, not on their order, and identical
rows get identical answers. More labeled rows than ``context_rows`` are dealt into several contexts
(every class in each), whose answers are averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError, ResourceError, UsageError

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
    """

    rows: np.ndarray
    device: str
    proba: np.ndarray | None = None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None


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
    if name.split(":")[0] not in there:
        raise UsageError(f"unknown device {name!r}; use auto, cpu, cuda or mps")
    if not there[name.split(":")[0]]:
        raise UsageError(f"device {name} is not available here; use --device cpu")
    return torch.device(name)


def predict(
    checkpoint: Checkpoint,
    x: np.ndarray,
    labeled: np.ndarray,
    y: np.ndarray,
    n_classes: int = 0,
    *,
    device: str = "auto",
    seed: int = 0,
    config: InferenceConfig | None = None,
    progress: Progress | None = None,
) -> Prediction:
    """Answer every unlabeled row of a table.

    Parameters
    ----------
    checkpoint : Checkpoint
        Of the kind that ``y`` asks for.
    x : ndarray of float32, shape (n, M)
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

    Returns
    -------
    Prediction

    Raises
    ------
    DataError
        If no row is labeled.
    ResourceError
        If even the smallest pass does not fit in memory.
    """
    config = config or InferenceConfig()
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
    centre, scale = (0.0, 1.0) if classes else _target_scale(y)
    if not classes and (scale == 0 or not len(rows)):
        # All given targets are equal, and nothing says how others differ.
        out.mean, out.std = np.full(len(rows), centre), np.zeros(len(rows))
        return out
    target = np.asarray(y, np.int64) if classes else ((np.asarray(y, np.float64) - centre) / scale).astype(np.float32)

    runner = _Runner(checkpoint, where, n_classes if classes else 1)
    contexts = _contexts(x[support], target if classes else None, config.context_rows, seed)
    fit = _rows_that_fit(config, runner, len(contexts[0]), x.shape[1])
    signatures = _attribute_signatures(x)
    if len(rows) <= fit:
        distinct, back = np.arange(len(rows)), None
    else:
        distinct, back = _distinct_rows(x[rows])
    order = distinct[np.argsort(_row_hashes(x[rows[distinct]], signatures, seed), kind="stable")]
    n_chunks = -(-len(order) // fit)
    answers = np.empty((len(rows), runner.width), np.float32)
    done = 0
    for i in range(n_chunks):
        chunk = order[i * len(order) // n_chunks : (i + 1) * len(order) // n_chunks]
        used = [contexts[(i * config.contexts_per_chunk + j) % len(contexts)] for j in range(config.contexts_per_chunk)]
        used = used[: len(contexts)]
        parts = [runner.run(x[support[c]], target[c], x[rows[chunk]], config.least_chunk) for c in used]
        answers[chunk] = _average(parts, classes)
        done += len(chunk)
        if progress is not None:
            progress(done * len(rows) // len(order), len(rows))
    if back is not None:
        answers = answers[distinct[back]]
    if classes:
        out.proba = answers
    else:
        out.mean = answers[:, 0].astype(np.float64) * scale + centre
        out.std = np.sqrt(answers[:, 1].astype(np.float64)) * scale
    return out


class _Runner:
    """Passes of one checkpoint on one device; halves a pass that does not fit."""

    def __init__(self, checkpoint: Checkpoint, device: torch.device, n_classes: int) -> None:
        self.kind = checkpoint.kind
        self.config = checkpoint.model.config
        self.model = checkpoint.model.to(device)
        self.device = device
        self.n_classes = n_classes
        calibration = checkpoint.meta.get("calibration", {})
        self.temperature = float(calibration.get("temperature", 1.0))
        self.std_factor = float(calibration.get("std_factor", 1.0))
        self.width = n_classes if self.kind == "classification" else 2

    def run(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray, least: int) -> np.ndarray:
        """Answers (rows of ``chunk``, width) of one pass."""
        try:
            return self._pass(context, y, chunk)
        except (RuntimeError, MemoryError) as e:
            if not _out_of_memory(e):
                raise
        if len(chunk) <= least:
            raise ResourceError(
                f"{len(context)} labeled and {len(chunk)} unlabeled rows of {chunk.shape[1]} attributes do not fit "
                "in memory; leave out columns with --exclude, or use --device cpu on a machine with more"
            )
        half = len(chunk) // 2
        return np.concatenate([self.run(context, y, part, least) for part in (chunk[:half], chunk[half:])])

    def _pass(self, context: np.ndarray, y: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        import torch

        from vsacli.nn.model import ClassOutput

        with torch.inference_mode():
            output = self.model(self._batch(context, y, chunk))
            if isinstance(output, ClassOutput):
                return (output.log_probs[0] / self.temperature).softmax(-1).float().cpu().numpy()
            mean, var = output.mean[0, :, 0], output.var[0, :, 0] * self.std_factor**2
            return torch.stack([mean, var], 1).float().cpu().numpy()

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
        s in str(error).lower() for s in ("out of memory", "can't allocate memory", "cannot allocate memory")
    )


def _target_scale(y: np.ndarray) -> tuple[float, float]:
    """Mean and spread in float64: targets near 1e13 must not meet float32 before they are scaled."""
    y = np.asarray(y, np.float64)
    centre = float(y.mean())
    spread = float(y.std())
    return centre, 0.0 if spread <= 1e-12 * max(1e-300, float(np.abs(y).max())) else spread


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
    # The largest moment of a block holds about ten tensors of (N, S, H) float32, attention included.
    per_row = slots * max(runner.config.width, runner.config.heads * runner.config.head_width) * 4 * 10
    return int(np.clip(config.memory // per_row - n_context, config.least_chunk, config.chunk_rows))


def _contexts(x: np.ndarray, codes: np.ndarray | None, limit: int, seed: int) -> list[np.ndarray]:
    """Deal labeled rows into contexts of about ``limit``, every class in each of them.

    Rows are dealt in an order that depends on their contents and the seed. A class with fewer rows
    than there are contexts lends a row to several.
    """
    n = len(x)
    if n <= limit:
        return [np.arange(n)]
    order = np.argsort(_row_hashes(x, _attribute_signatures(x), seed), kind="stable")
    k = -(-n // limit)
    if codes is None:
        return [order[i::k] for i in range(k)]
    hands: list[list[np.ndarray]] = [[] for _ in range(k)]
    for c in np.unique(codes):
        own = order[codes[order] == c]
        for i in range(k):
            hands[i].append(own[i::k] if len(own) > i else own[i % len(own)][None])
    return [np.concatenate(h) for h in hands]


def _mix(h: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: a bijection of uint64 that scatters."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _bits(column: np.ndarray) -> np.ndarray:
    """float32 bits as uint64, one pattern for all zeros and one for all NaNs."""
    clean = np.where(np.isnan(column), np.float32(np.nan), column + np.float32(0))
    return np.ascontiguousarray(clean).view(np.uint32).astype(np.uint64)


def _attribute_signatures(x: np.ndarray) -> np.ndarray:
    """A number for each attribute that depends on its values, not on their order or its place, (M,)."""
    with np.errstate(over="ignore"):
        return np.array(
            [_mix(_bits(x[:, j]) + np.uint64(1)).sum(dtype=np.uint64) for j in range(x.shape[1])], np.uint64
        )


def _row_hashes(x: np.ndarray, signatures: np.ndarray, seed: int) -> np.ndarray:
    """A pseudo-random number for each row that does not depend on the order of attributes, uint64 (n,)."""
    h = np.zeros(len(x), np.uint64)
    with np.errstate(over="ignore"):
        start = _mix(np.array([seed + 0x9E3779B97F4A7C15 & (1 << 64) - 1], np.uint64))[0]
        for j, signature in enumerate(signatures):
            h += _mix(_bits(x[:, j]) ^ _mix(signature + start))
        return _mix(h)


def _distinct_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First of each group of identical rows, and for each row the position of its group in that list."""
    h = np.zeros(len(x), np.uint64)
    with np.errstate(over="ignore"):
        for j in range(x.shape[1]):
            h = _mix(h * np.uint64(31) + _bits(x[:, j]) + np.uint64(j + 1))
    _, first, back = np.unique(h, return_index=True, return_inverse=True)
    return first, back
