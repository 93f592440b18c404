"""Columns of a table → numeric attributes, one column at a time, fitted on all rows."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.choose import AnId, Fitted, LeftOut, fit_column
from vsacli.attributes.column_encoders import ColumnEncoder
from vsacli.attributes.column_kinds import MIN_SEQUENCE, NEARLY_ALL, says_id
from vsacli.attributes.given import GivenEncoder, GivenPatterns, OnlyGivenEncoder, filled_cells, given_rows, with_given
from vsacli.attributes.text import TextEncoder
from vsacli.attributes.words import Words
from vsacli.errors import ResourceError
from vsacli.tables.arrow_types import simplified

if TYPE_CHECKING:
    import pandas as pd

Columns = Iterable[tuple[str, pa.Array]]


class Store(Protocol):
    """What attributes are collected in, a column's at a time."""

    def append(self, part: np.ndarray) -> None: ...


S = TypeVar("S", bound=Store)
Key = tuple[str, int]  # a column's name, and its number among the columns of that name


class AttributeEncoder:
    """Turn the columns of a table into attributes.

    Every column is read by `vsacli.attributes.choose.fit_column`, which decides from all of its rows whether it holds
    numbers, booleans, categories, dates, times or text, and how many attributes it becomes; one more says which cells
    are filled, if some are empty (`vsacli.attributes.given`). Ids, constants, empty columns and values that are not
    cells (lists, bytes) are left out and named.

    Parameters
    ----------
    seed : int
        Seed of the decomposition of text. The same input and seed give the same bytes.
    include : collection of str
        Names of columns that are used even if they look like ids.

    Attributes
    ----------
    attribute_names : list of str
        One name an attribute: the column's name and, if it has several attributes, what each one says.
    used : dict of str to int
        Number of attributes of every column in use, in the order of the table.
    left_out : list of (str, str)
        Columns that are not used, with the reason in plain words.

    Notes
    -----
    The order of the rows changes nothing but the order of the result, and so does the order of the columns.
    """

    def __init__(self, seed: int = 0, include: Collection[str] = ()) -> None:
        self.seed = seed
        self.include = frozenset(unicodedata.normalize("NFC", name) for name in include)
        self.attribute_names: list[str] = []
        self.used: dict[str, int] = {}
        self.left_out: list[tuple[str, str]] = []
        self._encoders: dict[Key, ColumnEncoder] = {}
        self._patterns = GivenPatterns()

    @property
    def widths(self) -> list[int]:
        """Number of attributes of each column in use, in order; columns of one name stay apart."""
        return [len(encoder.names) for encoder in self._encoders.values()]

    @property
    def further(self) -> np.ndarray:
        """Which attributes one reading does without, bool (M,): further components of text."""
        return np.concatenate([np.zeros(0, bool), *map(_further, self._encoders.values())])

    @property
    def widths_by_key(self) -> dict[Key, int]:
        """The same by (name, number of the column among those of that name, from 1)."""
        return {key: len(encoder.names) for key, encoder in self._encoders.items()}

    def fit(self, columns: Columns, decimal: str = ".") -> AttributeEncoder:
        """Fit on (name, values) pairs; `decimal` is the decimal mark of a text table."""
        for _ in self._fit_each(columns, decimal, None, None):
            pass
        return self

    def fit_transform(
        self,
        columns: Columns,
        decimal: str = ".",
        copies: np.ndarray | None = None,
        words: list[Words] | None = None,
    ) -> np.ndarray:
        """Fit and encode in one pass, holding one column of text at a time.

        Parameters
        ----------
        columns, decimal
            As for `fit`.
        copies : bool (k,), optional
            The first k rows are of another table; those marked are copies of rows of this one. Column types
            are decided without them.
        words : list, optional
            To be given the words of each column of text, (n, V) (`vsacli.attributes.text.TextEncoder.words`).

        Returns
        -------
        ndarray of float32, shape (n, M), NaN where not observed.

        Raises
        ------
        ResourceError
            The attributes do not fit in memory.
        """
        result = self.fit_into(_Growing, columns, decimal, copies, words)
        return np.empty((0, 0), np.float32) if result is None else result.array

    def fit_into(
        self,
        store: Callable[[int], S],
        columns: Columns,
        decimal: str = ".",
        copies: np.ndarray | None = None,
        words: list[Words] | None = None,
    ) -> S | None:
        """Fit in one pass, and give the attributes of each column to the store: `store(n)`, then `append((n, m))`.

        Parameters are those of `fit_transform`.

        Returns
        -------
        The store; None if there is no column.

        Raises
        ------
        ResourceError
            The attributes do not fit in memory.
        """
        result: S | None = None
        n_rows = 0
        try:
            for n_rows, encoded in self._fit_each(columns, decimal, copies, words):
                result = result or store(n_rows)
                if encoded is not None:
                    result.append(encoded)
                del encoded  # before the next column is read
        except MemoryError:
            if result is None:
                raise ResourceError(
                    "not even the first column fits in memory; close other programs, or label fewer rows at once"
                ) from None
            raise ResourceError(
                f"{n_rows:,} rows of {len(self.attribute_names)} attributes or more do not fit in memory; leave out "
                f"columns with --exclude, or label about {n_rows // 2:,} rows at a time"
            ) from None
        return result

    def transform(self, columns: Columns, words: list[Words] | None = None) -> np.ndarray:
        """Encode columns of the same names, in any order; a column that is absent is not observed.

        Parameters
        ----------
        columns
            As for `fit`.
        words
            As for `fit_transform`, of the same columns in the same order.

        Returns
        -------
        ndarray of float32, shape (n, M), NaN where not observed.
        """
        encoded: dict[Key, np.ndarray] = {}
        told: dict[Key, Words] = {}
        n_rows = 0
        for key, column in _keyed(columns):
            n_rows = len(column)
            if key in self._encoders:
                cells = _decoded(column)
                encoded[key] = self._encoders[key].encode(cells)
                if words is not None and (text := self._text(key)) is not None:
                    told[key] = text.words(cells)
        result = _Growing(n_rows)
        for key, encoder in self._encoders.items():
            part = encoded.pop(key, None)
            result.append(np.full((n_rows, len(encoder.names)), np.nan, np.float32) if part is None else part)
            if words is not None and (text := self._text(key)) is not None:
                words.append(told[key] if key in told else text.words(pa.nulls(n_rows, pa.string())))
        return result.array

    def _fit_each(
        self, columns: Columns, decimal: str, copies: np.ndarray | None, words: list[Words] | None
    ) -> Iterator[tuple[int, np.ndarray | None]]:
        """Fit column after column; yield its number of rows and its attributes (None if left out)."""
        self.attribute_names, self.used, self.left_out, self._encoders = [], {}, [], {}
        self._patterns = GivenPatterns()
        fallbacks: list[tuple[Key, int, Fitted]] = []
        for key, column in _keyed(columns):
            n_rows, encoded = len(column), None
            try:
                encoded = self._use(key, self._fit_column(key[0], column, decimal, copies, words is not None))
                if words is not None and (text := self._text(key)) is not None:
                    words.append(text.words(_decoded(column)))
            except LeftOut as reason:
                filled = filled_cells(column)
                told = str(reason)
                if self._patterns.is_new(filled):
                    encoded = self._use(key, (OnlyGivenEncoder(), filled.astype(np.float32)[:, None]))
                    told += "; only whether a cell is filled is used"
                self.left_out.append((key[0], told))
                if reason.fallback is not None and not self._encoders:
                    fallbacks.append((key, len(self.left_out) - 1, reason.fallback))
            del column  # before the next one is read
            yield n_rows, encoded
            del encoded
        if not self._encoders:  # numbers 1, 2, 3, ... are better than no attribute
            for key, _, fitted in fallbacks:
                yield len(fitted[1]), self._use(key, fitted)
            kept = {index for _, index, _ in fallbacks}
            self.left_out = [entry for index, entry in enumerate(self.left_out) if index not in kept]

    def _fit_column(self, name: str, column: pa.Array, decimal: str, copies: np.ndarray | None, words: bool) -> Fitted:
        """Fit a column without its copies, and encode all of it."""
        aside = np.zeros(len(column), bool)
        if copies is not None:
            id_by_itself = _is_id_by_itself(name, column, len(copies), decimal, self.seed)
            aside[: len(copies)] = True if id_by_itself else copies
        if not aside.any():
            return self._fit_cells(name, column, decimal, words)
        try:
            fitted = self._fit_cells(name, column.filter(pa.array(~aside)), decimal, words)
        except LeftOut as left_out:
            if left_out.fallback is not None:
                left_out.fallback = _with_others(left_out.fallback, column, aside)
            raise
        return _with_others(fitted, column, aside)

    def _fit_cells(self, name: str, column: pa.Array, decimal: str, words: bool) -> Fitted:
        try:
            fitted = fit_column(name, column, decimal=decimal, seed=self.seed)
        except AnId as an_id:
            if name not in self.include:
                raise
            fitted = an_id.forced()
        if words and isinstance(fitted[0], TextEncoder):
            fitted[0].fit_words(_decoded(column))
        return fitted

    def _text(self, key: Key) -> TextEncoder | None:
        """The encoder of a column in use, if that is text."""
        return _inner_text(self._encoders[key])

    def _use(self, key: Key, fitted: Fitted) -> np.ndarray:
        encoder, encoded = fitted
        if self._patterns.is_new(given_rows(encoded)):
            encoder, encoded = GivenEncoder(encoder), with_given(encoded)
        name, number = key
        self._encoders[key] = encoder
        shown = name if number == 1 else f"{name} ({number})"
        self.used[shown] = len(encoder.names)
        self.attribute_names += [f"{shown} {suffix}".rstrip() for suffix in encoder.names]
        return encoded


