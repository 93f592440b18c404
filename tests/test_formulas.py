"""A cell that is filled in starts no formula in a spreadsheet, unless it is one of the user's own labels."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.target.column import read_target

START = ("=", "+", "-", "@", "\t", "\r", "\n", "−")
NUMBER = re.compile(r"[+\-−]?(\$|€|£)?\d[\d.,' ]*([eE][+-]?\d+)?(%| €)?")

label = st.text(alphabet="=+-@\t\r1a|!()", min_size=1, max_size=5)


@given(labels=st.lists(label, min_size=1, max_size=12), data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_filled_class_is_a_label_as_it_was_given(labels: list[str], data: st.DataObject):
    cells = pa.array([*labels, ""], pa.large_string())
    if not any(text.strip("\t\r") for text in labels):
        return
    target = read_target(cells, task="classification")
    codes = data.draw(st.lists(st.integers(0, len(target.classes) - 1), max_size=8))
    for filled in target.spell_classes(np.array(codes, np.int64)).to_pylist():
        assert filled in labels


@given(
    labels=st.lists(
        st.sampled_from(["1", "-2", "+3", "-4.5", "−6", "1,204.50", "$7", "-$8", "9e3", "-1e-9", "12%", ".5", "-0"]),
        min_size=1,
    ),
    value=st.floats(allow_nan=False, allow_infinity=False),
)
@settings(max_examples=100, deadline=None)
def test_a_filled_number_is_nothing_but_a_number(labels: list[str], value: float):
    try:
        target = read_target(pa.array([*labels, ""], pa.large_string()), task="regression")
    except ValueError:  # dollars beside percents
        return
    (filled,) = target.spell_numbers(np.array([value])).to_pylist()
    assert NUMBER.fullmatch(filled) or re.fullmatch(r"[+\-−]?\$?\.\d+", filled), filled
    assert not filled.startswith(("=", "@", "\t", "\r"))


@pytest.mark.parametrize("evil", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd", "-1+cmd", "\tx", "=HYPERLINK(1)"])
def test_other_columns_never_get_into_the_labels(vsa, two_groups, write, evil: str):
    """Formulas in the other columns, and in one label of the user's, stay where they are."""
    lines = two_groups.csv({"a": "plain", "b": evil}).decode().splitlines()
    data = "\n".join([f"{lines[0]},@note", *(f"{line},{evil}" for line in lines[1:])]).encode()
    result = vsa("label", write("in.csv", data), "-t", "label", "--proba", "--confidence")
    assert result.code == 0, result.stderr
    before = list(csv.reader(io.StringIO(data.decode(), newline="")))
    after = list(csv.reader(io.StringIO(result.stdout.decode(), newline="")))
    given = {row[2].strip() for row in before[1:]} - {""}
    for old, new in zip(before, after, strict=True):
        assert (new[0], new[1], new[3]) == (old[0], old[1], old[3])
        assert new[2].strip() in given or new[2] == "label"
        assert not any(cell.startswith(START) for cell in new[4:])
