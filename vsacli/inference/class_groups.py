"""Groups of classes that resemble each other, for tables with more classes than the network reads at once.

table --Shortlist--> shares of all classes (u, C) --> groups of classes, and the structure of the rows of each
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vsacli.attributes.packed import take_rows
from vsacli.inference.passes import deal_contexts
from vsacli.inference.structure import LABELED_LANDMARKS, LANDMARKS, GivenRows, KnownStructure, structure_of
from vsacli.structure.shortlist import Shortlist

TOGETHER = 16
"""Classes of a group: some that belong to it, and the classes most like those."""

OWN = 0.65
"""Share of them that belong to it."""

MOST_LANDMARKS = 4096
"""Landmarks of a shortlist at most, twice as many as labeled ones among them."""

FITTED_ROWS = 16_384
"""Rows that the means of classes are fitted to at most."""

CELLS = 1 << 24
"""Shares that are held at a time."""


@dataclass(frozen=True)
class ListedRows:
    """What a shortlist says of some rows.

    Attributes
    ----------
    rows : ndarray of int, shape (u,)
        Of the table.
    shares : ndarray of float32, shape (u, C)
    """

    rows: NDArray[np.int64]
    shares: NDArray[np.float32]


@dataclass(frozen=True)
class ClassGroups:
    """The groups of the classes of a table, and what is known of each.

    Attributes
    ----------
    shortlist : Shortlist
        Its attributes and classes are those of the table in another order.
    order : ndarray of int, shape (M,)
        Attributes in the order of the shortlist.
    place : ndarray of int, shape (C,)
        The class of the shortlist that each class is.
    groups : list of ndarray of int
        Classes of the shortlist; each class is in at least one group.
    structures : list of KnownStructure or None
        Of the rows of each group.
    likeness : ndarray, shape (C, C)
        How often two classes of the shortlist are likely for the same row.
    """

    shortlist: Shortlist
    order: NDArray[np.int64]
    place: NDArray[np.int64]
    groups: list[NDArray[np.int64]]
    structures: list[KnownStructure | None]
    likeness: np.ndarray

    def __len__(self) -> int:
        return len(self.shortlist)

    @classmethod
    def of(
        cls, table: GivenRows, together: int, seed: int, *, structured: bool, class_space: bool
    ) -> tuple[ClassGroups, ListedRows]:
        """The groups of the classes of a table, and the first unlabeled rows, by which they were made.

        Parameters
        ----------
        table : GivenRows
        together : int
            Classes of a group at most, up to `TOGETHER`.
        seed : int
        structured : bool
            Whether the network reads the structure of rows.
        class_space : bool
            And the space of the classes.
        """
        by_signature = np.argsort(table.signatures, kind="stable")
        place = _by_contents(table.target[table.support_order], table.n_classes)
        found = cls(_shortlist(table, place, by_signature), by_signature, place, [], [], np.zeros((0, 0)))
        window = window_rows(table.n_classes)
        different, given = table.unlabeled[:window], table.support[table.support_order[:window]]
        shares, beside = (found.shares(take_rows(table.x, rows)) for rows in (different, given))
        likeness = shares.T @ shares + beside.T @ beside
        together = min(TOGETHER, together)
        groups = grouped(likeness, max(1, int(OWN * together)), together)
        found = replace(found, groups=groups, likeness=likeness)
        if not structured:
            return replace(found, structures=[None] * len(groups)), ListedRows(different, shares)
        homes = found.homes(shares)
        parts = (found._part(table, g, different[homes == g], seed) for g in range(len(groups)))
        structures = [structure_of(part, class_space=class_space) for part in parts]
        return replace(found, structures=structures), ListedRows(different, shares)

    def shares(self, x: np.ndarray) -> NDArray[np.float32]:
        """What the shortlist says of rows (u, M): (u, C)."""
        return self.shortlist.at(x[:, self.order])

    def homes(self, shares: np.ndarray) -> NDArray[np.int64]:
        """The group with the largest share of each row, (u,)."""
        return np.stack([shares[:, group].sum(1) for group in self.groups], 1).argmax(1)

    def merged(self, most: int) -> NDArray[np.int64]:
        """Classes that resemble each other taken as one: at most so many, of each class its number (C,)."""
        number = np.empty(len(self.place), np.int64)
        size = -(-len(self.place) // most)
        for i, group in enumerate(grouped(self.likeness, size, size)):
            number[group] = i
        return number[self.place]

    def codes(self, group: int, y: np.ndarray) -> NDArray[np.int64]:
        """Which class of a group each of some labels is; -1: none."""
        code = np.full(len(self.place), -1)
        code[self.groups[group]] = np.arange(len(self.groups[group]))
        return code[self.place[y]]

    def _part(self, table: GivenRows, group: int, rows: np.ndarray, seed: int) -> GivenRows:
        """The labeled rows of a group of classes, and unlabeled ``rows``, as a table."""
        codes = self.codes(group, table.target)
        support = table.support[codes >= 0]
        x = take_rows(table.x, np.concatenate([support, rows]))
        n_classes = len(self.groups[group])
        return GivenRows.of_part(x, len(support), codes[codes >= 0], n_classes, table.signatures, seed)


def _by_contents(y: np.ndarray, n_classes: int) -> NDArray[np.int64]:
    """Classes numbered by their first row in an order of contents: another numbering gives the same answers, (C,)."""
    _, first = np.unique(y, return_index=True)
    place = np.empty(n_classes, np.int64)
    place[np.argsort(first)] = np.arange(n_classes)
    return place


def _shortlist(table: GivenRows, place: np.ndarray, by_signature: np.ndarray) -> Shortlist:
    given, different = table.support_order, table.unlabeled
    dealt = deal_contexts(table.target[given], len(given), LABELED_LANDMARKS)[0]
    chosen, more = given[np.sort(dealt)], np.delete(given, dealt)
    landmarks = int(np.clip(2 * len(chosen), LANDMARKS, max(MOST_LANDMARKS, len(chosen))))
    beside = different[: landmarks - len(chosen)]
    landmarks = len(chosen) + len(beside)
    more = more[: max(0, FITTED_ROWS - landmarks)]
    others = different[len(beside) :][: max(0, FITTED_ROWS - landmarks - len(more))]
    rows = np.concatenate([table.support[chosen], beside, table.support[more], others])
    y = np.full(len(rows), -1)
    y[: len(chosen)] = place[table.target[chosen]]
    y[landmarks : landmarks + len(more)] = place[table.target[more]]
    return Shortlist.fit(take_rows(table.x, rows)[:, by_signature], y, table.n_classes, landmarks)


def grouped(likeness: np.ndarray, own: int, together: int) -> list[NDArray[np.int64]]:
    """Classes in groups: each grows by the class most like those in it, then takes in classes of others.

    Parameters
    ----------
    likeness : ndarray, shape (C, C)
    own : int
        Classes of a group that no earlier group has, at most.
    together : int
        Classes of a group at most.

    Returns
    -------
    list of ndarray of int
        Ascending in each group.
    """
    like = likeness.astype(np.float64)
    np.fill_diagonal(like, 0.0)
    left = np.ones(len(like), bool)
    towards = like.sum(1)  # the first group begins with the class most like all others, later ones beside it
    groups: list[NDArray[np.int64]] = []
    while left.any():
        group: list[int] = []
        pull = towards
        while len(group) < own and left.any():
            nearest = int(np.where(left, pull, -1.0).argmax())
            group.append(nearest)
            left[nearest] = False
            pull = like[nearest] if len(group) == 1 else pull + like[nearest]
        towards = pull if not groups else towards + pull
        others = np.argsort(-np.where(np.isin(np.arange(len(like)), group), -1.0, pull), kind="stable")
        group += others[: min(together, len(like)) - len(group)].tolist()
        groups.append(np.sort(np.array(group, np.int64)))
    return groups


def window_rows(n_classes: int) -> int:
    """Rows that are answered at a time."""
    return max(256, CELLS // n_classes)