def _inner_text(encoder: ColumnEncoder) -> TextEncoder | None:
    inner = encoder.inner if isinstance(encoder, GivenEncoder) else encoder
    return inner if isinstance(inner, TextEncoder) else None


def _further(encoder: ColumnEncoder) -> np.ndarray:
    found = np.zeros(len(encoder.names), bool)
    if (text := _inner_text(encoder)) is not None:
        found[len(text.names) - text.further : len(text.names)] = True
    return found


def columns_of(frame: pd.DataFrame | np.ndarray) -> list[tuple[str, pa.Array]]:
    """Split a data frame or a 2-D array into named Arrow columns, as `AttributeEncoder` takes them.

    Columns of Python objects that are of no single Arrow type are spelled as text. The columns of an array are named
    x0, x1, ...
    """
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise ValueError(f"a table has 2 dimensions, not {frame.ndim}")
        return [(f"x{j}", _arrow_column(frame[:, j])) for j in range(frame.shape[1])]
    return [(str(name), _arrow_column(frame.iloc[:, j])) for j, name in enumerate(frame.columns)]


def _arrow_column(values: Any) -> pa.Array:
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        spelled = [None if v is None or v != v else str(v) for v in values]
        column = pa.array(spelled, pa.large_string())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _keyed(columns: Columns) -> Iterator[tuple[Key, pa.Array]]:
    """Number the columns of one name, so that duplicate headers stay apart; names compare in composed Unicode."""
    seen: Counter[str] = Counter()
    for name, column in columns:
        name = unicodedata.normalize("NFC", str(name))
        seen[name] += 1
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        column = simplified(column)
        yield (name, seen[name]), column
        del column  # before the next one is read


