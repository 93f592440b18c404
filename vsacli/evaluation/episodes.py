"""The same seeded episodes for every method.

An episode depends on the seed, the table's name, the shot and its number only: not on the methods that
run, the other tables, or the order in which processes take them. Episodes of one number share their row
order, so the labels of 1 shot are among those of 3, and learning curves are not blurred by the draw.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vsacli.errors import DataError
from vsacli.tasks.episode import Episode, GivenNumbers
from vsacli.tasks.store import EncodedTable

POOL_ROWS = 1200
"""Unlabeled rows of an episode in the pool setting, at most."""


class Setting(StrEnum):
    """Which rows of a table an episode consists of."""

    balanced = "balanced"
    """The paper's: so many labeled and so many unlabeled rows of each class (regression: in all)."""

    natural = "natural"
    """Labels in the table's own class proportions, all other rows with a label unlabeled."""

    pool = "pool"
    """As users have it: so many labels per class, all other rows of the table unlabeled, in their own proportions."""


@dataclass(frozen=True)
class EpisodeKey:
    """Which episode of a table: `shot` labels per class (regression: labels), the `number`-th draw."""

    shot: int
    number: int


@dataclass(frozen=True)
class DrawnEpisode:
    """An episode and how it lies in its table.

    Attributes
    ----------
    episode : Episode
        Targets of regression have zero mean and unit deviation over the labeled rows: what a user can know.
    rows : int64 (L + U,)
        The table's rows that it consists of.
    center, spread : float
        A target in the table's units is `center + spread * y`; 0 and 1 for classes.
    scale : float
        `spread` in deviations of the whole table's targets; 1 for classes.
    """

    episode: Episode
    rows: np.ndarray
    center: float = 0.0
    spread: float = 1.0
    scale: float = 1.0


@dataclass(frozen=True)
class EpisodePlan:
    """How episodes are drawn.

    Attributes
    ----------
    shots : labels per class; for regression, labels in all
    n_unlabeled : unlabeled rows per class (regression: in all); in the pool setting, in all and at most. Of no meaning
        to natural episodes, which take all rows
    n_episodes : draws for each shot
    seed : decides all of them
    setting : which rows of a table they take
    """

    shots: tuple[int, ...] = (1, 3, 5)
    n_unlabeled: int = 20
    n_episodes: int = 5
    seed: int = 0
    setting: Setting = Setting.balanced

    def all_keys(self) -> Iterator[EpisodeKey]:
        """All episodes of a table."""
        for shot in self.shots:
            for number in range(self.n_episodes):
                yield EpisodeKey(shot, number)

    def rng(self, name: str, number: int, *more: str | int) -> np.random.Generator:
        """A generator of its own for this table, draw and purpose."""
        words = [zlib.crc32(str(w).encode()) for w in (name, *more)]
        return np.random.default_rng([self.seed, number, *words])

    def draw(self, table: EncodedTable, key: EpisodeKey) -> DrawnEpisode:
        """One episode of a table."""
        rng = self.rng(table.name, key.number)
        classes = table.kind == "classification"
        if self.setting is Setting.natural:
            draw = _draw_naturally if classes else _draw_numbers
            labeled, unlabeled = draw(table, key.shot, rng)
        else:
            draw = _draw_classes if classes else _draw_numbers
            labeled, unlabeled = draw(table, key.shot, rng, self.n_unlabeled)
        if self.setting is Setting.pool:
            others = _pool(table, labeled, self.rng(table.name, key.number, "pool"))
            unlabeled = others[: self.n_unlabeled]
        return make_episode(table, labeled, unlabeled, table.labeled[unlabeled])


