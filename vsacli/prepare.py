"""A table as the network takes it: attributes from its columns, classes or numbers from its label column.

Everything that fills in, evaluates or learns from a table reads it here, so that an option means the same everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from vsacli.attributes.words import Words, side_by_side
from vsacli.errors import DataError, UsageError
from vsacli.support.progress import Progress, silent
from vsacli.support.wording import nearest
from vsacli.tables.arrow_types import SEVERAL_VALUES, not_labels

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.attributes.packed import CompactAttributes
    from vsacli.tables.table import Table
    from vsacli.target.column import Target

LARGE_ROWS = 200_000
"""Rows from which on a table is held in less room, which takes some time."""

X = TypeVar("X", bound="np.ndarray | CompactAttributes")


@dataclass(frozen=True)
class ReadOptions:
    """How a table is read; the defaults are the commands'."""

    target: str
    task: Literal["auto", "classification", "regression"] = "auto"
    na: tuple[str, ...] = ()  # further cell contents that mean "no label"; COL=TOKEN: that mean "no value" in a column
    default_na: bool = True  # so do the tokens that pandas reads as missing
    exclude: tuple[str, ...] = ()  # columns that must not become attributes
    include: tuple[str, ...] = ()  # columns that become attributes even if they look like ids
    seed: int = 0


