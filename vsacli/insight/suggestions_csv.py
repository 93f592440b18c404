"""The rows to label next as a CSV: to be read, filled in, and given back with `--labeled`.

row,<target>_guess,<target>_confidence,<the table's own columns>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsacli.labeling.extra_columns import free_name, plain_number
from vsacli.labeling.labeled_table import as_text
from vsacli.tables.text.format import TextFormat
from vsacli.tables.text.table import TextTable

if TYPE_CHECKING:
    from vsacli.insight.study import Study


def suggestions_csv(study: Study) -> bytes:
    """The suggested rows, uncertain ones first, as the table is written: delimiter, encoding, decimal mark.

    Of a Parquet file: UTF-8, with commas. So what reads the table reads them, whether its options were given or found.
    `row` is the number of the data row in the file, from 1 (the header and blank lines are none). The target's cell is
    as in the file, without a label. A name that the table already has gets a number at its end.

    Raises
    ------
    DataError
        A name or guess has a character that the table's encoding lacks.
    """
    import pyarrow as pa

    run, table = study.run, study.run.table
    how = table.format if isinstance(table, TextTable) else TextFormat()
    classes = run.target.kind == "classification"
    names = set(table.columns)
    added = [
        free_name(name, names)
        for name in ("row", f"{run.options.target}_guess", f"{run.options.target}_{'confidence' if classes else 'std'}")
    ]
    rows = study.missing_rows[study.suggested] - run.n_above
    certain = [f"{c:.4f}" if classes else plain_number(float(c)) for c in run.certainty[study.suggested]]
    cells = [as_text(table.column(j).take(pa.array(rows))).to_pylist() for j in range(len(table.columns))]
    header = [*added, *table.columns]
    if run.column is None:  # the labels are all in the other table
        header.append(run.options.target)
        cells.append([""] * len(rows))
    columns = [(rows + 1).tolist(), run.spelled(study.suggested), [how.number(number) for number in certain], *cells]
    return how.text([header, *zip(*columns, strict=True)], table.name)
