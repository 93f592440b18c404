"""Labels that a person gave in other tables (`--labeled`), put into the rows of the table that they belong to.

A row of `--suggest-to`, or of any file with the same columns, that comes back unchanged is a row of the table with a
label, and is read as if the label stood there: the answers are those of a table filled in by hand. All other labeled
rows are more rows, which are stacked above those of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from vsacli import prepare
from vsacli.errors import NoLabelError
from vsacli.labeling.copies import find_copies
from vsacli.labeling.labeled_table import LabeledContext, as_type, filled_up, stack
from vsacli.labeling.relabeled import RelabeledTable, label_cells
from vsacli.labeling.rows_to_label import is_form, row_number_column
from vsacli.support.wording import number_of
from vsacli.tables.arrow_types import as_text
from vsacli.tables.held import HeldTable
from vsacli.target.missing import normalize

if TYPE_CHECKING:
    import pyarrow as pa

    from vsacli.prepare import ReadOptions
    from vsacli.tables.table import Table, WritableTable


@dataclass
class GivenBack:
    """What became of the labels of other tables.

    Attributes
    ----------
    table : WritableTable
        The table, with the labels that belong to its rows.
    others : Table, or None
        The labeled rows that are not rows of the table.
    notes : list of str
    adds_column : bool
        The table itself has no label column; the one with these labels is its last one.
    """

    table: WritableTable
    others: Table | None
    notes: list[str] = field(default_factory=list)
    adds_column: bool = False


def give_back(table: WritableTable, sources: Sequence[Table], options: ReadOptions) -> GivenBack:
    """Put the labels of other tables into the rows of a table that they belong to.

    A label that the table itself has stays. Of several labels for one row the last counts: that of a later table, or
    in a later line. Both are told.

    Parameters
    ----------
    table : WritableTable
        The table to fill.
    sources : sequence of Table
        Tables with labels, in the order in which they were given.
    options : ReadOptions

    Raises
    ------
    UsageError, DataError
        A table without the label column, without a label, or whose labels do not fit that column.
    """
    import pyarrow as pa

    contexts = [_labeled_rows(source, table, options) for source in sources]
    column = table.find(options.target) if contexts[0].table_has(options.target) else None
    own = _own_labels(table, column, options)
    cells = None if column is None else label_cells(table, column)
    skip = {column, *prepare.excluded_columns(table, options), *table.nested}
    labels: list[pa.Array] = []
    spelled: list[str] = []
    rest: list[LabeledContext] = []
    place = np.full(table.n_rows, -1, np.int64)  # of the label of each row, among all labels
    twice = against = 0
    for context, source in zip(contexts, sources, strict=True):
        copies = find_copies(context, skip, _row_numbers(context, source, table, options))
        given = context.of_source(source.find(options.target))
        if cells is not None and not pa.types.is_null(cells.type):
            given = as_type(given, cells.type, where=source.name, table=table.name)
        first = len(spelled)
        spelled += [normalize(text) for text in as_text(given).to_pylist()]
        for i in np.flatnonzero(copies.unchanged).tolist():
            row = int(copies.of[i])
            if own[row] is not None:
                against += own[row] != spelled[first + i]
                continue
            twice += place[row] >= 0 and spelled[place[row]] != spelled[first + i]
            place[row] = first + i
        labels.append(given)
        rest.append(context.without(copies.unchanged))
    names = " and ".join(source.name for source in sources)
    notes = _told(int((place >= 0).sum()), twice, against, names, table.name)
    rest = [context for context in rest if context.n_rows]
    others = None
    if len(sources) == 1 and rest and rest[0].n_rows == contexts[0].n_rows:
        others = sources[0]
    elif rest:
        others = _one_table(rest, names, options.target)
    if others is None:  # else these are told with the rows that are added
        notes += [note for context in contexts for note in context.notes_on_source(options.target)]
    given_rows = place >= 0
    if not given_rows.any() and (column is not None or others is not None):
        return GivenBack(table, others, notes)
    every = _concatenated(labels)
    blank = pa.nulls(table.n_rows) if cells is None else cells
    blank = filled_up(blank, every.type)
    if table.is_text and column is None:
        every = as_text(every)
        blank = as_text(blank)
    if blank.type != every.type:
        every = as_type(every, blank.type, where=names, table=table.name)
    index = np.where(given_rows, table.n_rows + place, np.arange(table.n_rows))
    merged = pa.concat_arrays([blank, every]).take(pa.array(index))
    table = RelabeledTable(table, options.target, column, merged, given_rows, given_rows)
    return GivenBack(table, others, notes, adds_column=column is None)


def together(table: Table, sources: Sequence[Table], options: ReadOptions) -> Table:
    """Several tables with labels as one: their labeled rows, one below the other, in the columns that `table` has.

    Raises
    ------
    UsageError, DataError
        As `give_back`.
    """
    if len(sources) == 1:
        return sources[0]
    contexts = [_labeled_rows(source, table, options) for source in sources]
    return _one_table(contexts, " and ".join(source.name for source in sources), options.target)


def _labeled_rows(source: Table, table: Table, options: ReadOptions) -> LabeledContext:
    labels = prepare.read_label_column(source, source.find(options.target), options)
    return LabeledContext(source, table, labels.given)


def _own_labels(table: Table, column: int | None, options: ReadOptions) -> list[str | None]:
    """The label that each row has in the table itself; None where it is missing or not learned from."""
    if column is None:
        return [None] * table.n_rows
    try:
        given = prepare.read_label_column(table, column, options).given
    except NoLabelError:
        return [None] * table.n_rows
    texts = as_text(label_cells(table, column)).to_pylist()
    return [normalize(text) if is_given else None for text, is_given in zip(texts, given.tolist(), strict=True)]


def _row_numbers(context: LabeledContext, source: Table, table: Table, options: ReadOptions) -> np.ndarray | None:
    """The row of the table that each labeled row says it is, int64 (rows of the context,), -1: none."""
    name = row_number_column(table.columns)
    if list(source.columns).count(name) != 1 or not is_form(source.columns, options.target):
        return None
    found = np.full(context.n_rows, -1, np.int64)
    for i, text in enumerate(as_text(context.of_source(source.find(name))).to_pylist()):
        if text.strip().isdecimal() and 0 < int(text) <= table.n_rows:
            found[i] = int(text) - 1
    return found


def _concatenated(pieces: Sequence[pa.Array]) -> pa.Array:
    out = pieces[0]
    for piece in pieces[1:]:
        out = stack(out, piece)
    return out


def _one_table(contexts: Sequence[LabeledContext], name: str, target: str) -> Table:
    """The labeled rows of several tables as one, with the columns of the table to fill that any of them has."""
    import pyarrow as pa

    table = contexts[0].table
    columns = [j for j in range(len(table.columns)) if any(j in context.matched() for context in contexts)]
    places = {context: context.source.find(target) for context in contexts}
    cells: dict[int, pa.Array] = {}
    names = []
    for j in columns:
        pieces = [c.above(j) if j in c.matched() else pa.nulls(c.n_rows) for c in contexts]
        kind = next(piece.type for piece in pieces if not pa.types.is_null(piece.type)) if pieces else pa.null()
        cells[len(names)] = _concatenated([filled_up(piece, kind) for piece in pieces])
        names.append(table.columns[j])
    if not contexts[0].table_has(target):
        cells[len(names)] = _concatenated([context.of_source(places[context]) for context in contexts])
        names.append(target)
    used = {context.source.columns[k] for context in contexts for k in context.matched_in_source()}
    more = dict.fromkeys(n for c in contexts for n in c.source.columns if n not in used and n != target)
    rows = sum(context.n_rows for context in contexts)
    for unused in more:  # to be named in a note; no cell of them is needed
        if unused not in names:
            cells[len(names)] = pa.nulls(rows)
            names.append(unused)
    return HeldTable(name, names, rows, cells, decimal=table.decimal, is_text=table.is_text)


def _told(placed: int, twice: int, against: int, names: str, table: str) -> list[str]:
    notes = []
    if placed:
        notes.append(
            f"{number_of(placed, 'label')} of {names} {'was' if placed == 1 else 'were'} given to {_its(placed)}"
        )
    if twice:
        notes.append(
            f"{number_of(twice, 'label')} of {names} {_differ(twice)} an earlier one of the same row: "
            "the later one counts"
        )
    if against:
        notes.append(f"{number_of(against, 'label')} of {names} {_differ(against)} the one in {table}, which counts")
    return notes


def _its(number: int) -> str:
    return "its row" if number == 1 else "their rows"


def _differ(number: int) -> str:
    return "differs from" if number == 1 else "differ from"
