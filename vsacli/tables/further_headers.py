"""Header rows below the header: question texts and column ids, as survey tools export them, or units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vsacli.tables.blank_tokens import PANDAS_TOKENS, SPACES

if TYPE_CHECKING:
    from vsacli.tables.table import Table

_MOST_ROWS = 3
_READ = 200  # data rows below that decide what a column holds
_FEWEST = 3  # numbers in these for a column to be one of numbers
_NUMBERS = 0.9  # share of the cells in these that are numbers then
_NUMBER = re.compile(r"[^\w\s]{0,3}\s*[-+−]?[\d.,'’\s]*\d[\d.,'’\s]*(?:[eE][-+]?\d+)?\s*[^\d,;]{0,12}")
_ASKS = re.compile(r"""\{\s*["']?ImportId|.*\?\s*$|.*\w\s+\w.*\s\w""", re.DOTALL)


def further_headers(table: Table, target: int) -> list[int]:
    """The first rows of a table that are header rows as well, from 0, if their cell of column `target` is not blank.

    Such a row has words where all other rows have numbers: in two columns, or in one if its cell of the target is a
    question, a sentence or an id of a survey tool.
    """
    cells = table.column(target)
    if not len(cells) or not table.is_text or not (first := _bare(cells[0].as_py())):
        return []
    if sum(_bare(cell.as_py()) == first for cell in cells.slice(0, _READ)) > 1:
        return []
    columns = [table.column(j).slice(0, _READ).to_pylist() for j in range(len(table.columns)) if j != target]
    columns = [[_bare(cell) for cell in column] for column in columns]
    numeric = [column for column in columns if _holds_numbers(column[_MOST_ROWS:])]
    found: list[int] = []
    for row in range(min(_MOST_ROWS, len(cells))):
        label, others = _bare(cells[row].as_py()), [column[row] for column in numeric if column[row]]
        words = sum(_NUMBER.fullmatch(cell) is None for cell in others)
        if not label or words < len(others) or words < (1 if _ASKS.match(label) else 2):
            break
        found.append(row)
    return found


def _bare(cell: object) -> str:
    text = str(cell or "").strip(SPACES)
    return "" if text in PANDAS_TOKENS else text


def _holds_numbers(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in filled)
    return numbers >= max(_FEWEST, _NUMBERS * len(filled))
