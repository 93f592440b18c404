"""The scanner finds the cells that Python's csv module reads, whatever the text and the window."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tables.text.records import is_closed, read_all
from vsacli.tables.text.scanner import Dialect, Misfit

COMMA = Dialect(ord(","))


@given(
    text=st.text(alphabet='a",\n\r é', max_size=60),
    window=st.sampled_from([1, 5, 16, 1 << 20]),
)
@example('a"b,c"\n"x",y\n', 1 << 20)
@example('"a"b,"c\n"\n5" pipe,"ok"\n', 1 << 20)
@example('"a\r\nb",""\r\n"""",x\r\r\n', 5)
@settings(max_examples=300, deadline=None)
def test_records_are_those_of_the_csv_module(text: str, window: int):
    if is_closed(text, ","):
        assert read_all(text, COMMA, window) == list(csv.reader(io.StringIO(text, newline="")))
    else:
        with pytest.raises(Misfit) as caught:
            read_all(text, COMMA, window)
        assert caught.value.reason == "unclosed"
        assert text.encode()[caught.value.position] == ord('"')


@given(
    rows=st.lists(
        st.lists(st.text(alphabet='ab";\n\r\t é0', max_size=6), min_size=2, max_size=4), min_size=1, max_size=12
    ),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    window=st.sampled_from([3, 40, 1 << 20]),
)
@settings(max_examples=100, deadline=None)
def test_written_cells_are_read_again(rows: list[list[str]], quoting: int, ending: str, window: int):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=";", quoting=quoting, lineterminator=ending).writerows(rows)
    found = read_all(buffer.getvalue(), Dialect(ord(";")), window)
    if ending == "\r\n":  # with another one, csv.writer leaves the other line end in a cell unquoted
        assert found == rows
    assert found == list(csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=";"))


@given(text=st.text(alphabet='a",\n\r é', max_size=60), window=st.sampled_from([1, 9, 1 << 20]))
@settings(max_examples=100, deadline=None)
def test_without_quoting_a_quote_is_a_plain_byte(text: str, window: int):
    expected = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONE))
    assert read_all(text, Dialect(ord(","), quoting=False), window) == expected


def test_without_a_delimiter_a_line_is_a_cell():
    assert read_all('a,b\n"c\nd"\n;\n', Dialect(None), 4) == [["a,b"], ["c\nd"], [";"]]


def test_a_record_longer_than_the_window():
    long = "x" * 5000
    text = f'a,b\n"{long}\n{long}",1\n2,3\n'
    assert read_all(text, COMMA, 64) == [["a", "b"], [f"{long}\n{long}", "1"], ["2", "3"]]


def test_misplaced_quotes_everywhere_cost_one_pass():
    # Each row holds an inch mark, and each third one a quoted cell beside it, which a parity of quotes gets wrong.
    rows = [[f'{k}" pipe', "a, b" if k % 3 == 0 else "c", ""] for k in range(3000)]
    text = "".join(f'{a},"{b}",{c}\n' if b == "a, b" else f"{a},{b},{c}\n" for a, b, c in rows)
    assert read_all(text, COMMA, 1 << 12) == rows


BACKSLASHES = Dialect(ord(","), escape=True)


def escaped(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    rows=st.lists(
        st.lists(st.text(alphabet='ab"\\,\n\r é', max_size=7), min_size=2, max_size=4), min_size=1, max_size=12
    ),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    window=st.sampled_from([3, 40, 1 << 20]),
)
@example([["\\", '"'], ['\\"', '\\\\"'], ['a"', "\\\n"]], "\n", 3)
@settings(max_examples=100, deadline=None)
def test_quotes_behind_backslashes(rows: list[list[str]], ending: str, window: int):
    text = "".join(",".join(map(escaped, row)) + ending for row in rows)
    assert read_all(text, BACKSLASHES, window) == rows


@given(text=st.text(alphabet='a",\n\r é', max_size=60), window=st.sampled_from([1, 5, 1 << 20]))
@settings(max_examples=100, deadline=None)
def test_without_a_backslash_both_dialects_are_one(text: str, window: int):
    if is_closed(text, ","):
        assert read_all(text, BACKSLASHES, window) == read_all(text, COMMA, window)


@given(text=st.text(alphabet='a",\\\n', max_size=40))
@example('a"\n"\\')
@example('""\\\n\\""')  # the second quote of the second line follows one that is plain
@settings(max_examples=150, deadline=None)
def test_a_window_does_not_matter_to_backslashes(text: str):
    def outcome(window: int) -> object:
        try:
            return read_all(text, BACKSLASHES, window)
        except Misfit as misfit:
            return misfit.reason

    assert outcome(4) == outcome(1 << 20)
