"""A cell is a number for attributes if, and only if, it is one for labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.attributes.numbers import NumberNotation, parse_numbers
from vsacli.tables.numbers.notation import unit_key
from vsacli.target.written_number import infinities, read_number


def as_attribute(cell: str, decimal: str = ".", unit: str = "") -> float:
    return float(parse_numbers(pa.array([cell], pa.large_string()), NumberNotation(decimal, unit))[0])


def as_label(cell: str, decimal: str = ".", units: bool = False) -> float:
    number = read_number(cell, decimal, units=units)
    return number.value if number else infinities([cell], decimal)[0]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        *[("12", 12), ("- 5", -5), ("(12)", -12), ("( 12 )", -12), ("$(12)", -12), ("12-", -12), ("(<5)", -5)],
        *[("±3", 3), ("=3", 3), ("~5", 5), ("C$5", 5), ("kr 5", 5), ("R$ 1,204.50", 1204.5), ("12,34,567", 1234567)],
        *[("1 204", 1204), ("1\u202f204", 1204), ("1\u2009204.5", 1204.5), ("1’204", 1204)],
        *[("\uff08\uff11\uff12\uff09", -12), ("(12\uff09", -12), ("\u0661\u0662\u066b\u0665", 12.5), ("−5", -5)],
        *[("5 ft 11 in", 71), ("5′11″", 71), ("5'05\"", 65), ("inf", np.inf), ("-∞", -np.inf), ("1e400", np.inf)],
        *[("(-12)", np.nan), ("+-5", np.nan), ("-12-", np.nan), ("(12", np.nan), ("12)", np.nan), ("(1)(", np.nan)],
        *[("1_000", np.nan), ("0x1F", np.nan), ("½", np.nan), ("1,2,3", np.nan), ("0,123", np.nan), ("5'12\"", np.nan)],
    ],
)
def test_a_number_is_one_for_both(cell: str, value: float) -> None:
    np.testing.assert_equal(as_attribute(cell), value)
    np.testing.assert_equal(as_label(cell), value)


@pytest.mark.parametrize("cell", ["3 kg", "3\u00a0kgs", "-3 ㎏", "3kg.", "3 Kg"])
def test_a_unit_is_one_for_both(cell: str) -> None:
    value = -3 if cell.startswith("-") else 3
    assert as_attribute(cell, unit="kg") == as_label(cell, units=True) == value
    assert np.isnan([as_attribute(cell), as_label(cell)]).all()  # of a column without a unit


def test_spellings_of_a_unit_are_one_and_other_units_are_not() -> None:
    assert len({unit_key(unit) for unit in ("kg", "Kg", "kgs", "kg.", "㎏")}) == 1
    assert len({unit_key(unit) for unit in ("m", "M", "m²", "g")}) == 4


PIECES = [
    "1",
    "12",
    "123",
    "0",
    "1,204",
    "1.204",
    " ",
    "\u00a0",
    "(",
    ")",
    "-",
    "−",
    "+",
    "<",
    "~",
    "$",
    ".5",
    "'",
    "e5",
]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join).map(str.strip), st.sampled_from(".,"))
def test_any_cell_with_a_currency_or_without_says_the_same_to_both(cell: str, decimal: str) -> None:
    np.testing.assert_equal(as_attribute(cell, decimal, "$"), as_label(cell, decimal))
