"""A run from what a user asks for: all that decides it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vsacli.errors import UsageError
from vsacli.kinds import TaskKind
from vsacli.training.hardware import fast_precision
from vsacli.training.recipe import make_config
from vsacli.training.run import RunSpec
from vsacli.training.sources import SourceSpec

if TYPE_CHECKING:
    import torch

MAY_CHANGE = (
    "steps",
    "max_time",
    "patience",
    "validate_every",
    "validate_steps",
    "save_every",
    "save_steps",
    "workers",
)
"""Fields of `TrainConfig` that may be changed when a run is resumed."""


@dataclass(frozen=True)
class Request:
    """What a user asks of a run; None or an empty collection leaves a field to the recipe.

    Attributes
    ----------
    data, openml, synthetic, weights, target, tables
        The fields of :class:`SourceSpec` that they are named for.
    kind, preset, method, model, ablations
        As :func:`make_config` takes them.
    episodes, training : dict
        Fields of :class:`EpisodeConfig` and :class:`TrainConfig`.
    """

    data: Sequence[str | os.PathLike[str]] | None = None
    openml: Sequence[str] | None = None
    synthetic: Sequence[str] | None = None
    weights: dict[str, float] | None = None
    target: str | None = None
    tables: int | None = None
    kind: TaskKind | None = None
    preset: str | None = None
    method: str | None = None
    model: Sequence[str] | None = None
    ablations: Sequence[str] | None = None
    episodes: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)

    def new_run(self, device: torch.device, command: str = "") -> RunSpec:
        """A new run.

        Parameters
        ----------
        device : torch.device
            Where it trains, which decides the precision unless that is asked for.
        command : str
            The command line, to be saved with the run.

        Raises
        ------
        UsageError
            Nothing to learn from, no end, or settings that contradict each other.
        """
        sources = SourceSpec(
            folders=tuple(os.fspath(folder) for folder in self.data or ()),
            openml=tuple(self.openml or ()),
            synthetic=tuple(self.synthetic or ()),
            weights=self.weights or {},
            target=self.target or "target",
            seed=self.training.get("seed", 0),
            tables=self.tables,
        )
        preset, training = self.preset or "default", self.training
        if preset != "paper":
            training = {"precision": fast_precision(device)} | training
        if "steps" not in training and "max_time" not in training:
            raise UsageError("a run needs an end: give --steps or --max-time")
        config = make_config(
            self.kind or "classification",
            preset,
            method=self.method or "vsa",
            model=self.model or (),
            ablations=self.ablations or (),
            episodes=self.episodes,
            training=training,
        )
        return RunSpec(sources, config, command)

    def resumed_run(self, folder: Path) -> RunSpec:
        """The run in a folder, with what may change as asked for.

        Raises
        ------
        UsageError
            Something is asked for that a resumed run keeps.
        TrainingError
            There is no run in the folder.
        """
        fixed = {name for name in self.training if name not in MAY_CHANGE} | self.episodes.keys()
        of_the_start = (self.data, self.openml, self.synthetic, self.weights, self.target, self.tables)
        of_the_start += (self.kind, self.preset, self.method, self.model, self.ablations)
        if fixed or any(value is not None for value in of_the_start):
            raise UsageError(
                "a resumed run keeps its sources, network and recipe; with --resume give only --output, --steps, "
                "--max-time, --patience, --validate-every, --save-every, --workers and --device"
            )
        spec = RunSpec.load(folder)
        return replace(spec, config=replace(spec.config, **self.training))
