"""Numbers are understood as written, and new ones are written alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.target.number_style import NumberStyle
from vsacli.target.written_number import infinities, read_number, read_numbers

READ = [
    ("12", ".", 12),
    ("12.50", ".", 12.5),
    ("12,50", ",", 12.5),
    ("+5", ".", 5),
    ("-5", ".", -5),
    ("−5", ".", -5),
    (".5", ".", 0.5),
    ("5.", ".", 5),
    ("1e-05", ".", 1e-5),
    ("1E5", ".", 1e5),
    ("1,5e3", ",", 1500),
    ("1,204.50", ".", 1204.5),
    ("1,204", ".", 1204),
    ("1,204", ",", 1.204),
    ("1.204,50", ",", 1204.5),
    ("1 204,50", ",", 1204.5),
    ("1\u202f204,5", ",", 1204.5),
    ("1'234'567", ".", 1234567),
    ("$1,204.50", ".", 1204.5),
    ("-$5", ".", -5),
    ("$-5", ".", -5),
    ("€ 12,5", ",", 12.5),
    ("12,5 €", ",", 12.5),
    ("CHF 1'200.00", ".", 1200),
    ("45%", ".", 45),
    ("4,5 %", ",", 4.5),
    ("11075054095038", ".", 11075054095038),
    ("(12)", ".", -12),
    ("($1,204.50)", ".", -1204.5),
    ("$ (1,204.50)", ".", -1204.5),
    ("12.5-", ".", -12.5),
    ("<0.05", ".", 0.05),
    ("≥ 3", ".", 3),
    ("65+", ".", 65),
    ("12,34,567", ".", 1234567),
    ("\u0661\u0662\u066b\u0665", ".", 12.5),
    ("-\u06f1\u066c\u06f2\u06f3\u06f4\u066b\u06f5", ",", -1234.5),
    ("\u0967\u0968.\u096b", ".", 12.5),
    ("\uff11\uff12", ".", 12),
    ('="12.50"', ".", 12.5),
    ("5'11\"", ".", 71),
    ("6\u20320.5\u2033", ".", 72.5),
    ("5 ft 3 in", ".", 63),
]

NOT_READ = [
    *["", " ", "abc", "-", ".", "%", "$", "1.2.3", "1,2,3", "12,34", "1,2345", "0,123", "01,234", "1e", "e5"],
    *["--5", "-$-5", "+-5", "1_000", "0x1F", "½", "1e400", "inf", "nan", "NaN", "3 kg", "1st", "12 34"],
    *["(12", "12)", "(-12)", "((12))", "-12-", "5'12\"", "123'4\"", "12°", "1,23,45", '="x"'],
    *["1,204,50", "1.204,50", "1,204.50.1", "2024-03-01", "12:30", "$5$ x", "5%%"],
]


@pytest.mark.parametrize(("text", "decimal", "value"), READ)
def test_a_number_is_understood(text: str, decimal: str, value: float) -> None:
    number = read_number(text, decimal)
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize("text", NOT_READ)
def test_what_is_no_number_is_none(text: str) -> None:
    assert read_number(text, ".") is None


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "+INF", "-Infinity", "∞", "1e400", "9.9E+999"])
def test_infinity_is_told_from_a_word(text: str) -> None:
    assert read_number(text) is None
    assert infinities([text]) == [-math.inf if text.startswith("-") else math.inf]


@pytest.mark.parametrize("text", ["info", "infinite", "word", "", "1.2.3", "-", "nan", "1e400 kg", "1E400E"])
def test_a_word_is_not_infinite(text: str) -> None:
    assert np.isnan(infinities([text])).all()


def test_the_decimal_mark_that_makes_more_numbers_is_taken() -> None:
    assert read_numbers(["12,5", "3,25"], ".")[1] == ","
    assert read_numbers(["12.5", "3.25"], ",")[1] == "."
    assert read_numbers(["1,204", "2,310"], ".")[1] == "."  # both would do: the table's
    assert [n and n.value for n in read_numbers(["1,204", "12,5"], ".")[0]] == [1.204, 12.5]


def test_another_currency_is_no_number_like_the_others() -> None:
    numbers, _ = read_numbers(["$5", "$7.5", "€6", "8"])
    assert [n and n.value for n in numbers] == [5, 7.5, None, None]


# the given cells, their decimal mark, then values and how they are to be written
SPELL = {
    "integers": (["3", "12", "7"], ".", {4.4: "4", 4.6: "5", -2.7: "-3", 1e13: "10000000000000", 0.2: "0", -0.2: "0"}),
    "huge integers": (["11075054095038", "38567069833231"], ".", {2.6999544343405e13: "26999544343405"}),
    "two decimals, always": (
        ["51.23", "82.30"],
        ".",
        {7: "7.00", 3.14159: "3.14", 99999.999: "100000.00", -0.001: "0.00"},
    ),
    "decimal comma": (["51,23", "82,30", "9,00"], ",", {7: "7,00", 1234.5: "1234,50"}),
    "whole numbers with .0": (["1.0", "2.0", "3.0"], ".", {2.4: "2.4", 2: "2.0"}),
    "as many decimals as needed": (["12.5", "3", "4.25"], ".", {7: "7", 2.5: "2.5", 3.14159: "3.14", 0.001: "0"}),
    "some padded": (["1.50", "2.25", "3", "4.75"], ".", {7: "7.00", 2.5: "2.50"}),
    "no more digits than given": (["123.456", "0.00012"], ".", {123.456789: "123.457", 0.000123456: "0.00012"}),
    "digits of a double": (["0.12345678901234567", "1.5"], ".", {1 / 3: "0.333333333333333", 2.5: "2.5"}),
    "thousands": (["1,204.50", "980.00"], ".", {1234567.891: "1,234,567.89", 12: "12.00", -1200: "-1,200.00"}),
    "thousands in German": (["1.204,50", "980,00"], ",", {1234567.891: "1.234.567,89"}),
    "thousands with spaces": (["12 500", "1 204"], ".", {1234567.4: "1 234 567"}),
    "dollars": (["$180.50", "$1,062.50"], ".", {1234.5: "$1,234.50", -3: "-$3.00"}),
    "euros after": (["12,50 €", "7,25 €"], ",", {3.999: "4,00 €"}),
    "percent": (["45%", "12.5%"], ".", {33.333: "33.3%", 7: "7%"}),
    "exponents": (["1.20e-05", "3.45e+02"], ".", {123456: "1.23e+05", 0.00012: "1.20e-04", 0: "0.00e+00"}),
    "exponents, short": (["1.2E5", "3E-7"], ".", {123456: "1.2E5", 1e-7: "1E-7", 1e-10: "1E-10"}),
    "exponents now and then": (["1e-05", "0.25", "0.5"], ".", {0.75: "0.75", 2e-6: "2e-06"}),
    "plus signs": (["+5", "-3", "+7"], ".", {2: "+2", -2: "-2", 0: "0"}),
    "a real minus sign": (["−5", "3"], ".", {-2: "−2"}),
    "no leading zero": ([".5", ".25", "-.75"], ".", {0.5: ".5", -0.25: "-.25", 1.5: "1.5"}),
    "negative in parentheses": (["(400.22)", "586.68", "1,204.50"], ".", {-5: "(5.00)", 1234.5: "1,234.50", 0: "0.00"}),
    "dollars in parentheses": (["($400.22)", "$586.68"], ".", {-5: "($5.00)", 7: "$7.00"}),
    "parentheses behind the sign": (["$(400.22)", "$586.68"], ".", {-5: "$(5.00)"}),
    "minus at the end": (["400.22-", "586.68"], ".", {-5: "5.00-", 5: "5.00"}),
    "a unit": (["59.3 kg", "60.1 kg", "7 kg"], ".", {61.234: "61.2 kg", 12: "12 kg"}),
    "a unit in most spellings": (["59,3 kg", "61,0 Kg", "60", "58,8 kg"], ",", {61.234: "61,2 kg"}),
    "two words of a unit": (["3 fl oz", "4.5 fl oz"], ".", {7.26: "7.3 fl oz"}),
    "thousands and millions": (["1.2M", "300K", "5M"], ".", {2.25: "2.2M"}),
    "lakhs": (["12,34,567", "1,234"], ".", {1234567: "12,34,567", 9876543210: "9,87,65,43,210", 123: "123"}),
    "Arabic-Indic": (["\u0661\u066b\u0665", "\u0662\u066b\u0665"], ".", {34.5: "\u0663\u0664\u066b\u0665"}),
    "Persian thousands": (
        ["\u06f1\u066c\u06f2\u06f3\u06f4", "\u06f5\u06f6"],
        ".",
        {7890: "\u06f7\u066c\u06f8\u06f9\u06f0"},
    ),
    "Devanagari": (["\u0967\u0968.\u096b", "\u0968.\u0966"], ".", {34.5: "\u0969\u096a.\u096b"}),
    "text of a spreadsheet": (['="12.5"', '="3.1"'], ".", {4.24: '="4.2"', -1: '="-1.0"'}),
    "feet and inches": (["5'11\"", "6'0\""], ".", {71.6: "6'0\"", 66.2: "5'6\"", 59.7: "5'0\""}),
    "feet in words": (["5 ft 11.5 in", "6 ft 0.0 in"], ".", {66.26: "5 ft 6.3 in"}),
    "a limit among others": (["<0.05", "0.30", "0.70"], ".", {0.2: "0.20"}),
    "one number": (["5"], ".", {2.5: "2", 3.5: "4"}),
}


@pytest.mark.parametrize(("cells", "decimal", "expected"), SPELL.values(), ids=SPELL.keys())
def test_new_numbers_are_written_like_the_given_ones(cells: list[str], decimal: str, expected: dict) -> None:
    numbers, mark = read_numbers(cells, decimal)
    assert None not in numbers
    style = NumberStyle.of([n for n in numbers if n], mark)
    assert {value: style.spell(value) for value in expected} == expected


@pytest.mark.parametrize(
    "cells",
    [
        ["(1)", "(2)", "(3)"],
        ["<5", "5-10", ">10"],
        ["18+", "65+"],
        ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th"],
        ["1A", "2A", "5B"],
        ["3 kg", "4 lb"],
        ["row 1", "row 2"],
    ],
)
def test_numbers_that_name_things_are_words(cells: list[str]) -> None:
    assert read_numbers(cells)[0] == [None] * len(cells)


def test_one_other_unit_among_many_is_no_number_like_the_others() -> None:
    numbers, _ = read_numbers([*(f"{i}.5 kg" for i in range(12)), "40.1 lb"])
    assert [n and n.value for n in numbers] == [*(i + 0.5 for i in range(12)), None]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_cell_ever_says_nan_or_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        NumberStyle().spell(value)


SIGNS = st.sampled_from(["", "-", "+", "−"])
AFFIXES = st.sampled_from([("", ""), ("$", ""), ("", " €"), ("", "%"), ("CHF ", "")])


@st.composite
def written_columns(draw: st.DrawFn) -> tuple[list[str], str]:
    """Cells of a column of numbers in one style, and their decimal mark."""
    mark = draw(st.sampled_from([".", ","]))
    group = draw(st.sampled_from(["", " ", "'", "," if mark == "." else "."]))
    before, after = draw(AFFIXES)
    decimals = draw(st.integers(0, 6))
    cells = []
    for _ in range(draw(st.integers(1, 6))):
        whole = f"{draw(st.integers(0, 10**9)):,}".replace(",", group)
        fraction = draw(st.text("0123456789", min_size=decimals, max_size=decimals))
        cells.append(draw(SIGNS) + before + whole + (mark + fraction if fraction else "") + after)
    return cells, mark


@settings(deadline=None)
@given(written_columns(), st.floats(-1e12, 1e12))
def test_a_written_number_reads_back_as_itself(column: tuple[list[str], str], value: float) -> None:
    cells, mark = column
    numbers, decimal = read_numbers(cells, mark)
    assert None not in numbers
    assert decimal == mark
    style = NumberStyle.of([n for n in numbers if n], decimal)
    text = style.spell(value)
    again = read_number(text, decimal)
    assert again is not None
    assert again.affix == next(n for n in numbers if n).affix
    assert len(again.fraction) <= style.decimals
    assert abs(again.value - value) <= 0.5 * 10.0**-style.decimals * (1 + 1e-9) + 1e-9 * abs(value)
    assert style.spell(again.value) == text  # and is then left alone


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5), st.floats(-1e300, 1e300))
def test_any_floats_of_python_are_a_style(given_values: list[float], value: float) -> None:
    numbers, _ = read_numbers([repr(x) for x in given_values])
    assert [n and n.value for n in numbers] == given_values
    again = read_number(NumberStyle.of([n for n in numbers if n]).spell(value))
    assert again is not None
    assert math.isfinite(again.value)


@settings(deadline=None)
@given(st.text("0123456789.eE+-", max_size=12).filter(lambda text: not text.endswith(("+", "-"))))
def test_plain_numbers_are_those_of_python(text: str) -> None:
    try:
        expected = float(text)
    except ValueError:
        expected = math.nan
    number = read_number(text)
    assert (number.value if number else None) == (expected if math.isfinite(expected) else None)
    assert math.isinf(infinities([text])[0]) == math.isinf(expected)