def _decoded(column: pa.Array) -> pa.Array:
    return simplified(column.dictionary_decode()) if pa.types.is_dictionary(column.type) else column


def _is_id_by_itself(name: str, column: pa.Array, above: int, decimal: str, seed: int) -> bool:
    """Whether a column with the name of an id is one in the rows below the first `above`, and differs in all of those.

    Then the rows of each table were numbered separately (an index from 0), and equal numbers mean nothing.
    """
    others, own = column.slice(0, above), column.slice(above)
    if not says_id(name) or len(own) < MIN_SEQUENCE or pa.types.is_nested(column.type):
        return False
    if pc.count_distinct(others, mode="only_valid").as_py() < NEARLY_ALL * len(others):
        return False
    try:
        fit_column(name, own, decimal=decimal, seed=seed)
    except AnId:
        return True
    except LeftOut:
        pass
    return False


def _with_others(fitted: Fitted, column: pa.Array, aside: np.ndarray) -> Fitted:
    """Put the rows that an encoder was not fitted on among those that it was, in the column's order."""
    encoder, encoded = fitted
    whole = np.empty((len(column), encoded.shape[1]), np.float32)
    whole[~aside] = encoded
    whole[aside] = encoder.encode(_decoded(column.filter(pa.array(aside))))
    return encoder, whole


class _Growing:
    """An array (n, M) that gets columns added, attribute after attribute in memory.

    The block is enlarged in place, which moves no bytes if it is large: a table of a million rows
    is never held twice.
    """

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._width = 0
        self._block = np.empty(0, np.float32)

    def append(self, part: np.ndarray) -> None:
        """Add the columns of ``part``, shape (n, m)."""
        start = self._block.size
        self._block.resize(start + part.size, refcheck=False)  # no view of it is given out before the end
        self._block[start:].reshape(part.shape[::-1])[:] = part.T
        self._width += part.shape[1]

    @property
    def array(self) -> np.ndarray:
        """All columns, float32 (n, M), in column order in memory."""
        return self._block.reshape(self._width, self.n_rows).T
