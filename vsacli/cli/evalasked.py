"""The options of `vsa eval`, as its two halves take them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vsacli.cli.options import TaskChoice

if TYPE_CHECKING:
    from vsacli.evaluation.episodes import Setting


@dataclass(frozen=True)
class Compared:
    """Which methods are compared, and where networks run."""

    methods: str | None
    checkpoints: tuple[str, ...]
    device: str


@dataclass(frozen=True)
class Results:
    """Where the results go."""

    json: Path | None
    plot: Path | None
    quiet: bool


@dataclass(frozen=True)
class Asked:
    """Which table is evaluated, and how closely.

    Attributes
    ----------
    path : str
    labeled : list of str
        Other tables with labels that the next command must name.
    kept : str, optional
        The file of answers to `--ask` beside it.
    reading : list of str
        Options that say how the table is read, which the next command repeats.
    full : bool
        Print everything, not only the narrow table.
    thorough : bool
        Ask more methods, more often, and with fewer labels.
    """

    path: str
    labeled: list[str]
    kept: str | None
    reading: list[str]
    full: bool
    thorough: bool


@dataclass(frozen=True)
class SuiteOptions:
    """Which tables of a suite take part, and which episodes are drawn from them."""

    target: str
    shots: tuple[int, ...]  # none: as usual for the kind of task
    setting: Setting
    unlabeled: int | None  # None: as usual
    episodes: int
    split: str | None
    task: TaskChoice
    metric: str | None
    jobs: int | None
    seed: int
