"""Training steps per second: precision, compilation and batch size side by side, on any device.

    python benchmarks/train_step.py --device cuda --cells 100000,400000
    python benchmarks/train_step.py --device cpu --cells 8000 --seconds 5

Batches are synthetic, made beforehand, so that the figures are of the network and its update
alone; the last line says how fast the batches themselves were made on one core.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import torch

from vsacli.methods.registry import build_network
from vsacli.nn.config import preset
from vsacli.tasks.collate import EpisodeBatch, collate
from vsacli.tasks.prior_source import random_tasks
from vsacli.tasks.sampler import BatchSampler, EpisodeConfig
from vsacli.tasks.store import TableStore
from vsacli.training.config import TrainConfig
from vsacli.training.loss import episode_loss
from vsacli.training.optimizer import build_optimizers


def batches(cells: int, count: int, kind: str) -> tuple[list[EpisodeBatch], float]:
    """Synthetic batches and the tasks per second at which they were made."""
    sampler = BatchSampler(kind, TableStore([]), EpisodeConfig(cells=cells), 0, random_tasks)  # type: ignore[arg-type]
    start = time.perf_counter()
    made = [collate(sampler(i)) for i in range(count)]
    return made, sum(len(b.answer) for b in made) / (time.perf_counter() - start)


def measure(config: TrainConfig, data: list[EpisodeBatch], device: torch.device, seconds: float) -> dict[str, float]:
    """Tasks and steps per second of full updates, after a warm-up over every batch."""
    torch.manual_seed(0)
    model = build_network(config.model).to(device)
    optimizers = build_optimizers(model, config)
    forward = torch.compile(model, dynamic=True) if config.compile else model
    amp = config.precision == "bfloat16"

    def update(batch: EpisodeBatch) -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=amp):
            output = forward(batch.tasks)
        episode_loss(output, batch, config.mse_weight).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for o in optimizers:
            o.step()
            o.zero_grad()

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    start = time.perf_counter()
    on_device = [b.to(device) for b in data]
    for b in on_device:
        update(b)
    wait()
    warm = time.perf_counter() - start
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start, tasks, steps = time.perf_counter(), 0, 0
    while time.perf_counter() - start < seconds:
        for b in on_device:
            update(b)
            tasks += len(b.answer)
            steps += 1
        wait()
    spent = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    return {"tasks/s": tasks / spent, "steps/s": steps / spent, "warm-up s": warm, "peak GiB": peak}


def main() -> None:
    """Print one row a variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cells", default="8000", help="comma-separated batch sizes in cells")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--kind", default="classification")
    parser.add_argument("--variants", default="float32,bfloat16,bfloat16+compile")
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    device = torch.device(args.device)
    made_rate = 0.0
    for cells in (int(c) for c in args.cells.split(",")):
        data, made_rate = batches(cells, args.batches, args.kind)
        for variant in args.variants.split(","):
            base = TrainConfig(model=preset(args.preset, args.kind), steps=1)
            config = replace(base, precision=variant.split("+")[0], compile=variant.endswith("+compile"))
            figures = measure(config, data, device, args.seconds)
            row = "  ".join(f"{k} {v:10.2f}" for k, v in figures.items())
            print(f"{args.device} {args.preset} cells {cells:8d} {variant:18s} {row}", flush=True)
    print(f"batches made on one core: {made_rate:.0f} tasks/s")


if __name__ == "__main__":
    main()
