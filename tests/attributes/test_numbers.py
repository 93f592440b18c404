"""Numbers as people write them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from vsacli.attributes.numbers import NumberNotation, choose_notation, parse_numbers, plain_numbers, set_plain_apart
from vsacli.tables.distinct import distinct_cells


def text(*cells: str) -> pa.Array:
    return pa.array(cells, pa.large_string())


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("12", 12), ("-3.5", -3.5), ("+5", 5), ("1e-05", 1e-5), ("2E3", 2000), (".5", 0.5), ("7.", 7), ("007", 7),
        ("1,234", 1234), ("1,234,567.5", 1234567.5), ("12,34,567", 1234567), ("1 234", 1234), ("1\u00a0234", 1234),
        ("1'234", 1234), ("(12)", -12), ("(1,204.50)", -1204.5), ("12-", -12), ("\u22127", -7), ("\uff11\uff12", 12),
        ("<1", 1), (">5", 5), ("≤ 3", 3), (">=3", 3), ("~5", 5), ("$1,204.50", 1204.5), ("-$5", -5), ("$-5", -5),
        ("€3", 3), ("USD 7", 7), ("US$7", 7), ("5'11\"", 71), ("6 ft 0 in", 72),
        ("\u0661\u0662\u066b\u0665", 12.5),
        ("\u06f1\u066c\u06f2\u06f3\u06f4\u066b\u06f5", 1234.5), ("\u0967\u0968.\u096b", 12.5),
        ("inf", math.inf), ("-Infinity", -math.inf), ("1e400", math.inf),
    ],
)  # fmt: skip
def test_a_cell_that_is_a_number(cell: str, number: float) -> None:
    assert parse_numbers(text(cell), NumberNotation())[0] == number


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "x",
        "1_000",
        "0x1F",
        "1.2.3",
        "10:30",
        "2024-01-05",
        "18-25",
        "A1",
        "(12",
        "12)",
        "1,23",
        "--5",
        "3 4",
        "1e",
        "5 kg",
    ],
)
def test_a_cell_that_is_no_number(cell: str) -> None:
    assert np.isnan(parse_numbers(text(cell), NumberNotation())[0])


@pytest.mark.parametrize(
    ("cells", "decimal", "expected"),
    [
        (["1,5", "2,25", "12"], ".", [1.5, 2.25, 12]),  # a column of its own habit in a file with points
        (["1,234", "2,500"], ".", [1234, 2500]),
        (["1,234", "2,500"], ",", [1.234, 2.5]),
        (["1.234,5", "999"], ",", [1234.5, 999]),
        (["1.234", "999"], ",", [1234, 999]),
        (["1.25", "3.5"], ",", [1.25, 3.5]),
        (["0.125", "0.250"], ",", [0.125, 0.25]),  # no group of thousands starts with 0
        (["45%", "0.5"], ".", [0.45, 0.5]),
        (["3 kg", "4kg", "5 KG", "6"], ".", [3, 4, 5, 6]),
        (["1 year", "2 years"], ".", [1, 2]),
        (["1.5K", "850", "3M"], ".", [1500, 850, 3e6]),
        (["12 m²", "13 m2"], ".", [12, 13]),
        (["1", "2", "3", "4+"], ".", [1, 2, 3, 4]),
    ],
)
def test_the_style_of_a_column(cells: list[str], decimal: str, expected: list[float]) -> None:
    found = distinct_cells(text(*cells))
    _, numbers = choose_notation(found, decimal)
    np.testing.assert_allclose(found.take(numbers), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "cells",
    [["3 kg", "300 g"], ["1st", "2nd", "3rd"], ["1Story"] * 99 + ["2Fin"], ["<20", ">20"], ["18+", "<18"], ["a", "b"]],
)
def test_a_column_whose_cells_cannot_be_compared_as_numbers(cells: list[str]) -> None:
    _, numbers = choose_notation(distinct_cells(text(*cells)), ".")
    assert np.isnan(numbers).all()


def test_plain_numbers_are_read_at_once_and_nothing_else_is() -> None:
    np.testing.assert_array_equal(plain_numbers(text("1", "", "2.5", "nan"), "."), [1, np.nan, 2.5, np.nan])
    np.testing.assert_array_equal(plain_numbers(text("1", "", "2,5"), ","), [1, np.nan, 2.5])
    assert plain_numbers(text("1", "?"), ".") is None
    assert plain_numbers(text("1.234", "2,5"), ",") is None


def test_other_cells_are_set_apart_from_plain_numbers() -> None:
    plain, rest = set_plain_apart(text("1", " 2.5 ", "?", "", "45%", "?"), ".")
    np.testing.assert_array_equal(plain, [1, 2.5, np.nan, np.nan, np.nan, np.nan])
    assert rest.values.to_pylist() == ["45%", "?"]
    assert rest.codes.tolist() == [-1, -1, 1, -1, 0, 1]
    assert rest.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda v: f'="{v}"',
        lambda v: str(v).translate(
            str.maketrans("0123456789.", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\u066b")
        ),
        lambda v: str(v).translate(
            str.maketrans("0123456789", "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f")
        ),
    ],
)
def test_a_column_in_another_notation_is_that_of_plain_numbers(write) -> None:
    from tests.attributes.columns import encode

    values = np.round(np.random.default_rng(0).normal(50, 20, 40), 1).tolist()
    plain, _ = encode(text(*map(str, values)))
    other, encoder = encode(text(*map(write, values)))
    assert encoder.left_out == []
    np.testing.assert_array_equal(other, plain)
