"""What a column is: which are left out, and why."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.attributes.columns import NAN, encode, reason, text


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
        ("c", text(*(f"{i * 79193 % 10**7:07}" for i in range(20))), "an id: 7 digits with leading zeros"),
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
        ("postcode", text(*(f"{i * 7919 % 10**5:05}" for i in range(20)))),
        ("c", text(*(f"{100000 + i * 79193 % 900000}" for i in range(20)))),  # no zero is written first
        ("c", text(*(f"{i * 79193 % 10**7}" for i in range(20)))),
        ("c", text(*(f"{i % 7:06}" for i in range(20)))),  # repeated
        ("paid", pa.array([5, 91, 12, 44, 80, 13, 2, 70, 66])),
    ],
)
def test_measurements_are_kept(name: str, column: pa.Array) -> None:
    x, encoder = encode(column, name)
    assert encoder.left_out == []
    assert x.shape[1] == 1
    assert np.isfinite(x).all()
