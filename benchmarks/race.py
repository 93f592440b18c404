"""Which recipe learns most: short runs from random weights, each with its own full schedule.

    python benchmarks/race.py --data CORPUS --minutes 6 [--seeds 0,1] base cells=8000 muon_rate=0.02,weight_decay=0.03
    python benchmarks/race.py --data CORPUS --tasks 1000 --seeds 0,1,2 base average=0.99

An entry names fields to set otherwise than in the recipe of the bundled network for classes: of the network
(VSAConfig), the episodes (EpisodeConfig) or the run (TrainConfig). Runs end after so many minutes of the processor, of
the process that trains alone, or after so many tasks, if what is compared costs the same: other work on a machine slows
a process down in processor time as well. Prints for each entry its tasks and minutes, the mean loss and accuracy of its
averaged weights on families of validation tables (the paper's setting and all other rows unlabeled, in equal parts),
and the minutes until the loss was first below each of ``--losses``. Validation does not count. With several seeds, the
mean follows with its standard error, and the difference from the first entry, seed by seed, with its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from processor_clock import ProcessorClock

from vsacli.nn.config import VSAConfig
from vsacli.tasks.cache import cache_folder
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import EpisodeConfig
from vsacli.training.config import TrainConfig
from vsacli.training.distributed import Group
from vsacli.training.loop import Trainer
from vsacli.training.recipe import make_config
from vsacli.training.sources import Collection, SourceSpec, collect
from vsacli.training.validate import ValidationPlan, validation_episodes

NETWORK: tuple[str, ...] = (
    "layers=4",
    "width=48",
    "heads=4",
    "head_width=12",
    "ff_width=96",
    "channels=4",
    "structure=true",
    "class_space=true",
)
VALIDATION = ValidationPlan(shots=(1, 5), repeats=1, pool_rows=300, pool_read=100, max_attributes=40)
EPISODES = {"cells": 10_000, "shots": (1, 14), "unlabeled": (5, 70), "attributes": (3, 96)}


class Racer(Trainer):
    """A trainer whose clock is the processor's, and does not count validation; it can end after so many tasks."""

    tasks: int | None = None

    def progress(self, elapsed: float) -> float:
        """Share of the tasks that have been learned from, or of the time."""
        return super().progress(elapsed) if self.tasks is None else min(1.0, self.tasks_seen / self.tasks)

    def _calibrate(self) -> None:
        """Nothing: the checkpoint is not used."""

    def validate_and_keep(self, required: bool = False) -> dict[str, float]:
        """As Trainer does; the clock stands still meanwhile."""
        at = self.clock.elapsed
        figures = super().validate_and_keep(required)
        self.clock.before = at
        self.clock.start()
        return figures


def config_of(entry: str, minutes: float, seed: int, validations: int) -> TrainConfig:
    """The bundled recipe with the changes that an entry names."""
    network, episodes, run = list(NETWORK), dict[str, Any](EPISODES), dict[str, Any]()
    for change in [] if entry == "base" else entry.split(","):
        name, _, value = change.partition("=")
        if name in {f.name for f in fields(VSAConfig)}:
            network.append(change)
        elif name in {f.name for f in fields(EpisodeConfig)}:
            episodes[name] = tuple(map(int, value.split("-"))) if "-" in value else json.loads(value)
        elif name in {f.name for f in fields(TrainConfig)}:
            run[name] = value if value[0].isalpha() else json.loads(value)
        else:
            raise SystemExit(f"{change}: no field of the network, the episodes or the run has this name")
    seconds = 60 * minutes
    limits = {"max_time": seconds, "validate_every": seconds / validations, "save_every": 1e9, "seed": seed}
    precision = {"precision": run.pop("precision", "bfloat16")}
    config = make_config("classification", "default", model=network, episodes={}, training=run | limits | precision)
    return replace(config, episodes=replace(config.episodes, **episodes))


def race(
    config: TrainConfig, tasks: int | None, collection: Collection, validation: dict[int, list[Episode]]
) -> list[dict[str, float]]:
    """Run an entry; its validations: seconds, tasks, loss, accuracy."""
    found: list[dict[str, float]] = []

    def report(record: dict[str, Any]) -> None:
        if "valid_loss" in record:
            found.append({k: record[k] for k in ("seconds", "tasks", "valid_loss", "valid_accuracy")})

    sampler = collection.sampler("classification", config.episodes, config.seed, config.plain)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Racer(config, sampler, validation, Path(folder), torch.device("cpu"), report, group=Group())
        trainer.clock, trainer.tasks = ProcessorClock(), tasks
        trainer.run()
    return found


def summary(name: str, ends: np.ndarray) -> str:
    """Means of losses and accuracies (seeds, 2) with their standard errors, as a row."""
    (loss, accuracy), (e, f) = ends.mean(0), ends.std(0, ddof=1) / np.sqrt(len(ends))
    return f"{'':44} {name:20} {loss:7.4f} ± {e:.4f}   {accuracy:7.4f} ± {f:.4f}"


def main() -> None:
    """Print a row for each entry and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("entries", nargs="+")
    parser.add_argument("--data", required=True)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--tasks", type=int, help="end after so many tasks, not after --minutes")
    parser.add_argument("--validations", type=int, default=3)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--losses", default="0.95,0.90,0.85")
    args = parser.parse_args()
    collection = collect(
        SourceSpec(folders=(args.data,), synthetic=("prior",)), "classification", cache=cache_folder(), plain=False
    )
    validation = validation_episodes(
        collection.tables.select(kind="classification", split="valid"), "classification", VALIDATION
    )
    limits = [float(v) for v in args.losses.split(",")]
    print(f"{'entry':44} seed   tasks minutes   loss accuracy   minutes until loss {args.losses}", flush=True)
    first: list[tuple[float, float]] | None = None
    for entry in args.entries:
        ends: list[tuple[float, float]] = []
        for seed in map(int, args.seeds.split(",")):
            minutes = args.minutes if args.tasks is None else 1e6
            found = race(config_of(entry, minutes, seed, args.validations), args.tasks, collection, validation)
            until = [next((f"{f['seconds'] / 60:.1f}" for f in found if f["valid_loss"] < v), "-") for v in limits]
            last = found[-1]
            ends.append((last["valid_loss"], last["valid_accuracy"]))
            size = f"{last['tasks']:7,} {last['seconds'] / 60:7.1f}"
            end = f"{last['valid_loss']:.4f}   {last['valid_accuracy']:.4f}   {' '.join(until)}"
            print(f"{entry:44} {seed:4} {size} {end}", flush=True)
        if len(ends) > 1:
            print(summary("mean", np.array(ends)), flush=True)
            if first is not None:
                print(summary("against the first", np.array(ends) - first), flush=True)
        first = ends if first is None else first


if __name__ == "__main__":
    main()
