"""How the time of a training step grows with rows, attributes and tasks, beside the theory's O(N²M + NM²).

    python benchmarks/growth.py --preset paper --plot growth.png
    python benchmarks/growth.py --device cuda --precision bfloat16

Each size is measured alone (forward and backward of one batch without padding). Per task, the projections and networks
over the third mode cost N S, attention along examples N² S and along attributes and labels N S², where S = M + C. The
coefficients of these three and of a constant are fitted to all measurements, none below zero, with relative errors
weighing the same.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import nnls

from vsacli.nn.config import preset
from vsacli.nn.model import VSAModel
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode
from vsacli.training.batches import Part
from vsacli.training.loss import episode_loss

CLASSES = 2
ROWS = (25, 50, 100, 200, 400, 800)
ATTRIBUTES = (2, 8, 16, 32, 64, 128)
TASKS = (1, 2, 4, 8, 16)
USUAL = {"N": 100, "M": 10, "B": 4}
Size = dict[str, int]


def make(size: Size, device: torch.device) -> Part:
    """A batch of B tasks of N rows, a fifth of them labeled, and M attributes."""
    rng = np.random.default_rng(0)
    n, labeled = size["N"], max(4, size["N"] // 5)
    episodes = [
        Episode(
            rng.normal(0, 1, (n, size["M"])).astype(np.float32),
            labeled,
            np.arange(n) % CLASSES,
            "classification",
            CLASSES,
            np.ones(n - labeled, bool),
        )
        for _ in range(size["B"])
    ]
    return Part(collate(episodes), ["task"] * size["B"]).to(device)


def seconds_of(model: VSAModel, part: Part, device: torch.device, bf16: bool, clock: Callable[[], float]) -> float:
    """The least of several steps, after one to warm up."""
    best, spent, rounds = float("inf"), 0.0, 0
    while rounds < 3 or (spent < 0.4 and rounds < 30):
        start = clock()
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            output = model(part.batch.tasks)
        episode_loss(output, part.batch, 0).backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        took = clock() - start
        if rounds:
            best = min(best, took)
        spent, rounds = spent + took, rounds + 1
        for p in model.parameters():
            p.grad = None
    return best


def terms(size: Size) -> list[float]:
    n, s, b = size["N"], size["M"] + CLASSES, size["B"]
    return [1.0, b * n * s, b * n * n * s, b * n * s * s]


def main() -> None:
    """Print measured and fitted times, and the local exponent of each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--cpu-time", action="store_true", help="this process's own time: for a machine that is busy")
    parser.add_argument("--plot", help="write a PNG here (needs matplotlib)")
    args = parser.parse_args()
    device = torch.device(args.device)
    clock = time.process_time if args.cpu_time else time.perf_counter
    model = VSAModel(preset(args.preset)).to(device)

    measured: list[tuple[str, Size, float]] = []
    for letter, values in (("N", ROWS), ("M", ATTRIBUTES), ("B", TASKS)):
        for value in values:
            size = {**USUAL, letter: value}
            part = make(size, device)
            measured.append((letter, size, seconds_of(model, part, device, args.precision == "bfloat16", clock)))
    times = np.array([t for _, _, t in measured])
    design = np.array([terms(size) for _, size, _ in measured])
    fitted, _ = nnls(design / times[:, None], np.ones(len(times)))
    predicted = design @ fitted

    print(f"{args.preset}, {args.precision} on {args.device}, {torch.get_num_threads()} threads; else {USUAL}")
    print(f"{'':>8s}{'ms':>10s}{'fitted':>10s}{'exponent':>10s}")
    before: tuple[str, int, float] | None = None
    for (letter, size, took), guess in zip(measured, predicted, strict=True):
        slope = ""
        if before is not None and before[0] == letter:
            slope = f"{np.log(took / before[2]) / np.log(size[letter] / before[1]):10.2f}"
        print(f"{letter:>3s}{size[letter]:5d}{took * 1e3:10.2f}{guess * 1e3:10.2f}{slope}")
        before = (letter, size[letter], took)
    constant, linear, rows, slots = fitted
    print(
        f"fit: {constant * 1e3:.2f} ms + B N S ({linear * 1e9:.0f} + {rows * 1e9:.2f} N + {slots * 1e9:.2f} S) ns, "
        f"S = M + {CLASSES}; mean error {np.mean(np.abs(predicted / times - 1)):.0%}"
    )
    if rows > 0 and slots > 0:
        print(f"attention costs as much as all else at N = {linear / rows:.0f} rows, or S = {linear / slots:.0f} slots")
    if args.plot:
        plot(args.plot, measured, predicted)


def plot(path: str, measured: list[tuple[str, Size, float]], predicted: np.ndarray) -> None:
    """Measured points and the fit, one panel a size, both axes logarithmic."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: matplotlib is not installed")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    names = {"N": "rows N", "M": "attributes M", "B": "tasks B"}
    for axes, (letter, name) in zip(figure.subplots(1, 3, sharey=True), names.items(), strict=True):
        at = [i for i, m in enumerate(measured) if m[0] == letter]
        x = [measured[i][1][letter] for i in at]
        axes.loglog(x, [measured[i][2] * 1e3 for i in at], "o", label="measured")
        axes.loglog(x, [predicted[i] * 1e3 for i in at], "-", label="fit of 1, NS, N²S, NS²")
        axes.set(xlabel=name)
        axes.grid(alpha=0.3)
    figure.axes[0].set(ylabel="ms a step")
    figure.axes[0].legend(frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