def make_episode(
    table: EncodedTable, labeled: np.ndarray, unlabeled: np.ndarray, scored: np.ndarray | None = None
) -> DrawnEpisode:
    """An episode of the given rows of a table.

    Parameters
    ----------
    table : EncodedTable
    labeled, unlabeled : int64 row numbers
    scored : bool, same length as `unlabeled`
        Rows whose answer counts; all by default.
    """
    rows = np.concatenate([labeled, unlabeled]).astype(np.int64)
    y, center, spread, scale = table.y[rows], 0.0, 1.0, 1.0
    if table.kind == "regression":
        center, spread = center_and_spread(table.y[labeled])
        scale = spread / center_and_spread(table.y[table.labeled])[1]
        y = ((y - center) / spread).astype(np.float32)
    episode = Episode(
        x=table.x[rows],
        n_labeled=len(labeled),
        y=y,
        kind=table.kind,
        n_classes=table.n_classes,
        scored=np.ones(len(unlabeled), bool) if scored is None else scored,
        name=table.name,
        family=table.family or table.name,
        further=table.further,
        words=None if table.words is None else table.words[rows],
        given=GivenNumbers(table.y[labeled], center, spread) if table.kind == "regression" else None,
    )
    return DrawnEpisode(episode, rows, center, spread, scale)


def _draw_classes(
    table: EncodedTable, shot: int, rng: np.random.Generator, n_unlabeled: int
) -> tuple[np.ndarray, np.ndarray]:
    """`shot` labeled and up to `n_unlabeled` unlabeled rows of each class; a class of few rows gives fewer.

    Labels are taken from the front of a class's random order and unlabeled rows from its back, so that a
    higher shot adds labels and changes unlabeled rows only where a class runs out.
    """
    labeled, unlabeled = [], []
    for c in range(table.n_classes):
        order = rng.permutation(np.flatnonzero(table.y == c))
        n_labeled = min(shot, max(1, len(order) - 1))
        labeled.append(order[:n_labeled])
        unlabeled.append(order[n_labeled:][::-1][:n_unlabeled])
    return rng.permutation(np.concatenate(labeled)), rng.permutation(np.concatenate(unlabeled))


def _draw_numbers(
    table: EncodedTable, shot: int, rng: np.random.Generator, n_unlabeled: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`shot` labeled and up to `n_unlabeled` (or all) unlabeled rows, from the ends of a random order."""
    order = rng.permutation(np.flatnonzero(table.labeled))
    n_labeled = max(1, min(shot, len(order) - 1))
    return order[:n_labeled], order[n_labeled:][::-1][:n_unlabeled]


def _pool(table: EncodedTable, labeled: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All rows but the labeled ones in a random order that is the same for any number of labels.

    Rows of which no label is known stand last: of a table too large for an episode, those that can be scored are taken.
    """
    order = rng.permutation(len(table.y))
    order = order[~np.isin(order, labeled)]
    return order[np.argsort(~table.labeled[order], kind="stable")]


def _draw_naturally(table: EncodedTable, shot: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`shot` labeled rows for each class on average, drawn at random but for one of each class; all others unlabeled.

    A higher shot adds labels to those of a lower one.
    """
    order = rng.permutation(np.flatnonzero(table.labeled))
    classes, first = np.unique(table.y[order], return_index=True)
    rest = np.delete(order, first)
    n_more = min(len(classes) * (shot - 1), len(rest) - 1)
    return rng.permutation(np.concatenate([order[first], rest[:n_more]])), rest[n_more:]


def center_and_spread(y: np.ndarray) -> tuple[float, float]:
    """Mean and deviation; a deviation of zero counts as one.

    Raises
    ------
    DataError
        The numbers are so large that float64 has no deviation for them.
    """
    y = y.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        center, spread = float(y.mean()), float(y.std())
    if not np.isfinite(spread):
        raise DataError("the numbers of the target are too large for their errors to be measured; divide all by 1e200")
    return center, spread or 1.0


def usable(table: EncodedTable, shots: Sequence[int]) -> str | None:
    """Why a table cannot give these episodes, or None."""
    n = int(table.labeled.sum())
    if table.kind == "classification":
        classes = int(np.sum(np.bincount(table.y[table.labeled], minlength=table.n_classes) > 0))
        if classes < 2:
            return "fewer than two classes"
        if n <= classes:
            return "no class has two rows"
    elif n <= max(shots):
        return f"{n} rows with a target, not more than {max(shots)} labels"
    return None
