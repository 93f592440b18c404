"""One update of the weights: gradients of a batch in parts that fit into memory, and the optimizers' step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from vsacli.errors import ResourceError
from vsacli.support.out_of_memory import is_out_of_memory
from vsacli.tasks.collate import EpisodeBatch
from vsacli.training.batches import Part
from vsacli.training.config import TrainConfig
from vsacli.training.hardware import cells_that_fit
from vsacli.training.loss import episode_loss


class Updater:
    """Forward, backward and step.

    Parameters
    ----------
    config : TrainConfig
    model : nn.Module
        Whose parameters are trained.
    forward : callable
        The model, or what is wrapped around it.
    optimizers : list of Optimizer
    device : torch.device
    alone : bool
        Whether this is the only process: several ones cannot repeat a step when memory is full,
        as they exchange gradients during the backward pass.
    note : callable
        Called with a message about what did not fit.
    """

    def __init__(
        self,
        config: TrainConfig,
        model: nn.Module,
        forward: Callable[..., object],
        optimizers: list[torch.optim.Optimizer],
        device: torch.device,
        alone: bool,
        note: Callable[[str], None],
    ) -> None:
        self.config = config
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.forward = forward
        self.optimizers = optimizers
        self.device = device
        self.alone = alone
        self.note = note
        self.cells = cells_that_fit(config.model, device)  # the most that a part of a batch may have, once known
        self.bad = torch.zeros((), dtype=torch.int64, device=device)  # steps in a row that changed nothing

    @property
    def precision(self) -> torch.dtype | None:
        """The autocast type, or None for plain float32."""
        return torch.bfloat16 if self.config.precision == "bfloat16" else None

    def __call__(self, parts: list[Part], share: float, factor: float) -> Tensor:
        """Update the weights by a batch.

        Parameters
        ----------
        parts : list of Part
            A batch, on the device.
        share : float
            Weight of its mean loss: 1 for a process alone.
        factor : float
            Of the learning rate.

        Returns
        -------
        Tensor, scalar
            The loss times its share, on the device.

        Raises
        ------
        ResourceError
            If not one task of the batch fits into memory.
        """
        loss = self._gradients(parts, share)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.clip or float("inf"))
        good = torch.isfinite(norm)
        self.bad = torch.where(good, 0, self.bad + 1)
        for o in self.optimizers:
            for group in o.param_groups:
                group["lr"] = group["base_lr"] * factor
        if self.device.type == "cpu":
            if not bool(good):  # the step changes nothing
                self._forget()
                return loss
        else:
            # An accelerator is not waited for: a broken gradient becomes 0, and momentum alone acts.
            for p in self.parameters:
                if p.grad is not None:
                    p.grad = torch.where(good, p.grad, torch.zeros_like(p.grad))
        for o in self.optimizers:
            o.step()
        self._forget()
        return loss

    def _forget(self) -> None:
        for p in self.parameters:
            p.grad = None

    def _gradients(self, parts: list[Part], share: float) -> Tensor:
        parts = [small for part in parts for small in self._limited(part)]
        while parts:
            tasks, at = sum(map(len, parts)), 0
            try:
                total = torch.zeros((), device=self.device)
                for at, part in enumerate(parts):
                    # Several processes exchange gradients once, in the last backward pass.
                    with self._unshared(at + 1 < len(parts)):
                        loss = self._loss(part.batch) * (share * len(part) / tasks)
                        loss.backward()
                    total = total + loss.detach()
                return total
            except (RuntimeError, MemoryError) as e:
                if not is_out_of_memory(e):
                    raise
                reason = str(e)
            # Outside the handler, whose traceback keeps the tensors of the failed part alive.
            self._forget()
            parts[at : at + 1] = self._smaller(parts[at], reason)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        raise ResourceError(
            "no task of a batch fits into memory; use a smaller --preset, fewer --attributes, or another --device"
        )

    def _unshared(self, on: bool) -> AbstractContextManager[object]:
        return self.forward.no_sync() if on and isinstance(self.forward, DistributedDataParallel) else nullcontext()

    def _loss(self, batch: EpisodeBatch) -> Tensor:
        with torch.autocast(self.device.type, self.precision or torch.bfloat16, enabled=self.precision is not None):
            output = self.forward(batch.tasks)
        return episode_loss(output, batch, self.config.mse_weight)  # type: ignore[arg-type]

    def _limited(self, part: Part) -> list[Part]:
        return [part] if self.cells is None else part.at_most(max(1, self.cells // part.cells))

    def _smaller(self, part: Part, reason: str) -> list[Part]:
        _, rows, attributes = part.batch.tasks.x.shape
        size = f"{len(part)} task{'s' * (len(part) > 1)} of up to {rows} rows x {attributes} attributes"
        if not self.alone:
            raise ResourceError(
                f"a batch of {size} does not fit into memory; resume with half the --batch or --cells ({reason})"
            )
        if len(part) == 1:
            self.note(
                f"{part.names[0]}: a task of {rows} rows x {attributes} attributes does not fit into memory; left out"
            )
            return []
        self.cells = len(part) * part.cells // 2
        self.note(f"{size} do not fit into memory; such batches are computed in halves from now on")
        return part.at_most((len(part) + 1) // 2)
