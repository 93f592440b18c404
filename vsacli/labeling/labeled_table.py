"""Labels that come from another table (`--labeled FILE`): its labeled rows above the rows of the table to fill."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.errors import DataError
from vsacli.labeling.rows_to_label import of_the_form
from vsacli.support.privacy import values_shown
from vsacli.support.wording import some
from vsacli.tables.arrow_types import as_text, is_number, is_text

if TYPE_CHECKING:
    from vsacli.tables.table import Table

# A whole cell that is a number with a decimal comma or with dots between its thousands; and one with a decimal dot.
_COMMA_NUMBER = r"^\s*[+-]?(\d{1,3}(\.\d{3})+(,\d+)?|\d+,\d+)\s*%?\s*$"
_DOT_NUMBER = r"^\s*[+-]?\d+\.\d+\s*%?\s*$"


class LabeledContext:
    """The rows of `source` that have a label, stacked above all rows of `table`.

    Columns are matched by name, the second of two equal names with the second, and so on.

    Parameters
    ----------
    source, table
        The table that gives labels, and the one to be filled.
    keep : bool (rows of source,)
        Which rows of the source have a label.
    """

    def __init__(self, source: Table, table: Table, keep: np.ndarray) -> None:
        self.source, self.table = source, table
        self._keep = pa.array(keep)
        self.n_rows = int(keep.sum())
        ours, theirs = _places(table.columns), _places(source.columns)
        self._match = {j: theirs[key] for key, j in ours.items() if key in theirs}
        self._only_table = [table.columns[j] for key, j in ours.items() if key not in theirs]
        self._only_source = [source.columns[j] for key, j in theirs.items() if key not in ours]

    def without(self, rows: np.ndarray) -> LabeledContext:
        """The same without some of the labeled rows, bool (rows of the context,)."""
        keep = self._keep.to_numpy(zero_copy_only=False).copy()
        keep[np.flatnonzero(keep)[rows]] = False
        return LabeledContext(self.source, self.table, keep)

    def table_has(self, name: str) -> bool:
        """Whether the table to be filled has a column of that name."""
        return (_normal(name), 0) in _places(self.table.columns)

    def matched(self) -> list[int]:
        """The columns of the table that the source also has."""
        return list(self._match)

    def matched_in_source(self) -> list[int]:
        """The same columns in the source."""
        return list(self._match.values())

    def above(self, column: int) -> pa.Array:
        """Column `column` of the table, which the source must also have, in the source's labeled rows."""
        return self.of_source(self._match[column])

    def stacked(self, column: int) -> pa.Array:
        """Column `column` of the table, below the cells of the same column in the source's labeled rows."""
        return stack(self.above(column), _plain(self.table.column(column)))

    def stacked_table(self) -> StackedTable:
        """The rows of both as one table."""
        return StackedTable(self)

    def stacked_target(self, source_column: int, column: int | None) -> pa.Array:
        """The target of both; if the table has none, all its cells are missing."""
        labels = self.of_source(source_column)
        cells = pa.nulls(self.table.n_rows) if column is None else _plain(self.table.column(column))
        if pa.types.is_null(cells.type):  # takes the type of the labels
            return pa.concat_arrays([labels, filled_up(cells, labels.type)])
        labels = as_type(labels, cells.type, where=self.source.name, table=self.table.name)
        return pa.concat_arrays([labels, cells])

    def notes(self, target: str) -> list[str]:
        """What the user should know about the match; `target` is used, in whichever table it is."""
        come = "labeled row comes" if self.n_rows == 1 else "labeled rows come"
        notes = [f"{self.n_rows:,} {come} from {self.source.name}"]
        notes += _note_on_unused(self._only_table, self.table, self.source, target)
        return notes + self.notes_on_source(target)

    def notes_on_source(self, target: str) -> list[str]:
        """What the user should know about columns of the source."""
        return _note_on_unused(self._only_source, self.source, self.table, target)

    def of_source(self, source_column: int) -> pa.Array:
        """A column of the source, in its labeled rows, with the decimal mark of the table."""
        cells = _plain(self.source.column(source_column)).filter(self._keep)
        return _with_decimal(cells, self.source.decimal, self.table.decimal)


