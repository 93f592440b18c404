"""Coverage-guided fuzzing of the reader of delimited text, with atheris; not part of the test suite.

    pip install atheris
    python tests/fuzz/fuzz_csv.py CORPUS_FOLDER -max_len=400 -max_total_time=120

The first three bytes of an input choose the delimiter, the window and the encoding; the others are the file.
What is checked of each:

- the scanner finds the records of Python's own ``csv.reader``, whatever the window; a quote that is never closed is the
  only thing that it refuses;
- a table is read or refused with an error of ours, nothing else is raised;
- a file that is written unchanged is the same bytes; filled cells change, and no others, added columns come last.

atheris itself takes more and more memory; restarted every two minutes it stays below two gigabytes, and the corpus goes
on from run to run.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import atheris  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import numpy as np
import pyarrow as pa
import pyarrow.compute

with atheris.instrument_imports(include=["vsacli"]):
    from vsacli.attributes import choose  # noqa: F401
    from vsacli.errors import VsaError
    from vsacli.tables.source import _refuse
    from vsacli.tables.table import ExtraColumn
    from vsacli.tables.text import cells  # noqa: F401
    from vsacli.tables.text.scanner import Dialect, Misfit
    from vsacli.tables.text.spans import index_table
    from vsacli.tables.text.table import TextTable
    from vsacli.target import missing  # noqa: F401

from tests.tables.text.records import is_closed, read_all

DELIMITERS = [None, ",", ";", "\t", "|", " ", ":"]
WINDOWS = [1, 3, 7, 16, 64, 1 << 20]
ENCODINGS = [None, None, None, "latin-1", "utf-16", "utf-16-le", "cp1252", "shift_jis", "utf-32", "gb18030", "utf-7"]
FILLS = ["x", "", "1,5", 'a "b"', "line\nend", "\r", "é", ";\t|", '"']


def check_scanner(raw: bytes, delimiter: str, window: int) -> None:
    text = raw.decode("utf-8", "replace")
    try:
        found = read_all(text, Dialect(ord(delimiter)), window)
    except Misfit:
        assert not is_closed(text, delimiter), "refused although every quote is closed"
        return
    assert is_closed(text, delimiter), "an open quote was not refused"
    assert found == list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def written(table: TextTable, column: int = 0, rows: list[int] | None = None, values=(), extra=()) -> bytes:
    sink = io.BytesIO()
    table.write(sink, column, np.array(rows or [], dtype=np.int64), pa.array(values, pa.large_string()), extra)
    return sink.getvalue()


def check_message(error: VsaError) -> None:
    assert str(error)
    assert "\n" not in str(error)


def check_table(raw: bytes, delimiter: str | None, encoding: str | None, pick: int) -> None:
    try:
        _refuse(raw, "f")
        table = TextTable(raw, name="f", delimiter=delimiter, encoding=encoding)
    except VsaError as error:
        check_message(error)
        return
    before = [table.column(j).to_pylist() for j in range(len(table.columns))]
    assert written(table) == raw
    if not table.n_rows:
        return
    table.where(pick % table.n_rows)
    column = pick % len(table.columns)
    rows = [row for row in range(table.n_rows) if (row * 7 + pick) % 3 == 0]
    values = [FILLS[(row + pick) % len(FILLS)] for row in rows]
    extra = [ExtraColumn("added", pa.array([str(k) for k in range(table.n_rows)], pa.large_string()))]
    try:
        result = written(table, column, rows, values, extra if pick % 2 else ())
    except VsaError as error:
        check_message(error)
        return
    if encoding is None and table._encoding.is_utf8:
        start = len(table._encoding.mark)
        sep = table._index.header_start - start  # blank lines and `sep=;` above the header
        dialect = Dialect(table._added, table._dialect.quoting, table._dialect.escape)
        index = index_table(np.frombuffer(result, np.uint8), start + max(sep, 0), dialect)
        after = TextTable.__new__(TextTable)
        after._data, after._index, after._dialect = np.frombuffer(result, np.uint8), index, table._dialect
        after.n_rows = index.n_rows
        for row, value in zip(rows, values, strict=True):
            before[column][row] = value
        if pick % 2:
            before.append([str(k) for k in range(table.n_rows)])
        assert [after.column(j).to_pylist() for j in range(index.n_columns)] == before


def one(raw: bytes) -> None:
    if len(raw) < 4 or len(raw) > 4000:
        return
    delimiter = DELIMITERS[raw[0] % len(DELIMITERS)]
    window = WINDOWS[raw[1] % len(WINDOWS)]
    encoding = ENCODINGS[raw[2] % len(ENCODINGS)]
    body = raw[3:]
    check_scanner(body, delimiter or ",", window)
    check_table(body, delimiter, encoding, raw[0] + 3 * raw[1])


SEEDS = [
    b'a,b\n"x, y",1\n\n2,"a ""b"""\n',
    b"\xef\xbb\xbfa;b;\r\n1,5;2;\r\n3;4;\r\n",
    b'sep=;\na;b\n"c\nd";1\n',
    b'a\tb\n5" pipe\t"ok"\n"a"b\tc\r\r\n',
    '型,é\n"ä",1.234,5\n'.encode(),
    b'a|b\n"|"|\x00\n',
    b"x\n1\n\n2",
]

if __name__ == "__main__":
    for folder in [arg for arg in sys.argv[1:] if not arg.startswith("-")]:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for k, seed in enumerate(SEEDS):
            for head in (b"\0\5\0", b"\1\1\0", b"\2\2\3"):
                (Path(folder) / f"seed{k}{head.hex()}").write_bytes(head + seed)
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
