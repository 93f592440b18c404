"""Whether a cell is filled, as an attribute."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.attributes.columns import text
from vsacli.attributes.encoder import AttributeEncoder

NUMBERS = ["12.5", "", "3.75", "", "88", "", "", "41.5"]


def names(*columns: tuple[str, pa.Array]) -> list[str]:
    encoder = AttributeEncoder()
    encoder.fit(columns)
    return encoder.attribute_names


def test_filled_cells_are_an_attribute():
    encoder = AttributeEncoder()
    x = encoder.fit_transform([("refund", text(*NUMBERS))])
    assert encoder.attribute_names == ["refund", "refund is given"]
    np.testing.assert_array_equal(x[:, 1], [1, 0, 1, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(encoder.transform([("refund", text("", "7"))])[:, 1], [0, 1])
    assert np.isnan(encoder.transform([("other", text("1"))])).all()  # a column that is absent is not observed


def test_dates_and_categories_too():
    dates = text("2024-01-05", "", "2023-11-20", "2022-03-03", "", "2021-07-09", "", "2020-02-02")
    assert names(("d", dates))[-1] == "d is given"
    words = text("red", "green", "", "blue", "red", "", "green", "blue")
    assert names(("w", words))[-1] == "w is given"
    assert names(("n", pa.array([1.5, None, 2.25, None, 8.0, 7.5, 1.0, None])))[-1] == "n is given"


def test_columns_filled_in_the_same_rows_share_it():
    others = text("", "a", "", "b", "", "c", "a", "")  # filled where NUMBERS are empty
    found = names(("one", text(*NUMBERS)), ("two", text(*NUMBERS[:7], "9")), ("three", others))
    assert [n for n in found if n.endswith("is given")] == ["one is given"]


def test_a_single_empty_cell_and_full_columns_have_none():
    assert names(("c", text(*(f"{i}.5" for i in range(9)), ""))) == ["c"]
    assert names(("c", text(*(f"{i}.5" for i in range(9))))) == ["c"]
    many = [f"{i % 37}.5" for i in range(1000)]
    assert names(("c", text(*many[:995], *[""] * 5))) == ["c"]
    assert names(("c", text(*many[:985], *[""] * 15))) == ["c", "c is given"]


def test_a_flag_says_it_already():
    assert names(("f", text("x", "", "x", "", "", "x", "", "x"))) == ["f"]


def test_a_column_that_is_left_out_says_whether_it_is_filled():
    """An id, a date that is always the same, bytes: nothing but that."""
    ids = text(*(f"note {i * 7919 % 10_007}" if i % 3 else "" for i in range(30)))
    full = text(*(f"note {i * 7919 % 10_007}" for i in range(30)))
    encoder = AttributeEncoder()
    x = encoder.fit_transform([("noise", pa.array([i * 0.37 % 1 for i in range(30)])), ("id", ids), ("all", full)])
    assert encoder.attribute_names == ["noise", "id is given"]
    np.testing.assert_array_equal(x[:, 1], [float(i % 3 != 0) for i in range(30)])
    assert [(name, "whether a cell is filled is used" in why) for name, why in encoder.left_out] == [
        ("id", True),
        ("all", False),
    ]
    np.testing.assert_array_equal(encoder.transform([("id", text("", "note 5", " "))])[:, 1], [0, 1, 0])
    some = pa.array([b"\x00", None, b"\xff", None] * 3, pa.large_binary())
    assert names(("n", pa.array([0.5, 1.0, 1.5, 9.0] * 3)), ("b", some)) == ["n", "b is given"]
