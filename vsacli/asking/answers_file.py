"""Answers on the disk the moment they are given: a form that grows by a line an answer, to be read with `--labeled`."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from vsacli.errors import DataError, OutputError, VsaError
from vsacli.insight.suggestions_csv import cells_of, format_of
from vsacli.labeling.rows_to_label import RowsToLabel, is_form
from vsacli.target.missing import normalize

if TYPE_CHECKING:
    from vsacli.tables.table import Table

ENDING = ".answers.csv"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def answers_path(file: str, output: str | None) -> str:
    """Where the answers for a table are kept: beside the output, or beside the table if that goes to no file."""
    beside = Path(file if output is None or output == "-" or not _is_plain(output) else output)
    name = PurePath(beside.name)
    name = name.with_suffix("") if name.suffix in COMPRESSED else name
    return str(beside.with_name(name.stem + ENDING))


def answers_kept(
    file: str, output: str | None, target: str, *, delimiter: str | None = None, encoding: str | None = None
) -> str | None:
    """The file in which `--ask` kept answers for a table, a label column and an output; None if it holds none.

    It is written as the table is, so `delimiter` and `encoding` are those of the table, if they were given.
    """
    from vsacli.tables.peek import glimpse_columns
    from vsacli.tables.read import read_table

    path = answers_path(file, output)
    try:
        columns = glimpse_columns(path, delimiter=delimiter, encoding=encoding)
    except (OSError, ValueError, LookupError, EOFError, csv.Error, VsaError):
        return None  # not one of ours
    if not columns or normalize(columns[0]) != normalize(target) or not is_form(columns, target):
        return None
    try:
        cells = read_table(path, delimiter=delimiter, encoding=encoding).column(0).to_pylist()
    except VsaError:
        return path  # whoever reads it as a table says what is wrong with it
    return path if any(cell.strip() for cell in cells) else None


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) or not os.path.exists(path)


class AnswersFile:
    """The answers for a table in a file.

    Parameters
    ----------
    path : str
        It is written with the first answer.
    table : Table
    form : RowsToLabel
        Of the table.

    Attributes
    ----------
    earlier : dict of int to str
        Answers of an earlier run that were in the file: row of the table -> label.
    strangers : int
        Answers in the file whose row the table does not have any more.

    Raises
    ------
    DataError
        The file is not a form of this table.
    OutputError
        It cannot be read.
    """

    def __init__(self, path: str, table: Table, form: RowsToLabel) -> None:
        self.path, self._table, self._form, self._how = path, table, form, format_of(table)
        self._cells: dict[int, list[str]] = {}
        self._ends: list[int] = []  # of the file before each answer of this run
        self.earlier: dict[int, str] = {}
        self.strangers = 0
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise OutputError(f"cannot read {path}: {error.strerror}") from None
        self._size = len(data)
        if data:
            self._read(data)

    def expect(self, rows: np.ndarray) -> None:
        """Read the cells of the rows that may be answered, at once: a column of a large table takes its time."""
        self._cells = dict(zip(rows.tolist(), cells_of(self._table, rows, self._form.others), strict=True))

    def add(self, row: int, label: str, guess: str, certainty: str) -> None:
        """Keep an answer; it is on the disk when this returns.

        Raises
        ------
        OutputError
        DataError
            The encoding of the table lacks a character.
        """
        if row not in self._cells:
            self.expect(np.array([row]))
        cells = self._cells[row]
        line = [label, guess, certainty, row + 1, *cells]
        data = self._how.rows([line], self._table.name)
        if not self._size:
            data = self._how.text([self._form.header, line], self._table.name)
        try:
            with open(self.path, "ab") as file:
                start = self._size
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from None
        self._ends.append(start)
        self._size += len(data)

    def take_back(self) -> None:
        """Remove the last answer of this run.

        Raises
        ------
        OutputError
        """
        self._size = self._ends.pop()
        try:
            if not self._size:
                os.unlink(self.path)
                return
            with open(self.path, "r+b") as file:
                file.truncate(self._size)
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from None

    def _read(self, data: bytes) -> None:
        """Find the rows of the table that the answers in the file belong to."""
        wrong = f"{self.path} does not hold answers for {self._table.name}: move it away, or give another --output"
        how = self._how
        try:
            text = codecs.getincrementaldecoder(how.encoding.codec)().decode(data)
            whole = text[: text.rfind("\n") + 1]  # a power cut may have ended a line, and a character, in the middle
            lines = list(csv.reader(io.StringIO(whole.removeprefix("\ufeff"), newline=""), delimiter=how.delimiter))
        except (UnicodeError, csv.Error):
            raise DataError(wrong) from None
        lines = lines[1:] if how.sep_line else lines
        if not lines or lines[0] != self._form.header:
            raise DataError(wrong)
        self._size = len(whole.encode(how.encoding.codec))
        if self._size < len(data):
            os.truncate(self.path, self._size)
        lines = lines[1:]
        self.earlier, self.strangers = _rows_of(lines, self._table, self._form)


def _rows_of(lines: Sequence[Sequence[str]], table: Table, form: RowsToLabel) -> tuple[dict[int, str], int]:
    """The label of each row of the table that one of the lines is of, and the number of other lines with a label."""
    answered = [line for line in lines if line and line[0].strip()]
    if not answered:
        return {}, 0
    every = cells_of(table, np.arange(table.n_rows), form.others)
    only: Mapping[tuple[str, ...], int] = {}
    found: dict[int, str] = {}
    strangers = 0
    for line in answered:
        row, cells = _number(line[3] if len(line) > 3 else ""), list(line[4:])
        if not (0 <= row < table.n_rows and every[row] == cells):
            if not only:  # the table was sorted, or has other rows now
                places: dict[tuple[str, ...], list[int]] = {}
                for i, one in enumerate(every):
                    places.setdefault(tuple(one), []).append(i)
                only = {key: at[0] for key, at in places.items() if len(at) == 1}
            row = only.get(tuple(cells), -1)
        if row < 0:
            strangers += 1
        else:
            found[row] = line[0]
    return found, strangers


def _number(text: str) -> int:
    return int(text) - 1 if text.isdecimal() else -1
