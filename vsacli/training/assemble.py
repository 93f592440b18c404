"""A run put together: its tables read, its validation drawn, its network and loop ready to start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from vsacli.errors import TrainingError
from vsacli.support.progress import Progress, silent
from vsacli.support.wording import some
from vsacli.tasks.cache import cache_folder
from vsacli.training.distributed import Group
from vsacli.training.loop import Trainer
from vsacli.training.profile import NAMED, profile
from vsacli.training.run import RunSpec, record_split, validation_of
from vsacli.training.sources import Collection, collect


@dataclass
class Assembled:
    """A trainer that is ready, and what a person should know about it.

    Attributes
    ----------
    trainer : Trainer
    facts : list of (str, str)
        What the run learns from, how it is validated, and its network.
    notes : list of str
        How tables were read, and limits of the run.
    """

    trainer: Trainer
    facts: list[tuple[str, str]]
    notes: list[str]


def assemble(
    spec: RunSpec,
    folder: Path,
    device: torch.device,
    *,
    group: Group,
    resumed: bool = False,
    progress: Progress = silent,
) -> Assembled:
    """Read the tables of a run, write its record into its folder, and build its trainer.

    Parameters
    ----------
    spec : RunSpec
    folder : Path
        Of the run.
    device : torch.device
        Of CUDA, each process of the group takes its own.
    group : Group
        The processes that train together; all of them call this.
    resumed : bool
        Continue from the state that is saved in the folder.
    progress : callable
        Called before each table.

    Raises
    ------
    VsaError
        As the sources of tables raise it; a run whose tables have changed; a folder that cannot be written.
    """
    config = spec.config
    if not group.main:
        group.wait()  # until the first process has filled the cache
    collection = collect(
        spec.sources, spec.kind, cache=cache_folder(), plain=config.plain, record=folder, progress=progress
    )
    if group.main:
        if resumed:
            record_split(folder, collection.tables, resumed)
        group.wait()
    facts, notes = profile(collection, spec.kind), list(collection.notes)
    try:
        sampler = collection.sampler(spec.kind, config.episodes, config.seed, config.plain)
        if group.main and not resumed:
            sampler(0)  # so that tables of which no episode can be drawn are told before anything is written
    except TrainingError as error:
        raise TrainingError(f"{error}{_causes(collection)}") from None
    validation = validation_of(collection, config) if group.main else {}
    count = sum(map(len, validation.values()))
    labels = ", ".join(map(str, validation))
    facts.append(("validation", f"{count} episodes at {labels} labels" if count else "none"))
    if group.main and config.patience is not None and not count:
        notes.append("without validation tables the run does not end early")
    # Explicit on every device: TF32 has ten bits where float32 has 23.
    tf32 = device.type == "cuda" and config.precision != "float32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    if device.type == "cuda":
        device = torch.device("cuda", group.local_rank)
        torch.cuda.set_device(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    meta = {"command": spec.command, "device": name, "data": _data_line(facts)}
    trainer = Trainer(config, sampler, validation, folder, device, meta=meta, group=group)
    if group.main and not resumed:  # not before: what fails so far leaves nothing behind
        record_split(folder, collection.tables, resumed)
        spec.save(folder)
    size = sum(p.numel() for p in trainer.model.parameters())
    facts.append(("network", f"{size:,} weights, {config.optimizer}, {config.precision} on {name}"))
    if group.world > 1:
        facts.append(("processes", str(group.world)))
    if resumed:
        trainer.resume()
        facts.append(("resumed", f"from step {trainer.step:,}"))
    return Assembled(trainer, facts, notes)


def _causes(collection: Collection) -> str:
    """Why tables cannot be learned from, and what to do if it is for their label column."""
    skipped = collection.tables.skipped
    if not skipped:
        return ""
    told = some([f"{name}: {reason}" for name, reason in skipped], NAMED)
    hint = "; --target COL names the label column" if any("has no column" in why for _, why in skipped) else ""
    return f" (left out: {told}){hint}"


def _data_line(facts: list[tuple[str, str]]) -> str:
    return "; ".join(f"{what}: {value}" for what, value in facts if "skipped" not in what and what != "validation")
