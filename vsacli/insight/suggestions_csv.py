"""The rows to label next as a CSV: to be read, filled in, and given back with `--labeled`.

The columns are those of `vsacli.labeling.rows_to_label`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vsacli.labeling.extra_columns import plain_number
from vsacli.labeling.relabeled import file_of
from vsacli.labeling.rows_to_label import RowsToLabel
from vsacli.tables.arrow_types import as_text
from vsacli.tables.text.format import TextFormat
from vsacli.tables.text.table import TextTable

if TYPE_CHECKING:
    from vsacli.insight.study import Study
    from vsacli.tables.table import Table


def suggestions_csv(study: Study) -> bytes:
    """The suggested rows, uncertain ones first, as the table is written: delimiter, encoding, decimal mark.

    Of a Parquet file: UTF-8, with commas. So what reads the table reads them, whether its options were given or found.
    The cell for the label is empty.

    Raises
    ------
    DataError
        A name or guess has a character that the table's encoding lacks.
    """
    run, table = study.run, study.run.table
    how = format_of(table)
    classes = run.target.kind == "classification"
    form = RowsToLabel.of(table, run.column, run.options.target, classes=classes)
    rows = study.missing_rows[study.suggested] - run.n_above
    certain = [how.number(spelled_certainty(float(c), classes=classes)) for c in run.certainty[study.suggested]]
    guesses = run.spelled(study.suggested)
    told = zip(guesses, certain, (rows + 1).tolist(), cells_of(table, rows, form.others), strict=True)
    return how.text([form.header, *(["", *start, *cells] for *start, cells in told)], table.name)


def first_rows_csv(table: Table, column: int, target: str, rows: np.ndarray, *, classes: bool) -> bytes:
    """The rows to label first, before any label is known, in the same form but without guesses.

    Raises
    ------
    DataError
        A name has a character that the table's encoding lacks.
    """
    form = RowsToLabel.of(table, column, target, classes=classes)
    told = zip((rows + 1).tolist(), cells_of(table, rows, form.others), strict=True)
    return format_of(table).text([form.header, *(["", "", "", row, *cells] for row, cells in told)], table.name)


def spelled_certainty(value: float, *, classes: bool) -> str:
    """A confidence, or a standard deviation."""
    return f"{value:.4f}" if classes else plain_number(value)


def format_of(table: Table) -> TextFormat:
    """How rows of a table are written as text."""
    table = file_of(table)
    return table.format if isinstance(table, TextTable) else TextFormat()


def cells_of(table: Table, rows: np.ndarray, columns: Sequence[int]) -> list[list[str]]:
    """The cells of some rows of a table in some columns, as text, a list a row."""
    import pyarrow as pa

    by_column = [as_text(table.column(j).take(pa.array(rows))).to_pylist() for j in columns]
    return [[cells[i] for cells in by_column] for i in range(len(rows))]
