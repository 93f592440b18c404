"""Tasks a second that the random prior generates, on one thread or on a GPU.

    python benchmarks/prior_rate.py [--device cuda] [--seconds 2]

Goal: at least 400 classification tasks a second on one CPU core at N = 60 rows, M = 8 attributes, C = 3 classes. Prints
one line a size, and the share of time that each family takes at that size.
"""

from __future__ import annotations

import argparse
import time

import torch

from vsacli.tasks.synthetic.prior import FAMILIES, sample_prior

SIZES = ((60, 8, 3), (100, 16, 5), (200, 20, 5), (200, 60, 2), (500, 10, 3))


def rate(n_tasks: int, n: int, m: int, c: int, device: str, seconds: float, kind, families=None) -> float:
    """Tasks a second over about `seconds`, after one warm-up batch.

    On a CPU it is seconds of this process's own time, so that other work on the machine does not count.
    """
    clock = time.process_time if device == "cpu" else time.perf_counter
    generator = torch.Generator(device).manual_seed(0)
    done, start = -n_tasks, 0.0
    while done <= 0 or clock() - start < seconds:
        if done == 0:
            start = clock()
        sample_prior(n_tasks, n, m, kind=kind, n_classes=c, generator=generator, families=families).x.sum().item()
        done += n_tasks
    return done / (clock() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=64, help="tasks a call")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for n, m, c in SIZES:
        for kind in ("classification", "regression"):
            speed = rate(args.batch, n, m, c, args.device, args.seconds, kind)
            print(f"N={n:4d} M={m:3d} C={c if kind == 'classification' else 1:2d} {kind:14s} {speed:9.0f} tasks/s")
    n, m, c = SIZES[0]
    for family in FAMILIES:
        speed = rate(args.batch, n, m, c, args.device, args.seconds / 2, "classification", {family: 1.0})
        print(f"N={n:4d} M={m:3d} C={c:2d} only {family:9s} {speed:9.0f} tasks/s")


if __name__ == "__main__":
    main()
