"""One update of the weights: gradients of a batch in parts that fit into memory, and the optimizers' step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from vsacli.errors import ResourceError
from vsacli.tasks.episode import EpisodeBatch
from vsacli.training.batches import cells_of_task, is_out_of_memory, part_of
from vsacli.training.config import TrainConfig
from vsacli.training.loss import episode_loss
from vsacli.training.memory import cells_that_fit


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
        Whether this is the only process: several ones cannot part a batch, as they exchange
        gradients during the backward pass.
    note : callable
        Told in words of what did not fit: (what happened, tasks of the batch concerned or None).
    """

    def __init__(
        self,
        config: TrainConfig,
        model: nn.Module,
        forward: Callable[..., object],
        optimizers: list[torch.optim.Optimizer],
        device: torch.device,
        alone: bool,
        note: Callable[[str, int | None], None],
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

    def __call__(self, batch: EpisodeBatch, share: float, factor: float) -> Tensor:
        """Update the weights by a batch.

        Parameters
        ----------
        batch : EpisodeBatch
            On the device.
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
        loss = self._gradients(batch, share)
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

    def _gradients(self, batch: EpisodeBatch, share: float) -> Tensor:
        keep = list(range(len(batch.answer)))
        while keep:
            part: list[int] = []
            failed: BaseException | None = None
            try:
                total = torch.zeros((), device=self.device)
                for part in self._parts(batch, keep):
                    loss = self._loss(part_of(batch, part)) * (share * len(part) / len(keep))
                    loss.backward()
                    total = total + loss.detach()
                return total
            except (RuntimeError, MemoryError) as e:
                if not is_out_of_memory(e):
                    raise
                failed = e
            # Outside the handler, whose traceback keeps the tensors of the failed part alive.
            self._forget()
            self._shrink(batch, part, keep, str(failed))
            failed = None
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        raise ResourceError(
            "no task of a batch fits into memory; use a smaller --preset, fewer --attributes, or another --device"
        )

    def _loss(self, batch: EpisodeBatch) -> Tensor:
        with torch.autocast(self.device.type, self.precision or torch.bfloat16, enabled=self.precision is not None):
            output = self.forward(batch.tasks)
        return episode_loss(output, batch, self.config.mse_weight)  # type: ignore[arg-type]

    def _parts(self, batch: EpisodeBatch, keep: list[int]) -> list[list[int]]:
        if self.cells is None or not self.alone:
            return [keep]
        most = max(1, self.cells // cells_of_task(batch))
        return [keep[i : i + most] for i in range(0, len(keep), most)]

    def _shrink(self, batch: EpisodeBatch, part: list[int], keep: list[int], reason: str) -> None:
        _, rows, attributes = batch.tasks.x.shape
        size = f"{len(part)} task{'s' * (len(part) > 1)} of up to {rows} rows x {attributes} attributes"
        if not self.alone:
            raise ResourceError(
                f"a batch of {size} does not fit into memory; resume with half the --batch or --cells ({reason})"
            )
        if len(part) > 1:
            self.cells = len(part) * cells_of_task(batch) // 2
            self.note(f"{size} do not fit into memory; such batches are computed in halves from now on", None)
        else:
            keep.remove(part[0])
            self.note(f"a task of {rows} rows x {attributes} attributes does not fit into memory; left out", part[0])
