"""The meta-training loop (Algorithm 1 of the paper)."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.errors import ResourceError, TrainingError
from vsacli.methods.registry import build_network
from vsacli.nn.network import Network
from vsacli.support.malloc_trim import give_back_free_memory
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import BatchSampler
from vsacli.training.batches import OVERHEAD, OVERHEAD_OF_ACCELERATORS, StepBatches, batches_from
from vsacli.training.calibrate import calibrate
from vsacli.training.card import card_text
from vsacli.training.config import TrainConfig
from vsacli.training.distributed import Group
from vsacli.training.folder import MetricsLog, keep_checkpoint
from vsacli.training.initial import start_from
from vsacli.training.optimizer import build_optimizers, rate_factor
from vsacli.training.state import check_meta, load_optimizer_tensors, load_state, optimizer_tensors, save_state
from vsacli.training.timing import Clock, Every, Interval
from vsacli.training.update import Updater
from vsacli.training.validate import Stopped, validate

Report = Callable[[dict[str, Any]], None]
Outcome = Literal["done", "no better", "stopped"]

TRIM_EVERY = 30.0  # seconds between two clearances of the heap, which cost a few hundredths of one


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
        Called with a dict of figures after validations and now and then between; ``note`` in it is
        an incident in words.
    meta : dict, optional
        Facts to record in the checkpoint (data, command).
    group : Group, optional
        The processes that train together; each has a Trainer with the same arguments.
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
        group: Group | None = None,
    ) -> None:
        self.config = config
        self.group = group or Group()
        overhead = OVERHEAD.get(device.type, OVERHEAD_OF_ACCELERATORS)
        self.batches = StepBatches(sampler, self.group.world, self.group.rank, config.join, overhead)
        self.validation = {k: v for k, v in validation.items() if v}
        self.folder = folder
        self.device = device
        self.report = report or (lambda figures: None)
        self.meta = meta or {}
        self.metrics = MetricsLog(folder / "metrics.jsonl")
        torch.manual_seed(config.seed)
        self.model = build_network(config.model)
        if config.init is not None:
            start_from(self.model, config.init)
        self.model = self.model.to(device)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.optimizers = build_optimizers(self.model, config)
        forward: nn.Module = torch.compile(self.model, dynamic=True) if config.compile else self.model  # type: ignore[assignment]
        forward = self.group.wrap(forward, device)
        self.update = Updater(config, self.model, forward, self.optimizers, device, self.group.world == 1, self._note)
        self.step = 0
        self.tasks_seen = 0
        self.best: float | None = None
        self.since_best = 0
        self.saved_step = -1
        self.validated_step = -1
        self.clock = Clock()
        self.stop_asked = False
        self._kept: tuple[Network[Any], dict[str, Any]] | None = None  # what the checkpoint in the folder holds

    def ask_to_stop(self) -> None:
        """Finish the step, save, and leave :meth:`run`. May be called from a signal handler."""
        self.stop_asked = True

    def progress(self, elapsed: float) -> float:
        """Share of the run that is done, by steps or by time, whichever is larger."""
        by_steps = 0.0 if self.config.steps is None else self.step / self.config.steps
        by_time = 0.0 if self.config.max_time is None else elapsed / max(1e-9, self.config.max_time)
        return min(1.0, max(by_steps, by_time))

    def resume(self) -> None:
        """Continue from the state saved in the run's folder.

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
            check_meta(meta)
            self.step, self.tasks_seen = meta["step"], meta["tasks_seen"]
            self.best, self.since_best = meta["best"], meta["since_best"]
            self.validated_step = meta.get("validated_step", self.step)
            self.clock.before = meta["elapsed"]
        except (KeyError, RuntimeError, ValueError, TypeError, IndexError) as e:
            raise TrainingError(f"{self.folder}: the saved state is of another model ({e}); start a new run") from e
        self.saved_step = self.step
        if self.group.main:
            self.metrics.trim(self.step)

    def run(self) -> Outcome:
        """Train until the end that the config names, or until asked to stop; saves at the end.

        Returns
        -------
        "done", "no better" (early stopping) or "stopped" (asked to)

        Raises
        ------
        TrainingError
            If losses stay NaN, or no episode can be drawn.
        ResourceError
            If the end of the run cannot be saved, or memory does not suffice for any task.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.clock.start()
        try:
            outcome = self._loop()
        except RuntimeError as e:
            if "DataLoader worker" not in str(e):
                raise
            if not self.stop_asked:  # else the signal that stops us has reached them as well
                raise TrainingError(
                    "a process that prepares batches has died (out of memory, or of shared memory?); the last state "
                    f"of {self.folder} is intact: resume it with --workers 0"
                ) from e
            outcome = "stopped"
        return self._save_end(outcome) if self.group.main else outcome

    def _loop(self) -> Outcome:
        c, now = self.config, self.clock.elapsed
        saves = Every(c.save_every, c.save_steps, now)
        validations = Every(c.validate_every, c.validate_steps, now)
        tells = Every(c.tell_every, c.tell_steps, now)
        trims = Every(TRIM_EVERY, None, now)
        told = Interval(now, self.tasks_seen)
        batches = batches_from(self.step, self.batches, c, self.device)
        self.model.train()
        pending = self.step > 0 and c.validate_steps is not None and validations.due(self.step, now)
        if pending and self.validated_step != self.step and self.validation and self.group.main:
            self.validate_and_keep()  # the run was stopped before it
        outcome: Outcome = "done"
        while c.steps is None or self.step < c.steps:
            start = time.monotonic()
            parts = [part.to(self.device) for part in next(batches)]
            told.waited += time.monotonic() - start
            ours, end = sum(map(len, parts)), self._end()
            main = self.group.main
            tasks, elapsed, stop, over, tell = self.group.sums(
                [
                    ours,
                    self.clock.elapsed if main else 0.0,
                    self.stop_asked,
                    main and end,
                    main and tells.due(self.step + 1, self.clock.elapsed),
                ]
            )
            if stop or over or self.progress(elapsed) >= 1:
                outcome = "stopped" if stop else "no better" if over else "done"
                break
            factor = rate_factor(self.progress(elapsed), c)
            # Processes average gradients evenly; this turns them into a mean over all tasks.
            share = ours * self.group.world / tasks
            told.losses.append(self.update(parts, share, factor))
            self.step += 1
            self.tasks_seen += int(tasks)
            self._update_average()
            if tell:
                self._tell_interval(told)
                tells.last = elapsed
                told = Interval(self.clock.elapsed, self.tasks_seen)
            elif self.device.type == "cpu":
                self._check_bad()
            if self.device.type == "cpu" and trims.due(self.step, elapsed):
                give_back_free_memory()
                trims.last = elapsed
            if not main:
                continue
            if self.validation and validations.due(self.step, elapsed):
                self.validate_and_keep()
                validations.last = self.clock.elapsed
            if saves.due(self.step, elapsed):
                self._save_or_note()
                saves.last = self.clock.elapsed
        if told.losses:
            self._tell_interval(told)
        return outcome

    def _end(self) -> bool:
        """Whether validations have not improved for too long."""
        return self.config.patience is not None and self.since_best >= self.config.patience

    def _save_end(self, outcome: Outcome) -> Outcome:
        if self.saved_step != self.step:
            self.save()
        if outcome == "stopped":
            if not self.validation or not (self.folder / "model.safetensors").exists():
                self._keep({})
        elif self.validated_step != self.step:
            self.validate_and_keep(required=True)
            if self.validation and self.validated_step != self.step:
                return "stopped"  # in the last validation, which a resumed run does again
            self.save()
        if outcome != "stopped":
            self._calibrate()
        return outcome

    def _calibrate(self) -> None:
        """Fit the confidence of the checkpoint that was kept, on the validation episodes."""
        if not self.validation:
            return
        if self._kept is None:  # kept before the run was resumed
            best = load_checkpoint(self.folder)
            self._kept = best.model, best.meta
        model, meta = self._kept
        meta = {**meta, "calibration": calibrate(model, self.validation)}
        keep_checkpoint(self.folder, model, meta, card_text(self.config, meta))

    @torch.no_grad()
    def _update_average(self) -> None:
        # Short memory at first, so that the start of training is soon forgotten.
        decay = min(self.config.average, self.step / (self.step + 10)) if self.config.average else 0.0
        for ours, theirs in zip(self.average.parameters(), self.model.parameters(), strict=True):
            ours.lerp_(theirs, 1 - decay)

    def validate_and_keep(self, required: bool = False) -> dict[str, float]:
        """Validate the averaged weights; write the checkpoint if they are the best so far.

        Parameters
        ----------
        required : bool
            Raise if the checkpoint cannot be written, rather than note it and continue.
        """
        try:
            figures = (
                validate(self.average, self.validation, self.device, self.update.precision, stop=self._stops)
                if self.validation
                else {}
            )
        except Stopped:
            return {}
        self.validated_step = self.step
        loss = figures.get("loss")
        better = loss is None or self.best is None or loss < self.best
        if loss is not None and not math.isfinite(loss):
            better = self.best is None
            figures = {k: v for k, v in figures.items() if math.isfinite(v)}
        if better:
            self.best, self.since_best = loss if loss is None or math.isfinite(loss) else None, 0
            try:
                self._keep(figures)
            except ResourceError as e:
                if required:
                    raise
                self._note(str(e))
        else:
            self.since_best += 1
        self._tell(**{f"valid_{k}": v for k, v in figures.items()}, best=float(better), since_best=self.since_best)
        return figures

    def _stops(self) -> bool:
        return self.stop_asked

    def _keep(self, figures: dict[str, float]) -> None:
        meta = {**self.meta, "steps": self.step, "tasks": self.tasks_seen, "seconds": round(self.clock.elapsed)}
        meta["validation"] = {k: round(v, 5) for k, v in figures.items()}
        keep_checkpoint(self.folder, self.average, meta, card_text(self.config, meta))
        self._kept = copy.deepcopy(self.average).cpu().eval(), meta

    def save(self) -> None:
        """Write the state to resume from.

        Raises
        ------
        ResourceError
            If it cannot be written; the last saved one is intact.
        """
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
            "validated_step": self.validated_step,
            "elapsed": self.clock.elapsed,
        }
        save_state(self.folder / "state", tensors, meta)
        self.saved_step = self.step

    def _save_or_note(self) -> None:
        self._check_bad()
        try:
            self.save()
        except ResourceError as e:
            self._note(f"{e}; training continues, and saving is tried again")

    def _check_bad(self) -> None:
        bad = int(self.update.bad)
        if bad >= self.config.bad_steps:
            saved = (
                f"step {self.saved_step} is in {self.folder / 'state'}" if self.saved_step >= 0 else "none was saved"
            )
            raise TrainingError(
                f"the gradient was not finite in {bad} steps in a row, up to step {self.step}; the last good state "
                f"({saved}): start a new run with a lower --learning-rate"
            )

    def _tell_interval(self, told: Interval) -> None:
        losses = torch.stack(told.losses)
        finite = torch.isfinite(losses)
        mean = float(torch.where(finite, losses, 0).sum() / finite.sum().clamp(min=1))
        # Each process has its share of the losses; the mean over processes is that over all tasks.
        loss, good = (v / self.group.world for v in self.group.sums([mean, float(finite.sum())]))
        self._check_bad()
        now = max(self.clock.elapsed, told.since + 1e-6)
        figures: dict[str, float] = {
            "tasks_per_s": (self.tasks_seen - told.tasks) / (now - told.since),
            "waiting": told.waited / (now - told.since),
        }
        if good:
            figures["loss"] = loss
        if good < len(losses):
            figures["skipped_steps"] = len(losses) - good
        self._tell(**figures)

    def _note(self, text: str) -> None:
        self._tell(note=text)

    def _tell(self, **figures: Any) -> None:
        if self.group.main:
            record = {"step": self.step, "tasks": self.tasks_seen, "seconds": round(self.clock.elapsed, 1), **figures}
            self.metrics.add(record)
            self.report(record)
