"""The meta-training loop (Algorithm 1 of the paper)."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from vsacli.checkpoints import save_checkpoint
from vsacli.errors import TrainingError
from vsacli.nn.model import VSAModel
from vsacli.tasks.episode import Episode, EpisodeBatch, collate
from vsacli.tasks.sampler import BatchSampler
from vsacli.training.config import TrainConfig
from vsacli.training.loss import episode_loss
from vsacli.training.optimizer import build_optimizers, rate_factor
from vsacli.training.state import load_optimizer_tensors, load_state, optimizer_tensors, save_state
from vsacli.training.validate import validate

Report = Callable[[dict[str, Any]], None]


class StepBatches(Dataset[EpisodeBatch]):
    """The batch of each step, made in worker processes; a function of the step number alone."""

    def __init__(self, sampler: BatchSampler) -> None:
        self.sampler = sampler

    def __getitem__(self, step: int) -> EpisodeBatch:
        return collate(self.sampler(step))


@dataclass
class Clock:
    """Time spent training, over all the pieces of a resumed run."""

    before: float = 0.0
    started: float = 0.0

    def start(self) -> None:
        """Begin (or go on) counting."""
        self.started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds."""
        return self.before + time.monotonic() - self.started


class Trainer:
    """One run of meta-training.

    Parameters
    ----------
    config : TrainConfig
    sampler : BatchSampler
        Training episodes by step.
    validation : dict of int to list of Episode
        Fixed validation episodes by number of labels; may be empty.
    folder : Path
        Where the run writes: ``state/`` to resume from, ``metrics.jsonl``, and the checkpoint
        (config.json, model.safetensors, README.md) of the best validation so far.
    device : torch.device
    report : callable, optional
        Called with a dict of figures after validations and now and then between.
    meta : dict, optional
        Facts to record in the checkpoint (data, command).
    """

    def __init__(
        self,
        config: TrainConfig,
        sampler: BatchSampler,
        validation: dict[int, list[Episode]],
        folder: Path,
        device: torch.device,
        report: Report | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.config = config
        self.sampler = sampler
        self.validation = {k: v for k, v in validation.items() if v}
        self.folder = folder
        self.device = device
        self.report = report or (lambda figures: None)
        self.meta = meta or {}
        torch.manual_seed(config.seed)
        self.model = VSAModel(config.model).to(device)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.optimizers = build_optimizers(self.model, config)
        self.forward = torch.compile(self.model, dynamic=True) if config.compile else self.model
        self.step = 0
        self.tasks_seen = 0
        self.best: float | None = None
        self.since_best = 0
        self.clock = Clock()
        self.stop_asked = False
        self.bad_steps = 0

    @property
    def precision(self) -> torch.dtype | None:
        """The autocast type, or None for plain float32."""
        return torch.bfloat16 if self.config.precision == "bfloat16" else None

    @property
    def progress(self) -> float:
        """Share of the run that is done, by steps or by time, whichever is further."""
        by_steps = 0.0 if self.config.steps is None else self.step / max(1, self.config.steps)
        by_time = 0.0 if self.config.max_time is None else self.clock.elapsed / max(1e-9, self.config.max_time)
        return min(1.0, max(by_steps, by_time))

    def resume(self) -> None:
        """Go on from the state saved in the run's folder.

        Raises
        ------
        TrainingError
            If there is none, or it belongs to another model.
        """
        tensors, meta = load_state(self.folder / "state")
        try:
            self.model.load_state_dict(tensors["model"])
            self.average.load_state_dict(tensors["average"])
            load_optimizer_tensors(self.optimizers, tensors["optimizer"])
        except (KeyError, RuntimeError, ValueError) as e:
            raise TrainingError(f"{self.folder}: the saved state is of another model ({e}); start a new run") from e
        self.step, self.tasks_seen = meta["step"], meta["tasks_seen"]
        self.best, self.since_best = meta["best"], meta["since_best"]
        self.clock.before = meta["elapsed"]

    def run(self) -> None:
        """Train until the end that the config names, or until asked to stop; saves at the end."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.clock.start()
        saved = validated = told = self.clock.elapsed
        tasks_told = self.tasks_seen
        waited, losses = 0.0, []
        batches = self._batches()
        self.model.train()
        while self.progress < 1 and not self.stop_asked:
            t0 = time.monotonic()
            batch = next(batches).to(self.device, non_blocking=True)
            waited += time.monotonic() - t0
            losses.append(self.train_step(batch))
            now = self.clock.elapsed
            if now - told > 10:
                loss = float(torch.stack(losses).mean())
                rate = (self.tasks_seen - tasks_told) / (now - told)
                self._tell(loss=loss, tasks_per_s=rate, waiting=waited / (now - told))
                if not math.isfinite(loss):
                    raise TrainingError(
                        f"the loss is not finite since about step {self.step}; the last good state is in "
                        f"{self.folder / 'state'}: resume with a lower --learning-rate"
                    )
                told, tasks_told, waited, losses = now, self.tasks_seen, 0.0, []
            if self.validation and now - validated > self.config.validate_every:
                self.validate_and_keep()
                validated = self.clock.elapsed
                if self.config.patience is not None and self.since_best >= self.config.patience:
                    break
            if now - saved > self.config.save_every:
                self.save()
                saved = self.clock.elapsed
        self.validate_and_keep()
        self.save()

    def train_step(self, batch: EpisodeBatch) -> torch.Tensor:
        """One update; returns the loss, still on the device."""
        factor = rate_factor(self.progress, self.config)
        for o in self.optimizers:
            for group in o.param_groups:
                group["lr"] = group["base_lr"] * factor
        with torch.autocast(self.device.type, self.precision or torch.bfloat16, enabled=self.precision is not None):
            output = self.forward(batch.tasks)
        loss = episode_loss(output, batch, self.config.mse_weight)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        # A step with a broken gradient changes nothing; decided on the device, without a sync.
        good = torch.isfinite(norm)
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad = torch.where(good, p.grad, torch.zeros_like(p.grad))
        for o in self.optimizers:
            o.step()
            o.zero_grad(set_to_none=True)
        self.step += 1
        self.tasks_seen += len(batch.answer)
        self._update_average()
        return loss.detach()

    @torch.no_grad()
    def _update_average(self) -> None:
        # Short memory at first, so that the start of training is soon forgotten.
        decay = min(self.config.average, self.step / (self.step + 10)) if self.config.average else 0.0
        for ours, theirs in zip(self.average.parameters(), self.model.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def validate_and_keep(self) -> dict[str, float]:
        """Validate the averaged weights; write the checkpoint if they are the best so far."""
        figures = validate(self.average, self.validation, self.device, self.precision) if self.validation else {}
        loss = figures.get("loss")
        better = loss is None or self.best is None or loss < self.best
        if better:
            self.best, self.since_best = loss, 0
            meta = {**self.meta, "steps": self.step, "tasks": self.tasks_seen, "seconds": round(self.clock.elapsed)}
            meta["validation"] = {k: round(v, 5) for k, v in figures.items()}
            save_checkpoint(self.folder, self.average, meta, card_text(self.config, meta))
        else:
            self.since_best += 1
        self._tell(**{f"valid_{k}": v for k, v in figures.items()}, best=float(better))
        return figures

    def save(self) -> None:
        """Write the state to resume from."""
        tensors = {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": optimizer_tensors(self.optimizers),
        }
        meta = {
            "config": self.config.to_dict(),
            "step": self.step,
            "tasks_seen": self.tasks_seen,
            "best": self.best,
            "since_best": self.since_best,
            "elapsed": self.clock.elapsed,
        }
        save_state(self.folder / "state", tensors, meta)

    def _tell(self, **figures: float) -> None:
        record = {"step": self.step, "tasks": self.tasks_seen, "seconds": round(self.clock.elapsed, 1), **figures}
        with (self.folder / "metrics.jsonl").open("a") as f:
            f.write(json.dumps(record) + "\n")
        self.report(record)

    def _batches(self) -> Iterator[EpisodeBatch]:
        end = self.config.steps if self.config.steps is not None else 1 << 40
        workers = self.config.workers
        loader = DataLoader(
            StepBatches(self.sampler),
            batch_size=None,
            sampler=range(self.step, end),
            num_workers=workers,
            prefetch_factor=4 if workers else None,
            pin_memory=self.device.type == "cuda",
            persistent_workers=False,
        )
        return iter(loader)


def card_text(config: TrainConfig, meta: dict[str, Any]) -> str:
    """The model card of a run."""
    rows = "\n".join(f"| {k} | {v} |" for k, v in meta.get("validation", {}).items())
    return (
        f"# VSA, {config.model.kind}\n\n"
        f"A variable-feature self-attention network of `vsacli`, meta-trained for {config.model.kind}.\n\n"
        f"- Data: {meta.get('data', 'see config.json')}\n"
        f"- Command: `{meta.get('command', 'see config.json')}`\n"
        f"- Training: {meta['steps']} steps, {meta['tasks']} tasks, {meta['seconds']} s"
        f" on {meta.get('device', 'an unrecorded device')}\n"
        f"- Configuration: config.json beside this file\n\n"
        "Validation (mean over families of the validation split, fixed episodes):\n\n"
        f"| figure | value |\n|---|---|\n{rows}\n"
    )