@dataclass
class Attributes(Generic[X]):
    """Columns as attributes.

    Attributes
    ----------
    x : ndarray of float32, or CompactAttributes, shape (n, M)
        NaN where not observed.
    encoder : AttributeEncoder
        What they were made with, for other rows.
    columns : list of (int, pa.DataType)
        What was encoded: places in the table, and the types that the cells had.
    left_out : list of (str, str)
        Columns that gave no attribute, with the reason.
    words : Words, shape (n, V), optional
        The words of the columns of text, if they were asked for and there are any.
    """

    x: X
    encoder: AttributeEncoder
    columns: list[tuple[int, pa.DataType]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    words: Words | None = None

    @property
    def used(self) -> dict[str, int]:
        """Columns in use, each with its number of attributes."""
        return dict(self.encoder.used)

    @property
    def further(self) -> np.ndarray:
        """Which attributes one reading of the network does without, bool (M,)."""
        return self.encoder.further

    @property
    def source(self) -> np.ndarray:
        """Which column in use each attribute comes from, int32 (M,): those of one column share a number."""
        widths = self.encoder.widths
        return np.repeat(np.arange(len(widths)), widths).astype(np.int32)

    def widths(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """The columns in use, in the order of their attributes: place in the table, whose header is `names`; width."""
        by_key, seen = self.encoder.widths_by_key, Counter[str]()
        found = []
        for j, _ in self.columns:
            seen[names[j]] += 1
            key = names[j], seen[names[j]]
            if key in by_key:
                found.append((j, by_key[key]))
        return found

    def check(self, what: str) -> None:
        """Refuse a table without attributes; `what` names it in the message.

        Raises
        ------
        DataError
        """
        if not self.encoder.attribute_names:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out[:5])
            raise DataError(f"{what}{f' ({reasons})' if reasons else ''}; add columns that describe the rows")


@dataclass
class Prepared:
    """A table that was read: attributes x (n, M), and the labels of its n rows."""

    attributes: Attributes[np.ndarray]
    target: Target


def prepare(table: Table, options: ReadOptions, *, target: int | None = None, progress: Progress = silent) -> Prepared:
    """Read the label column of a table, and its other columns as attributes.

    Parameters
    ----------
    table : Table
    options : ReadOptions
    target : int, optional
        The place of the label column, if it is not looked up by name.
    progress : callable

    Raises
    ------
    UsageError
        A column that is not there, or a name that several have; the label column among those to exclude.
    DataError
        No label, a label that cannot be one, or no column to learn from.
    """
    at = table.find(options.target) if target is None else target
    labels = read_label_column(table, at, options)
    return Prepared(read_attributes(Columns(table, options, at, progress=progress)), labels)


def read_label_column(table: Table, at: int, options: ReadOptions) -> Target:
    """Understand the label column of `table`, at place `at`.

    Raises
    ------
    DataError
        As :func:`vsacli.target.column.read_target`.
    """
    from vsacli.tables.further_headers import further_headers
    from vsacli.target.earlier_run import filled_earlier, keep, without

    if at in table.nested:
        raise not_labels(table.columns[at], table.nested[at])
    cells, headers = table.column(at), further_headers(table, at)
    filled = filled_earlier(table, table.columns[at])
    if filled is not None:
        try:
            kept = keep(read_labels(without(cells, filled), table, options, headers), cells, filled)
            return without_rows_of_nothing(kept, table, at)
        except DataError:
            pass  # no other label: these are the given ones
    return without_rows_of_nothing(read_labels(cells, table, options, headers), table, at)


def read_labels(cells: pa.Array, table: Table, options: ReadOptions, headers: Sequence[int] = ()) -> Target:
    """Understand the cells of the label column of `table`, of which the rows `headers` are further header rows.

    Raises
    ------
    DataError
        As :func:`vsacli.target.column.read_target`.
    """
    from vsacli.attributes.named_missing import split_tokens
    from vsacli.target.column import read_target
    from vsacli.target.sparse import read_sparse_target

    tokens, named = split_tokens([*table.columns, options.target], options.na)
    read = read_target if len(cells) < LARGE_ROWS else read_sparse_target
    return read(
        cells,
        task=options.task,
        na=[*tokens, *named.get(options.target, [])],
        default_na=options.default_na,
        decimal=table.decimal,
        name=options.target,
        where=table.where,
        headers=headers,
    )


def without_rows_of_nothing(target: Target, table: Table, at: int | None, *, above: int = 0) -> Target:
    """The labels of a table, of which empty rows and the totals below it get none and are not read.

    Parameters
    ----------
    target : Target
        Of the rows of another table, `above` of them, and then of those of `table`.
    table : Table
    at : int, optional
        The place of the label column in `table`, if it has one.
    above : int
    """
    from vsacli.tables.rows_of_nothing import empty_rows, total_rows

    missing = target.missing[above:]
    empty = empty_rows(table, at, np.flatnonzero(missing))
    totals = np.setdiff1d(total_rows(table, at), [*np.flatnonzero(~missing), *empty])
    left = np.concatenate([empty, totals])
    if not len(left):
        return target
    notes = [*target.notes]
    if len(empty):
        first, many = table.where(int(empty[0])), f"{len(empty):,} rows are empty and left out, the first is"
        notes.append(f"{many} {first}" if len(empty) > 1 else f"1 row is empty and left out, {first}")
    if len(totals):
        n_below = len(totals) - 1
        below = f", and so {'are' if n_below > 1 else 'is'} {n_below} below it" if n_below else ""
        notes.append(f"{table.where(int(totals[0]))} holds totals and is left out{below}")
    unread = np.zeros(len(target.missing), bool)
    unread[above + left] = True
    tokens = Counter(target.missing_tokens) - Counter({"": len(left)})
    return replace(
        target,
        missing=target.missing & ~unread,
        missing_tokens=dict(tokens),
        ignored=unread if target.ignored is None else target.ignored | unread,
        unread=unread,
        notes=notes,
    )


def check_tokens(table: Table, options: ReadOptions) -> None:
    """Refuse a token of a column that the table does not have.

    Raises
    ------
    UsageError
    """
    from vsacli.attributes.named_missing import split_tokens

    tokens, _ = split_tokens([*table.columns, options.target], options.na)
    for token in tokens:
        name, equals, _ = token.partition("=")
        if not equals or not name:
            continue
        near = nearest(table.columns, name)
        hint = f"did you mean {near!r}?" if near else f"for labels that read {token!r}, --na {options.target}={token}"
        raise UsageError(f"--na {token}: {table.name} has no column {name!r}; {hint}")


def excluded_columns(table: Table, options: ReadOptions) -> set[int]:
    """The places of the columns that `options` exclude: of a name that several have, all of them.

    Raises
    ------
    UsageError
        A name is not there; the message suggests one that is.
    """
    return _places(table, options.exclude)


def _places(table: Table, names: Iterable[str]) -> set[int]:
    places: set[int] = set()
    for name in names:
        places.update([j for j, other in enumerate(table.columns) if other == name] or [table.find(name)])
    return places


class Columns:
    """The columns of a table that may become attributes, read one after the other.

    Parameters
    ----------
    table : Table
    options : ReadOptions
    target : int, optional
        The place of the label column, if the table has one.
    useless : mapping of int to str
        Columns known to carry no information, with the reason.
    among : sequence of int, optional
        The columns to read; all, if not given.
    progress : callable

    Attributes
    ----------
    left_out : list of (str, str)
        Columns that are not read although they might be, with the reason.
    included : list of str
        Names of columns that are used even if they look like ids.
    missing : dict of str to list of str
        Contents that mean "no value", by the name of a column.
    read : list of (int, pa.DataType)
        What was read so far.

    Raises
    ------
    UsageError
        A column to exclude or include is not there, or is the label column.
    """

    def __init__(
        self,
        table: Table,
        options: ReadOptions,
        target: int | None,
        *,
        useless: Mapping[int, str] | None = None,
        among: Sequence[int] | None = None,
        progress: Progress = silent,
    ) -> None:
        excluded = excluded_columns(table, options)
        if target in excluded:
            raise UsageError(f"--exclude {options.target}: the target is never an attribute; leave the option out")
        included = _places(table, options.include)
        if target in included:
            raise UsageError(f"--include {options.target}: the target is never an attribute; leave the option out")
        if both := sorted(included & excluded):
            raise UsageError(f"{table.columns[both[0]]!r} is both in --include and in --exclude; leave out one of them")
        from vsacli.attributes.named_missing import split_tokens
        from vsacli.target.earlier_run import REASON, added_columns

        useless = {
            **dict.fromkeys(table.nested, SEVERAL_VALUES),
            **dict.fromkeys(added_columns(table.columns, options.target), REASON),
            **(useless or {}),
        }
        useless = {j: reason for j, reason in useless.items() if j not in excluded | included | {target}}
        self.table, self.options, self._progress = table, options, progress
        self.included = [table.columns[j] for j in included]
        self.left_out = [(table.columns[j], "--exclude") for j in sorted(excluded)]
        self.left_out += [(table.columns[j], reason) for j, reason in useless.items()]
        self.read: list[tuple[int, pa.DataType]] = []
        skipped = excluded | useless.keys() | {target}
        check_tokens(table, options)
        _, self.missing = split_tokens([*table.columns, options.target], options.na)
        self._places = [j for j in (range(len(table.columns)) if among is None else among) if j not in skipped]

    def __iter__(self) -> Iterator[tuple[str, pa.Array]]:
        from vsacli.attributes.named_missing import without_tokens

        names = self.table.columns
        for j in self._places:
            self._progress("reading columns", j, len(names))
            cells = self.table.column(j)
            if names[j] in self.missing:
                cells = without_tokens(cells, self.missing[names[j]])
            self.read.append((j, cells.type))
            yield names[j], cells
            del cells  # before the next one is read


def read_attributes(
    columns: Columns, *, copies: np.ndarray | None = None, words: bool = False
) -> Attributes[np.ndarray]:
    """The columns of a table as attributes.

    Parameters
    ----------
    columns : Columns
    copies : ndarray of bool, optional
        As of `AttributeEncoder.fit_transform`.
    words : bool
        Whether to have the words of columns of text as well.

    Raises
    ------
    DataError
        No column becomes an attribute.
    """
    from vsacli.attributes.encoder import AttributeEncoder

    encoder = AttributeEncoder(seed=columns.options.seed, include=columns.included)
    told: list[Words] | None = [] if words else None
    x = encoder.fit_transform(columns, decimal=columns.table.decimal, copies=copies, words=told)
    return _of_columns(Attributes(x, encoder, left_out=list(encoder.left_out), words=side_by_side(told)), columns)


def pack_attributes(columns: Columns, *, copies: np.ndarray | None = None) -> Attributes[CompactAttributes]:
    """`read_attributes` of a large table, with words, in less room."""
    import pyarrow as pa

    from vsacli.attributes.encoder import AttributeEncoder
    from vsacli.attributes.packed import CompactAttributes
    from vsacli.support.malloc_trim import give_back_free_memory

    encoder = AttributeEncoder(seed=columns.options.seed, include=columns.included)
    told: list[Words] = []
    x = encoder.fit_into(CompactAttributes, columns, decimal=columns.table.decimal, copies=copies, words=told)
    x = CompactAttributes(columns.table.n_rows) if x is None else x
    found = _of_columns(Attributes(x, encoder, left_out=list(encoder.left_out), words=side_by_side(told)), columns)
    pa.default_memory_pool().release_unused()
    give_back_free_memory()  # a tenth of what the process holds by now, which the network can have
    return found


def encode(columns: Iterable[tuple[str, pa.Array]], *, seed: int = 0, words: bool = False) -> Attributes[np.ndarray]:
    """Named columns as attributes, which may be none (see `Attributes.check`), and the words of text."""
    from vsacli.attributes.encoder import AttributeEncoder

    encoder, told = AttributeEncoder(seed=seed), [] if words else None
    x = encoder.fit_transform(columns, words=told)
    return Attributes(x, encoder, left_out=list(encoder.left_out), words=side_by_side(told))


def _of_columns(found: Attributes[X], columns: Columns) -> Attributes[X]:
    found.columns, found.left_out = columns.read, columns.left_out + found.left_out
    found.check(f"{columns.table.name}: no column to learn from besides the target")
    return found
