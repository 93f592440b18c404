"""The rows to label next as a CSV: to be read, filled in, and given back with `--labeled`.

row,<target>_guess,<target>_confidence,<the table's own columns>
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from vsacli.added_columns import free_name, plain_number
from vsacli.rowcells import RowCells

if TYPE_CHECKING:
    from vsacli.study import Study


def suggestions_csv(study: Study) -> bytes:
    """The suggested rows, uncertain ones first: UTF-8, commas, LF.

    `row` is the number of the data row in the file, from 1 (the header and blank lines are none). The target's cell is
    as in the file, without a label. A name that the table has already gets a number behind it.
    """
    run = study.run
    classes = run.target.kind == "classification"
    names = set(run.table.columns)
    added = [
        free_name(name, names)
        for name in ("row", f"{run.options.target}_guess", f"{run.options.target}_{'confidence' if classes else 'std'}")
    ]
    rows = study.missing_rows[study.suggested]
    cells = RowCells(run).take(rows, range(len(run.table.columns)))
    guesses = run.spelled(study.suggested)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = [*added, *run.table.columns]
    if run.column is None:  # the labels are all in the other table
        header.append(run.options.target)
    writer.writerow(header)
    for place, row, guess, cell in zip(study.suggested, rows, guesses, cells, strict=True):
        certainty = run.certainty[place]
        told = f"{certainty:.4f}" if classes else plain_number(float(certainty))
        line = [row - run.n_above + 1, guess, told, *("" if value is None else value for value in cell)]
        writer.writerow(line if run.column is not None else [*line, ""])
    return out.getvalue().encode("utf-8", "surrogateescape")