def _note_on_unused(names: Sequence[str], where: Table, other: Table, target: str) -> list[str]:
    """A note on columns that only one of two tables has, unless they are the target or of the form of rows to label."""
    ours = of_the_form(where.columns, target)
    names = [name for name in names if _normal(name) != _normal(target) and name not in ours]
    if not names:
        return []
    return [f"not used, because {other.name} has no such columns, only {where.name}: {some(names, 8)}"]


class StackedTable:
    """The labeled rows of one table above the rows of another, as a `Table` of the columns that both have."""

    def __init__(self, context: LabeledContext) -> None:
        self._context, table = context, context.table
        self.name, self.columns, self.notes = table.name, table.columns, table.notes
        self.decimal, self.is_text, self.nested = table.decimal, table.is_text, table.nested
        self.n_rows = context.n_rows + table.n_rows

    def find(self, name: str) -> int:
        return self._context.table.find(name)

    def where(self, row: int) -> str:
        above = self._context.n_rows
        return self._context.table.where(row - above) if row >= above else f"labeled row {row + 1}"

    def column(self, j: int) -> pa.Array:
        return self._context.stacked(j)


def stack(above: pa.Array, below: pa.Array) -> pa.Array:
    """`above` then `below`; if their types differ, as numbers if both are, else as text."""
    if above.type != below.type:
        if pa.types.is_null(above.type):
            above = above.cast(below.type)
        elif pa.types.is_null(below.type):
            below = below.cast(above.type)
        elif is_number(above.type) and is_number(below.type):
            above, below = above.cast(pa.float64(), safe=False), below.cast(pa.float64(), safe=False)
        else:
            above, below = as_text(above), as_text(below)
    return pa.concat_arrays([above, below])


def filled_up(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cells; those of the type null, which hold nothing, as cells of type `kind` that hold nothing (of text: "")."""
    if not pa.types.is_null(cells.type):
        return cells
    cells = cells.cast(kind)
    return pc.fill_null(cells, "") if is_text(kind) else cells


def together(pieces: Sequence[pa.Array]) -> pa.Array:
    """Cells of one column of several tables, one below the other; categories stay categories.

    A piece without any value may be of the type null.
    """
    kind = next((piece.type for piece in pieces if not pa.types.is_null(piece.type)), pa.null())
    cells = pa.concat_arrays([like(piece, _value_type(kind)) for piece in pieces])
    return cells.dictionary_encode() if pa.types.is_dictionary(kind) else cells


def like(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cells of a column in the type that other cells of it have after `stack` or `together`."""
    wanted = _value_type(kind)
    cells = _plain(cells)
    if cells.type == wanted:
        return cells
    return as_text(cells) if is_text(wanted) and not pa.types.is_null(cells.type) else cells.cast(wanted, safe=False)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def as_type(labels: pa.Array, wanted: pa.DataType, *, where: str, table: str) -> pa.Array:
    """`labels` in the type of the target column of the table to be filled.

    Raises
    ------
    DataError
        A label cannot be said in that type.
    """
    if labels.type == wanted:
        return labels
    try:
        if is_text(wanted):
            return as_text(labels).cast(wanted)
        if is_text(labels.type):
            labels = pc.if_else(pc.equal(pc.utf8_trim_whitespace(labels), ""), None, labels)
        return labels.cast(wanted)
    except pa.ArrowException as error:
        why = f": {error}" if values_shown() else ""
        raise DataError(
            f"the labels of {where} do not fit the target column of {table}, which holds {wanted}{why}"
        ) from None


def _plain(cells: pa.Array) -> pa.Array:
    return cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells


def _with_decimal(cells: pa.Array, own: str, wanted: str) -> pa.Array:
    """Cells of a text column with their numbers written with the decimal mark `wanted`."""
    if own == wanted or not is_text(cells.type):
        return cells
    if own == ",":
        written = pc.replace_substring(pc.replace_substring(cells, ".", ""), ",", ".")
        return pc.if_else(pc.match_substring_regex(cells, _COMMA_NUMBER), written, cells)
    return pc.if_else(pc.match_substring_regex(cells, _DOT_NUMBER), pc.replace_substring(cells, ".", ","), cells)


def _places(names: Sequence[str]) -> dict[tuple[str, int], int]:
    """(Normalised name, how many of that name came before) -> column number."""
    seen: dict[str, int] = defaultdict(int)
    places = {}
    for j, name in enumerate(names):
        key = _normal(name)
        places[key, seen[key]] = j
        seen[key] += 1
    return places


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)
