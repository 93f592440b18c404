"""The index of a table holds each cell of each row, and names the row that does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from vsacli.tables.text.scanner import Dialect, Misfit
from vsacli.tables.text.spans import index_table

COMMA = Dialect(ord(","))


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@pytest.mark.parametrize("window", [4, 1 << 20])
def test_index_holds_every_cell(window: int):
    text = 'id,name\r\n1,"a ""b"""\n\n2,\r\n   \r\n3,"x\ny"'
    index = index_table(as_bytes(text), 0, COMMA, window)
    assert (index.n_columns, index.n_rows) == (2, 3)
    assert [text[a:b] for a, b in index.header_cells()] == ["id", "name"]
    found = []
    for block in index.blocks:
        piece = text[block.start : block.stop]
        for column in range(2):
            found += [piece[a:b] for a, b in zip(*block.cells(column), strict=True)]
    assert sorted(found) == sorted(["1", "2", "3", '"a ""b"""', "", '"x\ny"'])
    starts, stops = [block.start for block in index.blocks], [block.stop for block in index.blocks]
    assert [*starts, len(text)] == [index.header_stop, *stops]


def test_positions_take_less_room_than_the_text():
    text = "a,b,c\n" + "12,345,x\n" * 20_000
    index = index_table(as_bytes(text), 0, COMMA)
    room = sum(block.starts.nbytes + block.ends.nbytes for block in index.blocks)
    assert room < len(text)


@pytest.mark.parametrize(
    ("text", "row", "found"),
    [
        ("a,b\n1,2\n3\n", 2, 1),
        ("a,b\n1,2\n\n3,4,5\n", 2, 3),
        ("a,b\n1,2,3\n", 1, 3),  # not empty, so no trailing delimiter
        ("a,b\n1,2,\n3,4\n", 2, 2),  # a trailing delimiter in some rows only
        ("a,b\n1,2,\n3,4,5\n", 2, 3),
        ("a,b\n1,2\n3,4,\n", 2, 3),
    ],
)
def test_a_ragged_row_is_named(text: str, row: int, found: int):
    with pytest.raises(Misfit) as caught:
        index_table(as_bytes(text), 0, COMMA)
    misfit = caught.value
    assert (misfit.reason, misfit.row, misfit.found, misfit.expected) == ("ragged", row, found, 2)
    assert text[misfit.position - 1] == "\n"


def test_one_trailing_delimiter_in_all_rows_is_kept_out():
    index = index_table(as_bytes("a,b\n1,2,\n3,,\n"), 0, COMMA)
    assert index.trailing
    assert (index.n_columns, index.n_rows) == (2, 2)


def test_white_space_is_a_row_only_of_one_column():
    assert index_table(as_bytes("a\n \nx\n\t\n\n"), 0, Dialect(None)).n_rows == 3
    assert index_table(as_bytes("a,b\n \n1,2\n\t\n\n\x1a"), 0, COMMA).n_rows == 1


def test_blank_lines_before_the_header():
    text = "\n  \na,b\n1,2\n"
    index = index_table(as_bytes(text), 0, COMMA, window=1)
    assert [text[a:b] for a, b in index.header_cells()] == ["a", "b"]
    assert index.n_rows == 1


def test_no_text_has_no_columns():
    assert index_table(as_bytes(""), 0, COMMA).n_columns == 0
    assert index_table(as_bytes("\n\r\n"), 0, COMMA).n_columns == 0
