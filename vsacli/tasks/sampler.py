"""Batches of training episodes, from tables and from synthetic priors, by step number.

Batch ``i`` of a run is a function of (seed, i) alone: any number of workers, and a run that was
interrupted and resumed, see the same episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vsacli.errors import TrainingError
from vsacli.kinds import TaskKind
from vsacli.structure import RowStructure, TableStructure
from vsacli.structure.table import COORDINATES
from vsacli.support.threads import one_thread
from vsacli.tasks.augment import (
    AugmentConfig,
    change_attributes,
    choose_attributes,
    classes_from_numbers,
    column_as_classes,
    column_as_numbers,
    limit_classes,
)
from vsacli.tasks.draw import draw_balanced, draw_mixed, draw_natural, draw_rows
from vsacli.tasks.episode import Episode
from vsacli.tasks.store import EncodedTable, TableStore


@dataclass(frozen=True)
class EpisodeConfig:
    """How training episodes are drawn. Ranges are inclusive and log-uniform."""

    shots: tuple[int, int] = (1, 10)  # labeled rows per class
    unlabeled: tuple[int, int] = (5, 40)  # unlabeled rows per class
    labeled_rows: tuple[int, int] = (5, 40)  # labeled rows of a regression episode
    unlabeled_rows: tuple[int, int] = (20, 150)  # unlabeled rows of a regression episode
    attributes: tuple[int, int] = (3, 64)  # largest number of attributes in a batch
    max_classes: int = 25
    max_rows: int = 320  # rows of an episode
    natural: float = 0.25  # share of episodes in the table's own class proportions
    mixed: float = 0.45  # share of episodes in which labels and other rows have different class proportions
    structure: float = 0.0  # share of episodes with the structure of their table
    class_space: bool = True  # and with the space of its classes
    pool: tuple[int, int] = (64, 600)  # rows of a table that its structure is computed from
    synthetic: float = 0.5  # share of synthetic episodes
    cells: int = 24_000  # rows x slots of a batch: sets the number of tasks in it
    tasks: tuple[int, int] = (4, 512)  # tasks of a batch
    augment: AugmentConfig = field(default_factory=AugmentConfig)


# Makes synthetic tasks: (rng, kind, tasks, rows, attributes, classes) -> x (B, N, M) with NaN, y (B, N)
Prior = Callable[[np.random.Generator, TaskKind, int, int, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class BatchPlan:
    """Sizes that the episodes of a batch share, so that little is padded."""

    classes: int
    attributes: int
    labeled: int  # rows per class, or in all for regression
    unlabeled: int
    tasks: int
    pool: int = 0  # rows of which the structure is computed; 0: there is none
    class_space: bool = True  # with the space of the classes

    @property
    def drawn_rows(self) -> int:
        """Unlabeled rows to draw: those that are read, and what else the structure is computed from."""
        return max(self.unlabeled * self.classes, self.pool - self.labeled * self.classes)

    def read(self, unlabeled: np.ndarray) -> np.ndarray:
        """Those of the drawn rows that the network reads."""
        return unlabeled[: self.unlabeled * self.classes] if self.pool else unlabeled


class BatchSampler:
    """Draws the episodes of each training step.

    Parameters
    ----------
    kind : {"classification", "regression"}
        What to train for. Tables of the other kind serve too: numbers are binned into classes, and
        numeric columns are targets.
    store : TableStore
        Real tables; may be empty if everything is synthetic.
    config : EpisodeConfig
    seed : int
    prior : Prior, optional
        Synthetic tasks.

    Raises
    ------
    TrainingError
        If there is nothing to draw from.
    """

    def __init__(
        self, kind: TaskKind, store: TableStore, config: EpisodeConfig, seed: int, prior: Prior | None = None
    ) -> None:
        self.kind: TaskKind = kind
        self.config = config
        self.seed = seed
        self.prior = prior
        # Without other targets, only tables of the kind itself can serve (or binned numbers).
        self.tables = list(store)
        if not self.tables and prior is None:
            raise TrainingError("no table to learn from: give a folder with usable tables, or --synthetic")
        self.share = shares(self.tables, kind)
        self.widths = np.array([t.x.shape[1] for t in self.tables])
        self.most_classes = np.array([t.n_classes if t.kind == "classification" else 5 for t in self.tables])
        self.synthetic = 0.0 if prior is None else 1.0 if not self.tables else config.synthetic

    def __call__(self, step: int) -> list[Episode]:
        """The episodes of a step."""
        rng = np.random.default_rng([self.seed, step])
        plan = self._plan(rng)
        n_synthetic = int(rng.binomial(plan.tasks, self.synthetic))
        episodes = self._synthetic(rng, plan, n_synthetic) if n_synthetic else []
        chance = self._chances(plan)
        for _ in range(20 * plan.tasks):
            if len(episodes) >= plan.tasks or not self.tables:
                break
            table = self.tables[int(rng.choice(len(self.tables), p=chance))]
            episode = self._real(rng, table, plan)
            if episode is not None:
                episodes.append(episode)
        if not episodes:
            raise TrainingError("no episode can be drawn: every table has too few labeled rows or classes")
        return episodes

    def _chances(self, plan: BatchPlan) -> np.ndarray:
        """Chance of each table: only those that about fill the batch's sizes, so that little is padded.

        Over many batches every table has its turn, since sizes are drawn log-uniformly.
        """
        fits = self.widths >= plan.attributes / 2
        if self.kind == "classification":
            fits &= self.most_classes >= 0.6 * plan.classes
        # A handful of tables would be learned by heart: rather some padding.
        share = np.where(fits, self.share, 0) if fits.sum() >= min(20, len(fits)) else self.share
        return share / share.sum() if len(share) else share

    def _plan(self, rng: np.random.Generator) -> BatchPlan:
        c = self.config
        attributes = log_uniform(rng, c.attributes)
        if self.kind == "classification":
            sizes = np.array([2, 3, 4, 5, 6, 8, 10, 15, 25])
            weights = np.array([0.34, 0.21, 0.13, 0.11, 0.06, 0.06, 0.06, 0.02, 0.01])
            fits = sizes <= max(2, c.max_classes)
            classes = int(rng.choice(sizes[fits], p=weights[fits] / weights[fits].sum()))
            labeled = log_uniform(rng, c.shots)
            unlabeled = log_uniform(rng, c.unlabeled)
            unlabeled = max(1, min(unlabeled, c.max_rows // classes - labeled))
            rows = classes * (labeled + unlabeled)
        else:
            classes = 1
            labeled, unlabeled = log_uniform(rng, c.labeled_rows), log_uniform(rng, c.unlabeled_rows)
            rows = labeled + unlabeled
        pool = max(rows, log_uniform(rng, c.pool)) if rng.random() < c.structure else 0
        slots = attributes + classes + (COORDINATES if pool else 0)
        tasks = int(np.clip(c.cells // (rows * slots), *c.tasks))
        return BatchPlan(classes, attributes, labeled, unlabeled, tasks, pool, c.class_space)

    def _real(self, rng: np.random.Generator, table: EncodedTable, plan: BatchPlan) -> Episode | None:
        aug = self.config.augment
        left = np.arange(table.x.shape[1])
        y = table.y
        other = rng.random() < aug.other_target
        if self.kind == "regression":
            if other or table.kind != "regression":
                drawn = column_as_numbers(rng, table)
                if drawn is None:
                    return None
                y, left = drawn
            return self._regression(rng, table, y, left, plan)
        if other:
            drawn = column_as_classes(rng, table, plan.classes)
            if drawn is None:
                return None
            y, left = drawn
        elif table.kind == "regression":
            y = classes_from_numbers(rng, y, plan.classes)
        y = limit_classes(rng, y, plan.classes, 2, aug)
        return self._classification(rng, table, y, left, plan)

    def _classification(
        self, rng: np.random.Generator, table: EncodedTable, y: np.ndarray, left: np.ndarray, plan: BatchPlan
    ) -> Episode | None:
        rows = self._class_rows(rng, y, plan)
        if rows is None:
            return None
        x = self._attributes(rng, table, left, np.concatenate(rows), plan)
        return class_episode(rng, DrawnRows(x, y, *rows, table.name, table.family), plan)

    def _regression(
        self, rng: np.random.Generator, table: EncodedTable, y: np.ndarray, left: np.ndarray, plan: BatchPlan
    ) -> Episode | None:
        rows = draw_rows(rng, np.isfinite(y), plan.labeled, plan.drawn_rows)
        if rows is None:
            return None
        x = self._attributes(rng, table, left, np.concatenate(rows), plan)
        return number_episode(rng, DrawnRows(x, y, *rows, table.name, table.family), plan)

    def _attributes(
        self, rng: np.random.Generator, table: EncodedTable, left: np.ndarray, rows: np.ndarray, plan: BatchPlan
    ) -> np.ndarray:
        chosen = choose_attributes(rng, table.column, left, plan.attributes, self.config.augment)
        return change_attributes(rng, table.x[np.ix_(rows, chosen)], self.config.augment, plan.attributes)

    def _class_rows(
        self, rng: np.random.Generator, y: np.ndarray, plan: BatchPlan
    ) -> tuple[np.ndarray, np.ndarray] | None:
        how = rng.random()
        if how < self.config.natural:
            # Proportions cost no padding: the rows in all are those of a balanced episode.
            return draw_natural(rng, y, plan.labeled * plan.classes, plan.drawn_rows)
        if how < self.config.natural + self.config.mixed:
            return draw_mixed(rng, y, plan.labeled, plan.drawn_rows)
        return draw_balanced(rng, y, plan.labeled, -(-plan.drawn_rows // plan.classes))

    def _synthetic(self, rng: np.random.Generator, plan: BatchPlan, n: int) -> list[Episode]:
        assert self.prior is not None
        rows = plan.labeled + plan.unlabeled
        if self.kind == "classification":
            rows = 2 * rows * plan.classes  # spare rows, so that balanced draws find enough of each class
        xs, ys = self.prior(rng, self.kind, n, max(rows, plan.pool), plan.attributes, plan.classes)
        episodes = []
        for x, y in zip(xs, ys, strict=True):
            if self.kind == "regression":
                both, make = draw_rows(rng, np.isfinite(y), plan.labeled, plan.drawn_rows), number_episode
            else:
                y = limit_classes(rng, y, plan.classes, 2, self.config.augment)
                both, make = self._class_rows(rng, y, plan), class_episode
            if both is None:
                continue
            episode = make(rng, DrawnRows(x[np.concatenate(both)], y, *both), plan)
            if episode is not None:
                episodes.append(episode)
        return episodes


def shares(tables: Sequence[EncodedTable], kind: TaskKind) -> np.ndarray:
    """How often each table is drawn to train for tasks of a kind, in proportion, (tables,)."""
    share = np.array([t.weight * (1.0 if t.kind == kind else 0.5) for t in tables])
    families, member = np.unique([t.family for t in tables], return_inverse=True)
    # Families of many near relatives count less than in proportion to their size.
    return share / np.sqrt(np.bincount(member))[member] if len(families) else share


def log_uniform(rng: np.random.Generator, limits: tuple[int, int]) -> int:
    """A whole number within limits, both included, its logarithm being uniform."""
    low, high = limits
    return int(np.clip(np.floor(np.exp(rng.uniform(np.log(low), np.log(high + 1)))), low, high))


@dataclass(frozen=True)
class DrawnRows:
    """Rows of a table that were drawn for an episode.

    Attributes
    ----------
    x : ndarray, shape (labeled and unlabeled rows, M)
        Their attributes, labeled rows first.
    y : ndarray, shape (n,)
        Classes or numbers of *all* rows of the table.
    labeled, unlabeled : ndarray of int
        Positions in ``y``.
    name, family : str
        Of the table.
    """

    x: np.ndarray
    y: np.ndarray
    labeled: np.ndarray
    unlabeled: np.ndarray
    name: str = "synthetic"
    family: str = ""


def class_episode(rng: np.random.Generator, rows: DrawnRows, plan: BatchPlan) -> Episode | None:
    """An episode of classes; of the unlabeled rows the first ones are read."""
    x, y, labeled, unlabeled = rows.x, rows.y, rows.labeled, plan.read(rows.unlabeled)
    # Classes without a labeled row cannot be predicted; their rows stay as context only.
    shown, support = np.unique(y[labeled], return_inverse=True)
    if len(shown) < 2 or not len(unlabeled):
        return None
    code = np.full(int(y.max()) + 2, -1, np.int64)
    code[shown] = np.arange(len(shown))
    answer = code[y[unlabeled]]
    if not (answer >= 0).any():
        return None
    n = len(labeled) + len(unlabeled)
    return Episode(
        x=x[:n],
        n_labeled=len(labeled),
        y=np.concatenate([support, answer]).astype(np.int64),
        kind="classification",
        n_classes=len(shown),
        scored=answer >= 0,
        name=rows.name,
        family=rows.family,
        structure=episode_structure(rng, x, n, support, len(shown), class_space=plan.class_space)
        if plan.pool
        else None,
    )


def number_episode(rng: np.random.Generator, rows: DrawnRows, plan: BatchPlan) -> Episode | None:
    """An episode of numbers; targets are on the table's own scale of mean 0 and spread 1, in random direction."""
    x, y, labeled, unlabeled = rows.x, rows.y, rows.labeled, plan.read(rows.unlabeled)
    known = y[np.isfinite(y)].astype(np.float64)
    spread = known.std()
    if not spread > 1e-12 * max(1.0, np.abs(known).max(initial=0)) or not len(unlabeled):
        return None
    target = (y[np.concatenate([labeled, unlabeled])] - known.mean()) / spread * rng.choice([-1.0, 1.0])
    scored = np.isfinite(target[len(labeled) :])
    if not scored.any():
        return None
    # One wild target would outweigh the batch; beyond ten spreads it only needs to be "far".
    target = np.clip(target, -10, 10).astype(np.float32)
    n = len(target)
    structure = episode_structure(rng, x, n, target[: len(labeled)], 0) if plan.pool else None
    return Episode(x[:n], len(labeled), target, "regression", 1, scored, rows.name, rows.family, structure)


def episode_structure(
    rng: np.random.Generator, x: np.ndarray, n_read: int, y: np.ndarray, n_classes: int, *, class_space: bool = True
) -> RowStructure | None:
    """The structure of rows ``x`` (n, M), labeled first, for the first ``n_read``; coordinates have random signs."""
    with one_thread():
        found = TableStructure.fit(x, np.arange(len(y)), y, n_classes, class_space=class_space)
    if found is None:
        return None
    structure = found.of_landmarks.take(slice(n_read))
    return structure.flipped(rng.choice([-1.0, 1.0], len(structure.weights)))
