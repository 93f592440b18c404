"""Whole tables → attributes, fitted once and applied to other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.attributes.columns import NAN, sentences, text
from vsacli.attributes.encoder import AttributeEncoder, columns_of


def test_row_numbers_are_better_than_nothing() -> None:
    encoder = AttributeEncoder()
    x = encoder.fit_transform([("name", text(*(f"k{i}" for i in range(20)))), ("n", pa.array(range(20)))])
    assert encoder.used == {"n": 1}
    assert [name for name, _ in encoder.left_out] == ["name"]
    assert (np.diff(x[:, 0]) > 0).all()


def test_no_columns_at_all() -> None:
    encoder = AttributeEncoder()
    assert encoder.fit_transform([]).shape == (0, 0)
    assert encoder.fit_transform([("c", text("", ""))]).shape == (2, 0)


def mixed_table() -> list[tuple[str, pa.Array]]:
    rng = np.random.default_rng(0)
    n = 60
    return [
        ("a", pa.array(rng.normal(size=n))),
        ("percent", text(*(f"{v}%" for v in rng.integers(0, 100, n)))),
        ("shade", text(*rng.choice(["ash", "bay", "Bay ", "", "oak"], n))),
        (
            "when",
            text(*(f"2024-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 28, n), strict=True))),
        ),
        ("note", text(*sentences(n))),
        ("agreed", text(*rng.choice(["yes", "no", ""], n))),
        ("id", text(*(f"r{i}" for i in range(n)))),
    ]


def test_same_input_same_bytes() -> None:
    first, second = AttributeEncoder(seed=1), AttributeEncoder(seed=1)
    assert first.fit_transform(mixed_table()).tobytes() == second.fit(mixed_table()).transform(mixed_table()).tobytes()
    assert first.attribute_names == second.attribute_names


def test_the_order_of_rows_only_permutes() -> None:
    order = np.random.default_rng(1).permutation(60)
    table = mixed_table()
    x = AttributeEncoder().fit_transform(table)
    permuted = AttributeEncoder().fit_transform([(name, column.take(pa.array(order))) for name, column in table])
    np.testing.assert_array_equal(permuted, x[order])


def test_the_order_of_columns_only_permutes() -> None:
    table = mixed_table()
    forward, backward = AttributeEncoder(), AttributeEncoder()
    x, y = forward.fit_transform(table), backward.fit_transform(table[::-1])
    places = [backward.attribute_names.index(name) for name in forward.attribute_names]
    np.testing.assert_array_equal(y[:, places], x)


def test_transform_of_other_rows() -> None:
    encoder = AttributeEncoder().fit(
        [
            ("n", text("1", "2", "3", "4", "5")),
            ("pair", text("ash", "bay", "bay", "ash", "ash")),
            ("shade", text("red", "blue", "green", "green", "blue")),
            ("gone", text("1.5", "2", "7", "8", "3")),
        ]
    )
    assert encoder.attribute_names == ["n", "pair = bay", "shade = blue", "shade = green", "shade = other", "gone"]
    other = [("shade", text("violet", "Blue", "")), ("n", pa.array([3, None, 5])), ("pair", text("oak", "bay", "ash"))]
    x = encoder.transform(other)
    expected = encoder.transform([("n", text("3", "", "5"))])[:, 0]
    np.testing.assert_array_equal(x[:, 0], expected)
    assert x[0, 0] == 0  # the median
    np.testing.assert_array_equal(x[:, 1], np.array([NAN, 1, 0], np.float32))
    np.testing.assert_array_equal(x[:, 2:5], np.array([[0, 0, 1], [1, 0, 0], [NAN] * 3], np.float32))
    assert np.isnan(x[:, 5]).all()


@pytest.mark.parametrize(
    ("fitted", "other", "same"),
    [
        (pa.array([1.0, 2.0, 4.0]), text("2", "x", "4"), text("2", "", "4")),
        (text("1.0", "2", "4"), pa.array([2, None, 4]), text("2", "", "4")),
        (pa.array([True, False, True]), text("yes", "maybe", "0"), text("true", "", "false")),
        (text("yes", "no", "yes"), pa.array([1, 0, None]), text("y", "n", "")),
        (pa.array(["1", "2", "1", "2", "3", "3"]).dictionary_encode(), pa.array([3.0, 1.0, 2.0]), text("3", "1", "2")),
        (text("2024-01-05", "2024-02-05", "2024-03-06"), pa.array([19757, 19758, None], pa.date32()),
         text("2024-02-04", "2024-02-05", "")),
        (text("2024-01-05", "2024-02-05", "2024-03-06"), pa.array([1, 2, 3]), text("", "soon", "x")),
        (pa.array([1.0, 2.0, 4.0]), pa.array([[1], [2], [3]]), text("", "", "")),
        (text("ash", "bay", "ash"), pa.array([b"ash", b"\xff", None]), text("", "", "")),
        (text("ash", "bay", "ash"), pa.array([[1], [2], [3]]), text("", "", "")),
    ],
)  # fmt: skip
def test_types_may_differ_between_fit_and_transform(fitted: pa.Array, other: pa.Array, same: pa.Array) -> None:
    encoder = AttributeEncoder().fit([("c", fitted)])
    np.testing.assert_array_equal(encoder.transform([("c", other)]), encoder.transform([("c", same)]))


def test_duplicate_and_composed_names() -> None:
    encoder = AttributeEncoder()
    x = encoder.fit_transform(
        [("v", text("1", "2", "4")), ("v", text("9", "3", "4")), ("e\u0301", text("1", "5", "9"))]
    )
    assert encoder.attribute_names == ["v", "v (2)", "\u00e9"]
    assert encoder.used == {"v": 1, "v (2)": 1, "\u00e9": 1}
    again = encoder.transform([("\u00e9", text("1", "5", "9")), ("v", text("1", "2", "4")), ("v", text("9", "3", "4"))])
    np.testing.assert_array_equal(again, x)


def test_columns_of_a_frame() -> None:
    frame = pd.DataFrame({"a": [1, 2], 5: ["x", None], "mixed": [1, "y"], "when": [pd.Timestamp("2024-01-01"), pd.NaT]})
    frame.insert(4, "a", [0.5, NAN], allow_duplicates=True)
    columns = columns_of(frame)
    assert [name for name, _ in columns] == ["a", "5", "mixed", "when", "a"]
    values: list[list[Any]] = [column.to_pylist() for _, column in columns]
    assert values == [[1, 2], ["x", None], ["1", "y"], [pd.Timestamp("2024-01-01"), None], [0.5, None]]


def test_columns_of_an_array() -> None:
    columns = columns_of(np.array([[1.0, NAN], [2.0, 3.0]]))
    assert [(name, column.to_pylist()) for name, column in columns] == [("x0", [1, 2]), ("x1", [None, 3])]
    objects = columns_of(np.array([["a", 1], [None, "b"]], dtype=object))
    assert [(name, column.to_pylist()) for name, column in objects] == [("x0", ["a", None]), ("x1", ["1", "b"])]
    with pytest.raises(ValueError, match="2 dimensions"):
        columns_of(np.zeros(3))


def own_columns(n: int = 20) -> list[tuple[str, pa.Array]]:
    rng = np.random.default_rng(5)
    return [
        ("nr", text(*(str(i) for i in range(1, n + 1)))),
        ("name", text(*(f"k{i:03}" for i in rng.permutation(n)))),
        ("x", text(*(f"{v:.3f}" for v in rng.normal(size=n)))),
        ("shade", text(*(["red", "green", "blue"][i % 3] for i in range(n - 1)), "violet")),
        ("fixed", text(*["same"] * n)),
        ("said", text(*sentences(n))),
        ("when", text(*(f"2024-0{1 + i % 9}-05" for i in range(n)))),
    ]


def above(columns: list[tuple[str, pa.Array]], rows: list[int]) -> list[tuple[str, pa.Array]]:
    return [(name, pa.concat_arrays([column.take(pa.array(rows)), column])) for name, column in columns]


def test_copies_above_change_nothing_of_the_rows_below() -> None:
    alone, beside = AttributeEncoder(), AttributeEncoder()
    expected = alone.fit_transform(own_columns())
    rows = [19, 3, 4, 11]
    x = beside.fit_transform(above(own_columns(), rows), copies=np.ones(4, bool))
    np.testing.assert_array_equal(x[4:], expected)
    np.testing.assert_allclose(x[:4], expected[rows], atol=1e-6)
    assert beside.left_out == alone.left_out
    assert [name for name, _ in beside.left_out] == ["nr", "name", "fixed"]
    without = AttributeEncoder()
    without.fit_transform(above(own_columns(), rows))
    assert "nr" in without.used  # what copies would do


def test_copies_beside_rows_that_are_new() -> None:
    columns = above(own_columns(), [2, 7])
    new = [("77", "k777", "9.5", "green", "other", "a new sentence it is", "2023-05-05")]
    columns = [
        (name, pa.concat_arrays([text(cell), column])) for (name, column), cell in zip(columns, new[0], strict=True)
    ]
    encoder = AttributeEncoder()
    encoder.fit_transform(columns, copies=np.array([False, True, True]))
    assert "fixed" in encoder.used
    assert dict(encoder.left_out) == {"name": "an id: all 21 values differ"}


def test_numbers_are_used_for_want_of_better_with_copies_too() -> None:
    encoder = AttributeEncoder()
    x = encoder.fit_transform(above(own_columns()[:1], [4]), copies=np.ones(1, bool))
    assert encoder.used == {"nr": 1}
    assert x[0, 0] == x[5, 0]


def numbered(first: list[int], second: list[int], name: str) -> AttributeEncoder:
    cells = text(*(str(i) for i in first + second))
    other = pa.array(np.random.default_rng(1).normal(size=len(cells)))
    encoder = AttributeEncoder()
    encoder.fit_transform([("x", other), (name, cells)], copies=np.zeros(len(first), bool))
    return encoder


def test_rows_that_each_table_numbers_from_0() -> None:
    for name in ("Unnamed: 0", "id", "row_id"):
        assert name not in numbered(list(range(7)), list(range(20)), name).used
    assert "place" in numbered(list(range(7)), list(range(20)), "place").used  # says nothing of an id
    assert "shop_id" in numbered([1, 2, 3, 1, 2, 3], list(range(4, 14)), "shop_id").used  # there it repeats
    assert "shop_id" in numbered([1, 2, 3], [1, 2, 3, 4], "shop_id").used  # too few rows to tell
    assert "shop_id" in numbered(list(range(7)), [5, 6, 7, 8, 9] * 4, "shop_id").used
