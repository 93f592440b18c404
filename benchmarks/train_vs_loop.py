"""Training against a plain loop over tasks, and against the machine's matrix products.

    python benchmarks/train_vs_loop.py --data DIR            # real tables; without --data: the random prior
    python benchmarks/train_vs_loop.py --preset default --device cuda --variants float32,bfloat16,bfloat16+compile

The loop is the same network with the same weights, written with einsum for one task at a time, as one would from the
paper's equations; both do the same updates (forward, backward, Adam) on the same episodes, in turn, so that other work
on the machine meets both. Goals: 4 times the loop's tasks a second on two cores at the paper's configuration, and 35%
of the rate of a large matrix product. Batches are made beforehand, and computed in parts of similar tasks as training
does; "one part" pads all tasks of a batch to common sizes instead.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from vsacli.nn.batch import TaskBatch
from vsacli.nn.block import Block
from vsacli.nn.config import preset
from vsacli.nn.inputs import input_tensor
from vsacli.nn.model import ClassOutput, VSAModel
from vsacli.tasks.collate import EpisodeBatch, collate
from vsacli.tasks.episode import Episode
from vsacli.tasks.plain import PlainSampler
from vsacli.tasks.prior_source import random_tasks
from vsacli.tasks.store import TableStore
from vsacli.training.batches import OVERHEAD, OVERHEAD_OF_ACCELERATORS, Part, group_by_size
from vsacli.training.config import paper_settings
from vsacli.training.loss import episode_loss


def loop_attention(block: Block, z: Tensor) -> Tensor:
    """Equations 1-4 for one task: z (N, S, D), attention along the block's axis."""
    m = block.attention
    if block.axis == 2:
        z = z.transpose(0, 1)
    q, k, v = (
        torch.einsum("nsd,rhd->rnsh", z, w.weight.view(m.heads, m.head_width, -1)) for w in (m.query, m.key, m.value)
    )
    scores = torch.einsum("rish,rjsh->rij", q, k) / math.sqrt(z.shape[1] * m.head_width)
    o = torch.einsum("rij,rjsh->irsh", scores.softmax(-1), v)
    o = torch.einsum("nrsh,wrh->nsw", o, m.out.weight.view(-1, m.heads, m.head_width))
    return o.transpose(0, 1) if block.axis == 2 else o


def loop_log_probs(model: VSAModel, batch: EpisodeBatch) -> Tensor:
    """The network for a batch of one task without padding, classification with prototypes."""
    tasks: TaskBatch = batch.tasks
    z = model.embed_in(input_tensor(tasks, model.config))[0]
    for block in model.blocks:
        assert isinstance(block, Block)
        if block.prenorm:
            z = z + loop_attention(block, block.norm_in(z))
            z = z + block.ff(block.norm(z))
        else:
            out = block.ff(block.norm(loop_attention(block, z)))
            z = out if block.residual is None else block.residual(z) + out
    z = model.norm_out(z)
    m, n = tasks.x.shape[2], tasks.n_labeled
    e = model.to_channels(z[:, :m]).flatten(1)
    one_hot = F.one_hot(tasks.y[0], tasks.class_mask.shape[1]).to(e.dtype)
    prototypes = torch.einsum("nc,ne->ce", one_hot, e[:n]) / one_hot.sum(0)[:, None]
    logits = -(e[n:, None] - prototypes[None]).square().sum(-1)
    scale = getattr(model.head, "log_scale", None)
    if scale is not None:
        logits = logits * scale.exp() / m
    if model.readout is not None:
        logits = logits + model.readout(z[n:, m:]).squeeze(-1)
    return logits.log_softmax(-1)


def loop_loss(model: VSAModel, singles: list[EpisodeBatch]) -> Tensor:
    losses = []
    for b in singles:
        log_probs = loop_log_probs(model, b)
        picked = -log_probs.gather(1, b.answer[0].unsqueeze(-1)).squeeze(-1)
        losses.append((picked * b.scored[0]).sum() / b.scored[0].sum())
    return torch.stack(losses).mean()


