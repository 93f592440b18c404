"""The label column: which cells are missing, what the given ones mean, and how new ones are spelled.

Classes are told apart by their exact spelling (``1``, ``01`` and ``1.0`` are three classes, ``Yes`` and ``yes`` two);
only surrounding white space and the Unicode form (composed or not) make no difference. Numbers are understood as
:mod:`vsacli.target.written_number` says. See :mod:`vsacli.target.missing` for missing labels and
:mod:`vsacli.target.task_rule` for the choice between classification and regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from vsacli.errors import DataError, NoLabelError
from vsacli.support.privacy import VARIABLE, values_shown
from vsacli.tables.arrow_types import decimals_of, is_number, is_text, numbers_to_arrow, plain, readable, to_float64
from vsacli.target.distinct_labels_note import note_on_different
from vsacli.target.domain import Domain
from vsacli.target.doubtful import far_numbers, is_spreadsheet_error, looks_missing
from vsacli.target.label_notes import limits_as_numbers, near_spellings, not_learned_from, often_missing, other_task
from vsacli.target.missing import missing_labels, normalize
from vsacli.target.number_style import NumberStyle
from vsacli.target.task_rule import judge, spelled_like_codes
from vsacli.target.written_number import infinities, read_numbers

if TYPE_CHECKING:
    import pyarrow as pa

Task = Literal["auto", "classification", "regression"]


@dataclass(eq=False)
class Target:
    """A label column, understood. Arrays have one entry per row (n)."""

    name: str
    kind: Literal["classification", "regression"]
    reason: str
    """Why it is this kind of task, in plain words."""
    missing: np.ndarray
    """bool[n]: the cells to be filled."""
    missing_tokens: dict[str, int]
    """The contents of the missing cells, with counts; ``""`` counts empty and white-space cells and nulls."""
    codes: np.ndarray
    """int64[n]: the class of each given label, -1 where missing (all -1 in a regression)."""
    numbers: np.ndarray
    """float64[n]: the given numbers, NaN where missing (all NaN in a classification)."""
    classes: list[str] = field(default_factory=list)
    """For display: each class in its most frequent spelling. Their order, of numbers or of letters, is that of codes:
    no answer depends on which row stands first."""
    notes: list[str] = field(default_factory=list)
    """What was decided about doubtful cells, one line each."""
    ignored: np.ndarray | None = None
    """bool[n]: cells that are kept as they are, though they say nothing to learn from; None: there are none."""
    unread: np.ndarray | None = None
    """bool[n]: which of these are in rows that describe no thing, empty or of totals; None: there are none."""
    _spellings: pa.Array | None = None
    _type: pa.DataType | None = None
    _style: NumberStyle = field(default_factory=NumberStyle)
    _domain: Domain = field(default_factory=Domain)

    @property
    def given(self) -> np.ndarray:
        """bool[n]: the labels to learn from."""
        return ~self.missing if self.ignored is None else ~(self.missing | self.ignored)

    @property
    def n_labeled(self) -> int:
        return int(self.given.sum())

    def spell_classes(self, codes: np.ndarray) -> pa.Array:
        """The cells for these classes.

        Parameters
        ----------
        codes
            int[m], indices into ``classes``.

        Returns
        -------
        pa.Array
            m cells: text as the user spelled that class most often, or values of the Parquet column's value type.
        """
        import pyarrow as pa

        if self._spellings is None:
            raise ValueError("a regression target has no classes")
        return self._spellings.take(pa.array(np.asarray(codes), type=pa.int64())).cast(self._type)

    def spell_numbers(self, values: np.ndarray) -> pa.Array:
        """The cells for these numbers.

        Parameters
        ----------
        values
            float[m], finite.

        Returns
        -------
        pa.Array
            m cells, in the domain of the given numbers (sign, step): text written as these are (decimal mark, digits,
            currency sign, ...), or values of the Parquet column's value type, rounded and kept within its range.

        Raises
        ------
        DataError
            If a value is not finite: no such label is ever written.
        """
        import pyarrow as pa

        if self._type is None or self.kind != "regression":
            raise ValueError("a classification target has no numbers")
        values = np.asarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise DataError(
                f"column {self.name!r}: the predictions for {int((~np.isfinite(values)).sum())} rows are not numbers"
            )
        values = self._domain.nearest(values)
        if is_text(self._type):
            return pa.array([self._style.spell(value) for value in values.tolist()], type=self._type)
        return numbers_to_arrow(values, self._type, self._style.decimals)


def read_target(
    column: pa.Array | pa.ChunkedArray,
    *,
    task: Task = "auto",
    na: Iterable[str] = (),
    default_na: bool = True,
    decimal: str = ".",
    name: str = "target",
    where: Callable[[int], str] | None = None,
    headers: Sequence[int] = (),
) -> Target:
    """Understand a label column.

    Parameters
    ----------
    column
        All n cells, as :meth:`vsacli.tables.table.Table.column` gives them: text as it is in the file, or a Parquet
        column with its own type and nulls.
    task
        ``"auto"`` follows the rule of :mod:`vsacli.target.task_rule`.
    na, default_na
        Which tokens are missing labels: see :mod:`vsacli.target.missing`.
    decimal
        The table's decimal mark. The other mark is taken if only that one makes numbers of the labels.
    name
        The column's name, for messages.
    where
        Says where a row is (``"row 3 (line 4)"``), for messages; ``Table.where``.
    headers
        Further header rows: labels that only they have are not learned from.

    Raises
    ------
    DataError
        No label is given; the column's type cannot hold labels; a regression on something that is not a finite number.
    """
    import pyarrow as pa

    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"unknown task {task!r}")
    cells, value_type, categorical = plain(column, name)
    n = len(cells)
    if pa.types.is_null(cells.type):
        raise _no_label(name, n, {"": n} if n else {})
    found = _distinct(cells)
    missing_class, tokens, notes = _missing(found, cells, na, default_na)
    missing = missing_class[found.label]  # the last entry of missing_class serves the nulls (label -1)
    given = np.flatnonzero(~missing_class[:-1])
    if not given.size:
        raise _no_label(name, n, tokens)

    ignored = _no_labels(found, given, headers, where) if is_text(cells.type) and default_na else {}
    given = np.setdiff1d(given, list(ignored))
    numeric = _read_numeric(found, given, cells.type, decimal)
    if task != "classification" and not categorical and numeric.possible:
        far = _far_labels(numeric.values, found.counts[given], task)
        if far.any() and not numeric.codes:
            ignored |= dict.fromkeys(given[far], "lies far from all other labels")
            given = given[~far]
            numeric = _read_numeric(found, given, cells.type, decimal)
    notes += not_learned_from(found.keys, found.counts, ignored)
    counts = found.counts[given]
    if task == "auto":
        if given.size > 1 and (categorical or not numeric.possible):
            kind, reason = "classification", f"{given.size} distinct {'categories' if categorical else numeric.noun}"
        else:
            blanks = [np.isnan(v) and looks_missing(found.keys[i]) for v, i in zip(numeric.values, given, strict=True)]
            verdict = judge(numeric.values, counts, codes=numeric.codes, blanks=blanks)
            kind, reason = verdict.kind, verdict.reason
            notes += other_task(verdict)
        if kind == "mixed":
            raise _no_number(found, given, numeric, missing, name, where, reason)
    else:
        kind, reason = task, "as given with --task"

    blank_codes = np.full(n, -1, dtype=np.int64)
    blank_numbers = np.full(n, np.nan)
    target = Target(
        name, "classification", reason, missing, tokens, blank_codes, blank_numbers, notes=notes, _type=value_type
    )
    if ignored:
        kept = np.zeros(len(missing_class), dtype=bool)
        kept[list(ignored)] = True
        target.ignored = kept[found.label]
    if kind == "classification":
        sizes = np.where(np.isnan(numeric.values), np.inf, numeric.values)
        in_order = sorted(range(given.size), key=lambda i: (sizes[i], found.keys[given[i]]))
        given, counts, values = given[in_order], counts[in_order], numeric.values[in_order]
        new = np.full(len(missing_class), -1, dtype=np.int64)
        new[given] = np.arange(given.size)
        target.codes = new[found.label]
        target._spellings = found.spellings.take(pa.array(given))
        target.classes = [found.names[i] for i in given]
        keys = [found.keys[i] for i in given]
        notes += often_missing(keys, values)
        alike = near_spellings(keys)
        notes += alike
        if task == "auto" and not (alike or categorical) and (numeric.codes or np.isnan(values).any()):
            notes += filter(None, [note_on_different(keys, counts, cells.type)])
        return target

    target.kind = "regression"
    if not np.isfinite(numeric.values).all():
        raise _no_number(found, given, numeric, missing, name, where, None)
    if numeric.decimal != decimal and numeric.style.decimals:
        notes.append(f"decimal mark of the labels: {numeric.decimal!r}")
    notes += limits_as_numbers(*numeric.limits)
    new = np.full(len(missing_class), np.nan)
    new[given] = numeric.values
    target.numbers = new[found.label]
    target._style = numeric.style
    if not numeric.style.exponent and not numeric.style.feet:
        unit = (numeric.style.prefix + numeric.style.suffix).strip()
        target._domain = Domain.of(numeric.values, counts, numeric.style.decimals, unit)
    return target


def _no_labels(
    found: _Distinct, given: np.ndarray, headers: Sequence[int], where: Callable[[int], str] | None
) -> dict[int, str]:
    """Labels that cannot be labels, with the reason: errors of spreadsheets, and those of further header rows only."""
    reasons = {int(i): "is an error of a spreadsheet" for i in given if is_spreadsheet_error(found.keys[i])}
    of_headers = found.label[np.asarray(headers, np.int64)]
    for i in np.intersect1d(given, of_headers):
        row = int(found.first[i])
        if found.counts[i] == (of_headers == i).sum():
            reasons[int(i)] = f"is in a further header row, {where(row) if where else f'row {row + 1}'}"
    return reasons if len(reasons) < given.size else {}


def _far_labels(values: np.ndarray, counts: np.ndarray, task: Task) -> np.ndarray:
    """Numbers that stand for "missing" among the labels of a regression, bool (k,)."""
    far = far_numbers(values)
    if task == "auto" and far.any() and judge(values[~far], counts[~far]).kind != "regression":
        far[:] = False
    return far


@dataclass(frozen=True)
class _Distinct:
    """The distinct labels of a column: cells that differ in surrounding space alone are one label."""

    label: np.ndarray  # int64[n], index of each cell's label; -1 for a null
    spellings: pa.Array  # most frequent spelling (or value) of each label, as it stands in the cell
    names: list[str]  # the same as text, for display
    keys: list[str]  # normalised text
    counts: np.ndarray  # int64: cells of each label
    first: np.ndarray  # int64: the row in which each label first appears


def _distinct(cells: pa.Array) -> _Distinct:
    encoded = cells.dictionary_encode()
    spellings = encoded.dictionary
    row_spelling = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    given = row_spelling[row_spelling >= 0]
    counts = np.bincount(given, minlength=len(spellings))
    texts = readable(spellings)
    keys: list[str] = texts
    label_of = np.arange(len(texts))
    best = label_of
    if is_text(cells.type):
        index: dict[str, int] = {}
        label_of = np.array([index.setdefault(normalize(text), len(index)) for text in texts], dtype=np.int64)
        keys = list(index)
        # by label, then most frequent first, then first seen first: the head of each run is the spelling to use
        order = np.lexsort((np.arange(len(texts)), -counts, label_of))
        best = order[np.unique(label_of[order], return_index=True)[1]]
    label = np.where(row_spelling >= 0, label_of[row_spelling], -1) if len(texts) else row_spelling
    present, first = np.unique(label, return_index=True)
    return _Distinct(
        label=label,
        spellings=spellings.take(best),
        names=[texts[i] for i in best],
        keys=keys,
        counts=np.bincount(label_of, weights=counts, minlength=len(keys)).astype(np.int64),
        first=first[present >= 0],
    )


def _missing(
    found: _Distinct, cells: pa.Array, na: Iterable[str], default_na: bool
) -> tuple[np.ndarray, dict[str, int], list[str]]:
    """bool[labels + 1]: which labels are missing marks (the last entry stands for null); tokens with counts; notes."""
    na = list(na)
    nulls = int((found.label < 0).sum())
    notes: list[str] = []
    out = np.zeros(len(found.keys) + 1, dtype=bool)
    out[-1] = True
    if is_text(cells.type):
        marks, notes = missing_labels(found.keys, na=na, default_na=default_na, nulls=bool(nulls))
        out[:-1] = [key in marks for key in found.keys]
    else:
        named = {normalize(token) for token in na}
        numbers = {float(token) for token in named if _is_float(token)}
        values = to_float64(found.spellings) if is_number(cells.type) else np.full(len(found.keys), np.inf)
        out[:-1] = np.isnan(values) | np.isin(values, list(numbers)) & np.isfinite(values)
        out[:-1] |= np.array([key in named for key in found.keys], dtype=bool)
    tokens: dict[str, int] = {"": nulls} if nulls else {}
    for i in np.flatnonzero(out[:-1]):
        key = "NaN" if found.keys[i] == "nan" and not is_text(cells.type) else found.keys[i]
        tokens[key] = tokens.get(key, 0) + int(found.counts[i])
    return out, tokens, notes


def _is_float(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Numeric:
    """The distinct given labels as numbers."""

    values: np.ndarray  # float64, NaN if a label is not a number, infinite if it says so
    possible: bool  # the column's type can hold numbers
    noun: str  # what the labels are if not
    codes: bool = False
    style: NumberStyle = field(default_factory=NumberStyle)
    decimal: str = "."
    example: str = ""
    limits: tuple[int, str] = (0, "")  # how many cells are limits, and one of them


def _read_numeric(found: _Distinct, given: np.ndarray, kind: pa.DataType, decimal: str) -> _Numeric:
    if is_text(kind):
        keys = [found.keys[i] for i in given]
        read, decimal = read_numbers(keys, decimal)
        values = np.array([np.nan if number is None else number.value for number in read])
        rest = np.flatnonzero(np.isnan(values))
        values[rest] = infinities([keys[i] for i in rest], decimal)
        written = [number for number in read if number is not None]
        if not written:
            return _Numeric(values, bool(np.isinf(values).any()), "words", decimal=decimal)
        limits = [k for k, number in enumerate(read) if number is not None and number.bound]
        return _Numeric(
            values=values,
            possible=True,
            noun="words",
            codes=spelled_like_codes([number.whole for number in written]),
            style=NumberStyle.of(written, decimal),
            decimal=decimal,
            example=next(key for key, number in zip(keys, read, strict=True) if number is not None),
            limits=(int(found.counts[given[limits]].sum()), keys[limits[0]] if limits else ""),
        )
    if is_number(kind):
        values = to_float64(found.spellings.take(given))
        return _Numeric(values, True, "numbers", style=NumberStyle(decimals=decimals_of(found.spellings.take(given))))
    return _Numeric(np.full(given.size, np.nan), False, f"values of type {kind}")


def _no_label(name: str, n: int, tokens: dict[str, int]) -> DataError:
    if not n:
        return DataError(f"column {name!r} has no rows, so there is no label to learn from")
    words = [f"{token!r} in {count}" for token, count in tokens.items() if token]
    hint = f" ({', '.join(words)} of them: --no-default-na makes such words labels)" if words else ""
    return NoLabelError(
        f"column {name!r} has no label in any of its {n} rows{hint}: give at least one row of each class its label; "
        "vsa label --ask 10 asks you for some, and --suggest-to FILE names the rows to begin with"
    )


def _no_number(
    found: _Distinct,
    given: np.ndarray,
    numeric: _Numeric,
    missing: np.ndarray,
    name: str,
    where: Callable[[int], str] | None,
    mixed: str | None,
) -> DataError:
    """The error for labels that are not finite numbers: says where the first is, what it is if asked, what to do."""
    wrong = [i for i, value in zip(given, numeric.values, strict=True) if not np.isfinite(value)]
    i = min(wrong, key=lambda i: found.first[i])
    row = int(found.first[i])
    place = where(row) if where else f"row {row + 1}"
    cell, count = found.names[i], int(sum(found.counts[j] for j in wrong))
    total = int((~missing).sum())
    shown, named = f"the label ({VARIABLE}=1 shows it)", "name it with --na"
    like = ""
    if values_shown() or looks_missing(cell.strip()):
        shown, named = repr(cell), f"use --na {cell.strip()!r}"
        like = f" like {numeric.example!r}" if numeric.example and values_shown() else ""
    problem = f"column {name!r}, {place}: {shown} is not a finite number{like}"
    if count > 1:
        problem += f" ({count} of {total} labels are not)"
    if not numeric.possible:
        return DataError(f"{problem}; regression needs numbers: use --task classification")
    what = f"correct it, or {named} to have it filled"
    if mixed is None:
        return DataError(f"{problem}; {what}, or use --task classification")
    return DataError(f"{problem}, but the others are; {what}, or use --task classification")
