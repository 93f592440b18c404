"""What bfloat16 would save of the time of answers, and what it would change of them.

    python benchmarks/bfloat16.py --suite DIR [--kind regression] [--tables 20] [--most 400] [--rows 10000]

Validation tables are answered with 5 labels a class (or 30 numbers), other rows unlabeled: in float32, with the
weights and tensors of all blocks in bfloat16 (heads stay in float32), and under PyTorch's autocast, one way after the
other for each table. Last, a table of so many rows, whose passes are the largest. Seconds are those of the processor,
of `predict` alone, without the start of the command.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from student import labeled

from vsacli.checkpoints.folder import Checkpoint
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.evaluation.suites import load_suite
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict
from vsacli.kinds import TaskKind
from vsacli.nn import model as vsa
from vsacli.tasks.draw import draw_balanced, draw_rows

SHOTS, NUMBERS = 5, 30
CPU = InferenceConfig(device="cpu", student_from=None)


def in_bfloat16(checkpoint: Checkpoint) -> Checkpoint:
    """The same with embedding, blocks and last norm in bfloat16."""
    model: Any = copy.deepcopy(checkpoint.model)
    for part in (model.embed_in, model.blocks, model.norm_out):
        part.bfloat16()
    model.embed_in.register_forward_pre_hook(lambda _, given: (given[0].bfloat16(),))
    model.norm_out.register_forward_hook(lambda _, given, found: found.float())
    return replace(checkpoint, model=model)


@contextmanager
def slices_in_float32() -> Iterator[None]:
    """What blocks give slice by slice, in float32 again."""
    own = vsa.hidden_in_slices
    vsa.hidden_in_slices = lambda *given: own(*given).float()
    try:
        yield
    finally:
        vsa.hidden_in_slices = own


def drawn(
    kind: TaskKind, suite: str, tables: int, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Attributes (n, M), given rows (n,), their labels, and the number of classes (0: numbers)."""
    rng = np.random.default_rng(0)
    usable = [t for t in load_suite(suite, kind=kind, split="valid") if t.kind == kind and t.x.shape[1] <= 100]
    for table in sorted(usable, key=lambda t: t.name)[:: max(1, len(usable) // tables)][:tables]:
        y, known = table.y, table.labeled
        if kind == "classification":
            rows, n_classes = draw_balanced(rng, y, SHOTS, most), len(np.unique(y[known]))
        else:
            rows, n_classes = draw_rows(rng, known, NUMBERS, most), 0
        if rows is None:
            continue
        order = np.concatenate([rows[0], rows[1][:most]])
        own = np.unique(y[order], return_inverse=True)[1] if n_classes else y[order].astype(np.float64)
        yield table.x[order], np.arange(len(order)) < len(rows[0]), own, n_classes


def compare(checkpoint: Checkpoint, tables: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]) -> None:
    """Print the seconds of each way, and how far its answers are from those in float32."""
    low = in_bfloat16(checkpoint)
    ways: dict[str, tuple[Checkpoint, Callable[[], Any]]] = {
        "float32": (checkpoint, nullcontext),
        "bfloat16": (low, slices_in_float32),
        "autocast": (checkpoint, lambda: torch.autocast("cpu", torch.bfloat16)),
    }
    seconds, found = dict.fromkeys(ways, 0.0), {way: list[np.ndarray]() for way in ways}
    truths = []
    for x, given, y, n_classes in tables:
        truths.append(y[~given])
        for way, (network, within) in ways.items():
            start = time.process_time()
            with within():
                answers = predict(network, x, given, y[given], n_classes, config=CPU)
            seconds[way] += time.process_time() - start
            scale = y[given].std() if not n_classes else 1.0
            found[way].append(answers.probabilities if n_classes else answers.numbers[0] / scale)
            if not n_classes and way == "float32":
                truths[-1] = truths[-1] / scale
    print(f"{len(truths)} tables, {sum(map(len, truths)):,} rows to answer")
    for way, parts in found.items():
        line = f"  {way:<9} {seconds[way]:7.1f} s   {seconds['float32'] / seconds[way]:5.2f} times as fast"
        pairs = list(zip(parts, found["float32"], truths, strict=True))
        if parts[0].ndim == 2:
            right = np.mean([(own.argmax(1) == truth).mean() for own, _, truth in pairs])
            other = np.concatenate([own.argmax(1) != first.argmax(1) for own, first, _ in pairs]).mean()
            most = max(float(np.abs(own - first).max()) for own, first, _ in pairs)
            middle = np.median(np.concatenate([np.abs(own - first).max(1) for own, first, _ in pairs]))
            line += f"   accuracy {right:.4f}, another class {other:.2%}, "
            line += f"probability apart by {most:.3f} at most, {middle:.4f} (median)"
        else:
            error = np.mean([((own - truth) ** 2).mean() for own, _, truth in pairs])
            apart = np.sqrt(np.mean(np.concatenate([(own - first) ** 2 for own, first, _ in pairs])))
            line += f"   squared error {error:.4f}, {apart:.4f} of the labels' spread apart"
        print(line, flush=True)


def main() -> None:
    """Compare on validation tables, then on a large one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--kind", choices=("classification", "regression"), default="classification")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--most", type=int, default=400, help="unlabeled rows of a table")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    torch.set_num_threads(1)
    checkpoint = load_checkpoint(args.checkpoint, kind=args.kind)
    compare(checkpoint, drawn(args.kind, args.suite, args.tables, args.most))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, args.rows)
    x = (y[:, None] * rng.normal(0.8, 0.2, 20) + rng.normal(size=(args.rows, 20))).astype(np.float32)
    n_classes = 3 if args.kind == "classification" else 0
    own = y if n_classes else x @ rng.normal(size=20)
    compare(checkpoint, iter([(x, labeled(own, n_classes), own, n_classes)]))


if __name__ == "__main__":
    main()
