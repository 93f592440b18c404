"""Where a run's tasks come from: folders, OpenML and synthetic data, combined and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from vsacli.errors import UsageError
from vsacli.kinds import TaskKind
from vsacli.support.progress import Progress, silent
from vsacli.tasks.plain import PlainSampler
from vsacli.tasks.prior_source import random_tasks
from vsacli.tasks.sampler import BatchSampler, EpisodeConfig, shares
from vsacli.tasks.store import EncodedTable, TableStore
from vsacli.training.subset import limit_training

SYNTHETIC = ("prior", "circle-spiral")
KINDS_OF_SOURCE = ("data", "openml", *SYNTHETIC)
PAPER_SELECTION = "paper"


@dataclass(frozen=True)
class SourceSpec:
    """What a user asked to learn from; saved with the run.

    Attributes
    ----------
    folders : tuple of str
    openml : tuple of str
        Suites by number or alias; "paper" is the paper's own selection.
    synthetic : tuple of str
        Of "prior" and "circle-spiral".
    weights : dict
        By kind of source ("data", "openml", "prior", "circle-spiral"): shares of episodes, in
        proportion; 1 if not named.
    target : str
        The label column of tables without manifest.
    seed : int
        Of splits and synthetic tables.
    tables : int, optional
        Learn from so many of the training tables only.
    """

    folders: tuple[str, ...] = ()
    openml: tuple[str, ...] = ()
    synthetic: tuple[str, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    target: str = "target"
    seed: int = 0
    tables: int | None = None

    def __post_init__(self) -> None:
        if not (self.folders or self.openml or self.synthetic):
            raise UsageError("nothing to learn from: give --data DIR, --openml-suite or --synthetic")
        for name in self.synthetic:
            if name not in SYNTHETIC:
                raise UsageError(f"no synthetic data '{name}'; there are {' and '.join(SYNTHETIC)}")
        for name, weight in self.weights.items():
            if name not in self.given:
                raise UsageError(f"a weight for '{name}', which is not a source of this run ({', '.join(self.given)})")
            if not 0 <= weight < float("inf"):
                raise UsageError(f"the weight of {name} is {weight}; it is a number from 0 up")
        if not any(self.weights.get(name, 1.0) for name in self.given):
            raise UsageError("all weights are 0; give one source a positive one")
        if self.tables is not None and self.tables < 1:
            raise UsageError(f"--tables {self.tables}: a number of tables from 1 up")
        if self.tables is not None and self.given == ["prior"]:
            raise UsageError("--tables: the prior has no tables to choose from; give --data or --openml-suite as well")

    @property
    def given(self) -> list[str]:
        """Kinds of sources in use."""
        used = {"data": self.folders, "openml": self.openml}
        return [k for k in KINDS_OF_SOURCE if used.get(k) or k in self.synthetic]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SourceSpec:
        """What :meth:`to_dict` gave."""
        v = dict(values)
        lists = {name: tuple(v.pop(name)) for name in ("folders", "openml", "synthetic")}
        return cls(**lists, **v)


@dataclass
class Collection:
    """The tables of all sources, and the shares at which episodes are drawn.

    Attributes
    ----------
    stores : dict
        By kind of source.
    prior : float
        Share of episodes from the random prior.
    drawn_from : int, optional
        Of how many training tables those that are here were drawn; None: they are all that there are.
    notes : list of str
        What a user should know about how they were read.
    """

    stores: dict[str, TableStore]
    prior: float = 0.0
    drawn_from: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def tables(self) -> TableStore:
        """All of them."""
        stores = self.stores.values()
        return TableStore([t for s in stores for t in s], [x for s in stores for x in s.skipped])

    def sampler(self, kind: TaskKind, episodes: EpisodeConfig, seed: int, plain: bool) -> BatchSampler:
        """Training episodes of the tables in split "train"."""
        made = PlainSampler if plain else BatchSampler
        prior = random_tasks if self.prior else None
        tables = self.tables.select(split="train", kind=kind if plain else None)
        return made(kind, tables, replace(episodes, synthetic=self.prior), seed, prior)


def collect(
    spec: SourceSpec,
    kind: TaskKind,
    *,
    cache: Path,
    plain: bool = False,
    record: Path | None = None,
    progress: Progress = silent,
) -> Collection:
    """Read, download or make all tables.

    Parameters
    ----------
    spec : SourceSpec
    kind : {"classification", "regression"}
        What is trained.
    cache : Path
        Folder for encoded tables.
    plain : bool
        Whether only tables of the kind itself are learned from, as plain episodes do.
    record : Path, optional
        The run's folder: lists of OpenML tasks are read from there, or else written there.
    progress : callable, optional
        Called before each table.

    Raises
    ------
    InputError, UsageError, ResourceError, OutputError
        As the sources raise them.
    """
    if kind == "regression" and "circle-spiral" in spec.synthetic:
        raise UsageError("circle-spiral has classes only; use --synthetic prior for regression")
    stores: dict[str, list[TableStore]] = {}
    for folder in spec.folders:
        stores.setdefault("data", []).append(_folder_tables(folder, spec, cache, progress))
    for suite in spec.openml:
        stores.setdefault("openml", []).append(_openml_tables(suite, kind, spec, cache, record, progress))
    if "circle-spiral" in spec.synthetic:
        stores["circle-spiral"] = [TableStore(circle_spiral_tables(spec.seed))]
    notes = [note for parts in stores.values() for store in parts for note in store.notes]
    joined = {name: _joined(parts) for name, parts in stores.items()}
    drawn_from = None
    if spec.tables is not None:
        joined, drawn_from = limit_training(joined, spec.tables, kind if plain else None, spec.seed)
    weights = {name: spec.weights.get(name, 1.0) for name in spec.given}
    total = sum(weights.values())
    weighted = {name: _weighted(store, kind, weights[name] / total) for name, store in joined.items()}
    return Collection(weighted, weights.get("prior", 0.0) / total, drawn_from, notes)


def circle_spiral_tables(seed: int) -> list[EncodedTable]:
    """The paper's hundred tasks of a hundred examples, 70 / 10 / 20 for training, validation and test."""
    from vsacli.tasks.synthetic.circle_spiral import as_tables, circle_spiral

    tasks = circle_spiral(100, seed)
    return as_tables(tasks, _splits(len(tasks), seed))