def matmul_rate(device: torch.device, dtype: torch.dtype, clock: Callable[[], float], seconds: float = 1.5) -> float:
    """FLOP a second of a product of two 2048 x 2048 matrices (8192 on a GPU): the best of several."""
    n = 2048 if device.type == "cpu" else 8192
    a = torch.randn(n, n, device=device, dtype=dtype)
    best, end = math.inf, clock() + seconds
    while clock() < end:
        start = clock()
        torch.mm(a, a)
        _wait(device)
        best = min(best, clock() - start)
    return 2 * n**3 / best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def batch_loss(
    forward: Callable[..., ClassOutput], parts: list[Part], device: torch.device, precision: torch.dtype | None
) -> Tensor:
    """The mean loss over the tasks of a batch; each part's gradients are added where gradients are on."""
    tasks, total = sum(map(len, parts)), torch.zeros((), device=device)
    for part in parts:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision is not None):
            output = forward(part.batch.tasks)
        loss = episode_loss(output, part.batch, 0) * (len(part) / tasks)
        if torch.is_grad_enabled():
            loss.backward()
        total = total + loss.detach()
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="a folder of tables, or an .npz of encoded ones")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--variants", default="float32,bfloat16")
    parser.add_argument("--shots", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true", help="this process's own time: for a machine that is busy")
    parser.add_argument("--max-attributes", type=int, default=100, help="leave wider tables out, to bound the time")
    args = parser.parse_args()
    device = torch.device(args.device)
    torch.set_float32_matmul_precision("highest")
    clock = time.process_time if args.cpu_time else time.perf_counter

    store = TableStore([])
    if args.data:
        from vsacli.evaluation.suites import cache_folder
        from vsacli.tasks.folder import cached_folder

        path = Path(args.data)
        store = TableStore.load(path) if path.is_file() else cached_folder(path, cache_folder())
        store = store.select(split="train", kind="classification")
        store = TableStore([t for t in store if t.x.shape[1] <= args.max_attributes])
    episodes = replace(paper_settings()["episodes"], shots=(args.shots, args.shots), tasks=(args.batch, args.batch))
    sampler = PlainSampler("classification", store, episodes, 0, None if len(store) else random_tasks)
    drawn: list[list[Episode]] = [sampler(i) for i in range(args.batches)]
    overhead = OVERHEAD.get(device.type, OVERHEAD_OF_ACCELERATORS)
    groups = [[[b[i] for i in g] for g in group_by_size(b, overhead)] for b in drawn]
    batches = [[Part(collate(g), [e.name for e in g]).to(device) for g in b] for b in groups]
    whole = [[Part(collate(b), [e.name for e in b]).to(device)] for b in drawn]
    singles = [[collate([e]).to(device) for e in b] for b in drawn]
    cells = sum(e.x.shape[0] * (e.x.shape[1] + e.n_classes) for b in drawn for e in b)
    padded, padded_whole = (sum(p.cells * len(p) for b in way for p in b) for way in (batches, whole))
    tasks = sum(len(b) for b in drawn)
    print(
        f"{tasks} tasks in batches of {args.batch} from {f'{len(store)} tables' if len(store) else 'the prior'}, "
        f"{cells / tasks:.0f} cells per task (rows x slots), "
        f"{sum(map(len, batches)) / len(batches):.1f} parts per batch, "
        f"padding {1 - cells / padded:.0%} (one part: {1 - cells / padded_whole:.0%}), "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}"
    )

    torch.manual_seed(0)
    model = VSAModel(preset(args.preset)).to(device)
    with torch.no_grad():
        difference = max(
            abs(float(batch_loss(model, b, device, None)) - float(loop_loss(model, ones)))
            for b, ones in zip(batches, singles, strict=True)
        )
    assert difference < 1e-4, f"the loop is another network: {difference}"
    with FlopCounterMode(display=False) as counter:
        for ones in singles:  # one by one: padding costs nothing
            for single in ones:
                episode_loss(model(single.tasks), single, 0).backward()
    flops = counter.get_total_flops()  # multiplications and additions of matrix products, forward and backward

    spent: dict[str, float] = {}
    runs: dict[str, list[Callable[[], None]]] = {}
    adam = torch.optim.Adam(model.parameters(), 1e-6)

    def update_loop(ones: list[EpisodeBatch]) -> None:
        loop_loss(model, ones).backward()
        adam.step()
        adam.zero_grad(set_to_none=True)

    runs["loop"] = [partial(update_loop, s) for s in singles]
    for variant in args.variants.split(","):
        precision = torch.bfloat16 if variant.startswith("bfloat16") else None
        forward = torch.compile(model, dynamic=True) if variant.endswith("+compile") else model

        def update(b: list[Part], forward=forward, precision=precision) -> None:
            batch_loss(forward, b, device, precision)
            adam.step()
            adam.zero_grad(set_to_none=True)

        runs[variant] = [partial(update, b) for b in batches]
        if variant == "float32":
            runs["float32, one part"] = [partial(update, b) for b in whole]
    peaks: dict[str, float] = {}
    for name, updates in runs.items():  # warm up
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for run in updates if "compile" in name else updates[:2]:
            run()
        _wait(device)
        if device.type == "cuda":
            peaks[name] = torch.cuda.max_memory_allocated() / 2**30
    for _ in range(args.rounds):
        for name, updates in runs.items():
            start = clock()
            for run in updates:
                run()
            _wait(device)
            spent[name] = min(spent.get(name, math.inf), clock() - start)
    rates = {
        torch.float32: matmul_rate(device, torch.float32, clock),
        torch.bfloat16: matmul_rate(device, torch.bfloat16, clock),
    }

    print(f"{args.preset} on {args.device}; losses of loop and batch differ by {difference:.0e}")
    print(f"{'':20s}{'tasks/s':>10s}{'x loop':>8s}{'GFLOP/s':>10s}{'of mm':>8s}{'peak GiB':>10s}")
    for name, seconds in spent.items():
        mm = rates[torch.bfloat16 if name.startswith("bfloat16") else torch.float32]
        share = "" if name == "loop" else f"{flops / seconds / 1e9:10.1f}{flops / seconds / mm:8.0%}"
        peak = f"{peaks[name]:10.2f}" if name in peaks else ""
        print(f"{name:20s}{tasks / seconds:10.1f}{spent['loop'] / seconds:8.2f}{share}{peak}")
    print(
        f"matrix products: float32 {rates[torch.float32] / 1e9:.0f}, bfloat16 {rates[torch.bfloat16] / 1e9:.0f} GFLOP/s"
    )


if __name__ == "__main__":
    main()
