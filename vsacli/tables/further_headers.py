"""Header rows below the header: questions and column ids, as survey tools export them, units, or the header again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.tables.blank_tokens import PANDAS_TOKENS, SPACES
from vsacli.tables.numbers.digits import with_ascii_digits
from vsacli.tables.numbers.notation import parse

if TYPE_CHECKING:
    from vsacli.tables.table import Table

_MOST_ROWS = 3
_READ = 200  # data rows below that decide what a column holds
_FEWEST = 3  # numbers in these for a column to be one of numbers
_NUMBERS = 0.9  # share of the cells in these that are numbers then
_ASKS = re.compile(r"""\{\s*["']?ImportId|.*\?\s*$|.*\w\s+\w.*\s\w""", re.DOTALL)


def further_headers(table: Table, target: int) -> list[int]:
    """The rows of a table that are header rows as well, from 0, if their cell of column `target` is not blank.

    They are rows that repeat the header, as where files were put one below the other, and the first rows if they have
    words where all other rows have numbers: in two columns, or in one if their cell of the target is a question, a
    sentence or an id of a survey tool.
    """
    return sorted({*_first_rows(table, target), *_repeated(table, target)})


def _repeated(table: Table, target: int) -> list[int]:
    if len(table.columns) < 2 or not table.is_text:
        return []
    rows = np.flatnonzero(_says(table.column(target), table.columns[target]))
    for j, name in enumerate(table.columns):
        if not len(rows):
            break
        rows = rows[_says(table.column(j).take(pa.array(rows)), name)]
    return rows.tolist()


def _says(cells: pa.Array, name: str) -> np.ndarray:
    """Which cells hold a column's name, bool (n,)."""
    same = pc.equal(pc.utf8_trim(cells, SPACES), pa.scalar(name.strip(SPACES), cells.type))
    return same.fill_null(False).to_numpy(zero_copy_only=False)


def _first_rows(table: Table, target: int) -> list[int]:
    cells = table.column(target)
    if not len(cells) or len(table.columns) < 2 or not table.is_text or not (first := _bare(cells[0].as_py())):
        return []
    if sum(_bare(cell.as_py()) == first for cell in cells.slice(0, _READ)) > 1:
        return []
    columns = [table.column(j).slice(0, _READ).to_pylist() for j in range(len(table.columns)) if j != target]
    spelled = np.array([[_bare(cell) for cell in column] for column in columns], object).reshape(len(columns), -1)
    filled, is_number = spelled != "", _are_numbers(spelled.ravel().tolist()).reshape(spelled.shape)
    counts = is_number[:, _MOST_ROWS:].sum(axis=1)
    numeric = counts >= np.maximum(_FEWEST, _NUMBERS * filled[:, _MOST_ROWS:].sum(axis=1))
    found: list[int] = []
    for row in range(min(_MOST_ROWS, len(cells))):
        label, others = _bare(cells[row].as_py()), numeric & filled[:, row]
        words = int((others & ~is_number[:, row]).sum())
        if not label or words < others.sum() or words < (1 if _ASKS.match(label) else 2):
            break
        found.append(row)
    return found


def _bare(cell: object) -> str:
    text = str(cell or "").strip(SPACES)
    return "" if text in PANDAS_TOKENS else text


def _are_numbers(cells: Sequence[str]) -> np.ndarray:
    """Which cells are numbers, with a unit or without and with either decimal mark, bool (k,)."""
    text = pa.array(cells, pa.large_string())
    point, comma = (parse(with_ascii_digits(text, mark), mark).values for mark in (".", ","))
    return ~(np.isnan(point) & np.isnan(comma))