def _folder_tables(folder: str, spec: SourceSpec, cache: Path, progress: Progress) -> TableStore:
    from vsacli.tasks.folder import cached_folder

    path = Path(folder)
    if path.is_file() and path.suffix == ".npz":
        return TableStore.load(path)
    return cached_folder(path, cache, target=spec.target, seed=spec.seed, progress=progress)


def _openml_tables(
    suite: str, kind: TaskKind, spec: SourceSpec, cache: Path, record: Path | None, progress: Progress
) -> TableStore:
    from vsacli.tasks.openml_source import OpenMLSelection, read_openml_tables

    place = None if record is None else record / f"openml-{spec.openml.index(suite)}.json"
    recorded = OpenMLSelection.load(place) if place is not None and place.is_file() else None
    store, selection = read_openml_tables(
        None if suite == PAPER_SELECTION else suite,
        cache=cache,
        kinds=(kind,),
        recorded=recorded,
        seed=spec.seed,
        progress=progress,
    )
    if place is not None and recorded is None:
        selection.save(place)
    return store


def _joined(parts: Sequence[TableStore]) -> TableStore:
    return TableStore([t for p in parts for t in p], [s for p in parts for s in p.skipped])


def _weighted(store: TableStore, kind: TaskKind, share: float) -> TableStore:
    """The tables with weights that add up, as the sampler counts them, to the share of their source."""
    train = store.select(split="train")
    if not len(train):
        return store
    own = shares(train.tables, kind).sum()
    factor = share / own if own > 0 else 0.0
    return TableStore([replace(t, weight=t.weight * factor) for t in store], store.skipped)


def _splits(n: int, seed: int) -> list[str]:
    share = (np.random.default_rng(seed).permutation(n) + 0.5) / max(1, n)
    return ["train" if s < 0.7 else "valid" if s < 0.8 else "test" for s in share]
