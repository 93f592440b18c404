"""Columns → attributes, with the values expected from the rules and not from the code."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from vsacli.tables.attributes import AttributeEncoder, columns_of

NAN = float("nan")


def text(*cells: str) -> pa.Array:
    return pa.array(cells, pa.large_string())


def encode(column: pa.Array, name: str = "c", decimal: str = ".") -> tuple[np.ndarray, AttributeEncoder]:
    """Fit one column, beside another so that nothing is kept for want of anything better."""
    other = pa.array([0.5, 1.25] + [3.75] * (len(column) - 2))
    encoder = AttributeEncoder()
    x = encoder.fit_transform([("other", other), (name, column)], decimal)
    assert encoder.attribute_names[0] == "other"
    assert x.dtype == np.float32
    assert x.shape == (len(column), len(encoder.attribute_names))
    np.testing.assert_array_equal(encoder.transform([("other", other), (name, column)]), x)
    return x[:, 1:], encoder


def reason(column: pa.Array, name: str = "c") -> str:
    x, encoder = encode(column, name)
    assert x.shape[1] == 0
    assert name not in encoder.used
    assert [left for left, _ in encoder.left_out] == [name]
    return encoder.left_out[0][1]


# --- numbers


def test_numbers_written_in_many_ways_are_one_attribute_in_their_order() -> None:
    x, encoder = encode(text("$1,204.50", "", "(12)", "<1", "7", "NA", "1e-05", "+5", "?"))
    assert encoder.used == {"other": 1, "c": 1}
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
    assert encoder.attribute_names[1:] == ["c", "c is not a number"]
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


# --- booleans, flags and categories


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


# --- dates and text


def test_dates_are_the_moment_and_the_cycles_that_vary() -> None:
    days = ["2024-01-05", "2024-04-05", "", "2024-07-05", "2024-10-05"]  # Fri, Fri, -, Fri, Sat
    x, encoder = encode(text(*days))
    assert encoder.attribute_names[1:] == [
        "c date", "c month sin", "c month cos", "c weekday sin", "c weekday cos",
    ]  # fmt: skip
    assert (np.diff(x[[0, 1, 3, 4], 0]) > 0).all()
    assert np.isnan(x[2]).all()
    angle = 2 * np.pi * np.array([1, 4, 7, 10]) / 12
    np.testing.assert_allclose(x[[0, 1, 3, 4], 1], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(x[[0, 1, 3, 4], 2], np.cos(angle), atol=1e-6)
    day_first, _ = encode(text("05/01/2024", "05/04/2024", "", "05/07/2024", "05/10/2024", "31/12/2024"), decimal=",")
    np.testing.assert_allclose(day_first[:5, 1:3], x[:, 1:3], atol=1e-6)


def test_native_moments_are_taken_in_their_zone() -> None:
    hours = [0, 6, 12, 18]
    utc = [1_700_006_400 + 3600 * h for h in hours]  # 2023-11-15 00:00 UTC
    x, encoder = encode(pa.array(utc, pa.timestamp("s", tz="Asia/Tokyo")))
    assert encoder.attribute_names[1:] == [
        "c date", "c weekday sin", "c weekday cos", "c hour sin", "c hour cos",
    ]  # fmt: skip
    np.testing.assert_allclose(x[:, 3], np.sin(2 * np.pi * (np.array(hours) + 9) / 24), atol=1e-6)


def test_moments_within_a_minute_are_told_apart() -> None:
    x, _ = encode(pa.array([1_700_000_000_000 + 250 * k for k in range(8)], pa.timestamp("ms")))
    assert (np.diff(x[:, 0]) > 0).all()


def test_times_of_day_are_seconds() -> None:
    clock, _ = encode(text("9:30", "10:45", "23:59", "11:15 pm", ""))
    seconds, _ = encode(pa.array([34200, 38700, 86340, 83700, None], pa.time32("s")))
    np.testing.assert_array_equal(clock, seconds)


def test_mixed_formats_and_a_few_bad_dates() -> None:
    x, _ = encode(text(*(f"2024-{m:02}-11" for m in range(1, 13)), "2025-01-11T08:00:00Z", "14 Feb 2025", "soon"))
    assert (np.diff(x[:14, 0]) > 0).all()
    assert np.isnan(x[14]).all()


def test_short_years_and_what_only_looks_like_a_date() -> None:
    x, _ = encode(text("1/1/00", "2/1/00", "11/30/00", "1/1/01"))
    assert (np.diff(x[:, 0]) > 0).all()
    for cells in (["1.2.3", "1.2.10", "2.0.1"], ["Jun-01", "Jun-15", "Jul-01"], ["18-25", "26-35", "36-45"]):
        _, encoder = encode(text(*cells * 2))
        assert encoder.attribute_names[1:] == [f"c = {cell.lower()}" for cell in sorted(cells)]


def test_dates_outside_the_range_of_nanoseconds() -> None:
    x, _ = encode(text("0001-01-01", "1850-05-05", "9999-12-31"))
    assert x[0, 0] < x[1, 0] < x[2, 0]


def sentences(n: int) -> list[str]:
    rng = np.random.default_rng(3)
    topics = [["crash", "error", "fails", "broken"], ["please", "add", "wish", "nice"]]
    return [" ".join(rng.choice(topics[i % 2], size=6)) + f" number{i}" for i in range(n)]


def test_text_that_says_alike_is_alike() -> None:
    cells = sentences(40)
    x, encoder = encode(text(*cells, "", "  "))
    assert encoder.used["c"] == 6
    assert np.isnan(x[40:]).all()
    groups = [x[:40:2].mean(axis=0), x[1:40:2].mean(axis=0)]
    correct = [
        np.linalg.norm(row - groups[i % 2]) < np.linalg.norm(row - groups[1 - i % 2]) for i, row in enumerate(x[:40])
    ]
    assert sum(correct) >= 38


def test_many_texts_are_fitted_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from vsacli.tables import texts

    monkeypatch.setattr(texts, "MAX_FIT", 30)
    monkeypatch.setattr(texts, "MAX_CHARACTER_TEXTS", 50)
    monkeypatch.setattr(texts, "_CHUNK", 17)
    cells = sentences(100)
    x, _ = encode(text(*cells))
    again, _ = encode(text(*cells[::-1]))
    assert x.shape == (100, 6)
    np.testing.assert_array_equal(again[::-1], x)
    assert np.isfinite(x).all()


# --- what is left out


@pytest.mark.parametrize(
    ("name", "column", "why"),
    [
        ("c", text("", " ", "NA", ""), "empty"),
        ("c", pa.nulls(5), "empty"),
        ("c", pa.array([NAN, None, NAN]), "empty"),
        ("c", text("7", "7", "7"), "constant: every cell is 7"),
        ("c", text("Ash", "ash", "Ash"), "constant: every cell is Ash"),
        ("c", pa.array([True, True]), "constant"),
        ("c", pa.array([5, 5], pa.timestamp("ns")), "constant"),
        ("c", text(*(f"k{i:03}" for i in range(24))), "an id: all 24 values differ"),
        ("c", text(*(str(i) for i in range(1, 25))), "an id: the integers 1 to 24"),
        ("c", pa.array([3, 1, 0, 2, 7, 6, 5, 4, 8]), "an id: the integers 0 to 8"),
        ("customer_id", pa.array([5, 91, 12, 44, 80, 13, 2, 70, 66]), "an id"),
        ("c", text(*(f"{i * 7919:08x}-4cdf-4fea" for i in range(1, 30))), "an id: hexadecimal"),
        ("c", pa.array([10**18 + 37 * i for i in range(20)]), "an id: integers of 19 digits"),
        ("c", pa.array([[1], [2]]), "each cell holds several values"),
        ("c", pa.array([{"a": 1}, {"a": 2}]), "each cell holds several values"),
        ("c", pa.array([b"a", b"b"]), "bytes"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("values_shown")
def test_left_out(name: str, column: pa.Array, why: str) -> None:
    assert reason(column, name).startswith(why)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (text("7", "7", "7"), "constant: every cell is the same"),
        (text("Ash", "ash", "Ash"), "constant: every cell is the same"),
        (pa.array([5, 5], pa.timestamp("ns")), "constant: every cell is the same"),
        (text(*(f"k{i:03}" for i in range(24))), "an id: all 24 values differ"),
        (text(*(str(i) for i in range(1, 25))), "an id: integers without a gap, each once"),
        (text(*(f"{i * 7919:08x}-4cdf-4fea" for i in range(1, 30))), "an id: hexadecimal codes, 29 different ones in"),
    ],
)
def test_reasons_quote_no_cell_unasked(column: pa.Array, why: str) -> None:
    said = reason(column, "c")
    assert said.startswith(why)
    assert "(" not in said


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("c", pa.array([0.5 * i for i in range(30)])),  # all different, but no integers
        ("staff", pa.array(range(10, 40))),  # a sequence that does not count rows
        ("year", pa.array(range(1990, 2020))),
        ("c", pa.array([5, 91, 12, 44, 80, 13, 2, 70, 66])),  # integers, all different
        ("customer_id", pa.array([1, 2, 1, 2, 3, 3, 1, 2, 3, 1])),  # repeated: says which rows belong together
        ("humidity", pa.array([5, 91, 12, 44, 80, 13, 2, 70, 66])),  # ends in "id...": no id
        ("paid", pa.array([5, 91, 12, 44, 80, 13, 2, 70, 66])),
    ],
)
def test_measurements_are_kept(name: str, column: pa.Array) -> None:
    x, encoder = encode(column, name)
    assert encoder.left_out == []
    assert x.shape[1] == 1
    assert np.isfinite(x).all()


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


# --- the whole table


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


def test_an_unknown_category_is_zero_where_all_were_kept() -> None:
    encoder = AttributeEncoder().fit([("shade", text("red", "blue", "green", "red", "blue", "green"))])
    np.testing.assert_array_equal(encoder.transform([("shade", text("violet"))]), [[0, 0, 0]])


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
    assert encoder.used == {"v": 2, "\u00e9": 1}
    again = encoder.transform([("\u00e9", text("1", "5", "9")), ("v", text("1", "2", "4")), ("v", text("9", "3", "4"))])
    np.testing.assert_array_equal(again, x)


# --- data frames and arrays


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


def test_numbers_and_categories_need_no_scikit_learn() -> None:
    code = """
import sys, pyarrow as pa
from vsacli.tables.attributes import AttributeEncoder
t = lambda *cells: pa.array(cells, pa.large_string())
x = AttributeEncoder().fit_transform([("a", t("1", "?", "3%")), ("b", t("x", "y", "x")), ("c", t("5", "6", "1"))])
assert x.shape == (3, 3), x
print([m for m in ("sklearn", "skrub", "torch") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- rows of another table above


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
