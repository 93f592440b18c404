"""Numbers, booleans and categories → attributes, with the values expected from the rules and not from the code."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from tests.attributes.columns import NAN, encode, text
from vsacli.attributes.encoder import AttributeEncoder


def test_numbers_written_in_many_ways_are_one_attribute_in_their_order() -> None:
    x, encoder = encode(text("$1,204.50", "", "(12)", "<1", "7", "NA", "1e-05", "+5", "?"))
    assert encoder.attribute_names == ["other", "c", "c is given"]
    assert np.isnan(x[[1, 5, 8], 0]).all()
    observed = x[[2, 6, 3, 7, 4, 0], 0]  # -12 < 0.00001 < 1 < 5 < 7 < 1204.5
    assert (np.diff(observed) > 0).all()


def test_decimal_commas_follow_the_file() -> None:
    commas, _ = encode(text("1,5", "2,25", "3,125", "12"), decimal=",")
    points, _ = encode(text("1.5", "2.25", "3.125", "12"))
    np.testing.assert_array_equal(commas, points)


def test_text_and_native_numbers_give_the_same() -> None:
    numbers = [3.5, 1.25, None, 8.0, -2.5]
    as_text, _ = encode(text(*("" if v is None else str(v) for v in numbers)))
    native, _ = encode(pa.array(numbers))
    decimals, _ = encode(pa.array([None if v is None else round(v * 4) for v in numbers]))
    np.testing.assert_array_equal(as_text, native)
    np.testing.assert_array_equal(decimals, native)  # scaling takes the factor of 4 out


def test_a_few_words_among_numbers_have_an_attribute() -> None:
    x, encoder = encode(text(*(str(v) for v in range(3, 43)), "unknown", "unknown", "many", "?", ""))
    assert encoder.attribute_names[1:] == ["c", "c is not a number", "c is given"]
    assert np.isnan(x[40:, 0]).all()
    assert (x[:40, 1] == 0).all()
    assert (x[40:43, 1] == 1).all()
    assert np.isnan(x[43:, 1]).all()


def test_infinite_and_enormous_numbers() -> None:
    x, _ = encode(text("-inf", "Infinity", "1e400", "-1e308", "3.5", "nan", "1e38"))
    assert np.isnan(x[5, 0])
    assert np.isfinite(x[[0, 1, 2, 3, 4, 6], 0]).all()
    assert x[0, 0] < x[3, 0] < x[4, 0] < x[1, 0] == x[2, 0]


def test_small_integer_codes_stay_numbers() -> None:
    x, _ = encode(text(*"123123123312"))
    assert x.shape[1] == 1
    assert x[0, 0] < x[1, 0] < x[2, 0]


def test_an_almost_empty_column_is_kept() -> None:
    x, _ = encode(text("4.5", *[""] * 11))
    assert np.isfinite(x[0, 0])
    assert np.isnan(x[1:, 0]).all()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (text("no", "TRUE", "0", "Y", "", "yes", "False", "t"), [0, 1, 0, 1, NAN, 1, 0, 1]),
        (text("1", "0", "", "1"), [1, 0, NAN, 1]),
        (pa.array([True, None, False]), [1, NAN, 0]),
        (text("on", "off", "ON"), [1, 0, 1]),
    ],
)
def test_booleans_are_0_and_1(column: pa.Array, expected: list[float]) -> None:
    x, _ = encode(column)
    np.testing.assert_array_equal(x[:, 0], np.array(expected, np.float32))


@pytest.mark.parametrize("word", ["x", "yes", "1"])
def test_one_word_or_nothing_is_a_flag(word: str) -> None:
    x, _ = encode(text(word, "", "", word, ""))
    np.testing.assert_array_equal(x[:, 0], [1, 0, 0, 1, 0])


def test_categories_are_one_hot_and_unite_spellings() -> None:
    x, encoder = encode(text("red", "Blue", " blue ", "GREEN", "", "green", "Red"))
    assert encoder.attribute_names[1:] == ["c = blue", "c = green", "c = red"]
    expected = [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0], [NAN] * 3, [0, 1, 0], [0, 0, 1]]
    np.testing.assert_array_equal(x, np.array(expected, np.float32))


def test_two_categories_are_one_attribute() -> None:
    x, encoder = encode(text("ash", "bay", "", "bay"))
    assert encoder.attribute_names[1:] == ["c = bay"]
    np.testing.assert_array_equal(x[:, 0], np.array([0, 1, NAN, 1], np.float32))


def test_rare_categories_are_one_attribute_together() -> None:
    cells = ["a"] * 50 + ["b"] * 50 + ["c", "d", "e"]
    x, encoder = encode(text(*cells))
    assert encoder.attribute_names[1:] == ["c = a", "c = b", "c = other"]
    np.testing.assert_array_equal(x.sum(axis=0), [50, 50, 3])


def test_many_categories_become_a_few_attributes() -> None:
    cells = [f"{a}{b}" for a in ("kilo", "mega", "giga", "nano", "pico") for b in ("gram", "metre", "watt", "volt")] * 3
    x, encoder = encode(text(*cells))
    assert encoder.used["c"] == 6
    np.testing.assert_array_equal(x[:20], x[20:40])
    assert len(np.unique(x[:20], axis=0)) == 20


def test_a_declared_category_of_digits_is_no_number() -> None:
    x, _ = encode(pa.array(["1", "2", "3", "1", "2", "3"]).dictionary_encode())
    np.testing.assert_array_equal(x, np.tile(np.eye(3, dtype=np.float32), (2, 1)))


def test_an_unknown_category_is_zero_where_all_were_kept() -> None:
    encoder = AttributeEncoder().fit([("shade", text("red", "blue", "green", "red", "blue", "green"))])
    np.testing.assert_array_equal(encoder.transform([("shade", text("violet"))]), [[0, 0, 0]])


def test_numbers_and_categories_need_no_scikit_learn() -> None:
    code = """
import sys, pyarrow as pa
from vsacli.attributes.encoder import AttributeEncoder
t = lambda *cells: pa.array(cells, pa.large_string())
x = AttributeEncoder().fit_transform([("a", t("1", "?", "3%")), ("b", t("x", "y", "x")), ("c", t("5", "6", "1"))])
assert x.shape == (3, 3), x
print([m for m in ("sklearn", "torch") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
