"""The label column: classes by spelling, numbers, missing cells, and cells for new labels."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vsacli.errors import DataError
from vsacli.support.privacy import showing_values
from vsacli.tables.blank_tokens import PANDAS_TOKENS
from vsacli.target.column import Target, read_target
from vsacli.target.missing import normalize


def text(*cells: str) -> pa.Array:
    return pa.array(cells, pa.large_string())


def filled(target: Target) -> list:
    """The cell that each class is given."""
    return target.spell_classes(np.arange(len(target.classes))).to_pylist()


def test_words_are_classes() -> None:
    target = read_target(text("b", "", "a", "b", "NA"))
    assert target.kind == "classification"
    assert target.reason == "2 distinct words"
    assert target.classes == ["a", "b"]
    assert target.codes.tolist() == [1, -1, 0, 1, -1]
    assert target.missing.tolist() == [False, True, False, False, True]
    assert target.missing_tokens == {"": 1, "NA": 1}
    assert np.isnan(target.numbers).all()
    assert target.n_labeled == 3
    assert target.spell_classes(np.array([1, 0, 0])).equals(text("b", "a", "a"))


@pytest.mark.parametrize(
    "labels",
    [["01", "1", "1.0"], ["2.1", "2.10"], ["RED", "Red", "red"], ["a  b", "a b"], ['"x"', "x"], ["+1", "1"]],
)
def test_other_spellings_are_other_classes(labels: list[str]) -> None:
    target = read_target(text(*reversed(labels), *labels, ""), task="classification")
    assert target.classes == labels
    assert filled(target) == labels


def test_classes_that_may_be_meant_to_be_one_are_kept_and_noted() -> None:
    target = read_target(text("TRUE", "true", "False", "1", "1.0", "2,000", "2", ""))
    assert target.classes == ["1", "1.0", "2", "2,000", "False", "TRUE", "true"]
    assert target.notes == [
        "4 classes would be 2 without differences in case, spaces or .0: they are kept apart; "
        "if they are the same, spell them alike"
    ]
    with showing_values(True):
        assert "('A b', 'a  b', …)" in read_target(text("TRUE", "true", "a  b", "A b")).notes[0]
    assert read_target(text("yes", " yes", "no", "1.5", "1.50", "10", "1")).notes == []


def test_surrounding_space_and_unicode_form_make_no_class() -> None:
    target = read_target(text("yes ", "yes", "yes ", "cafe\u0301", "caf\u00e9", "caf\u00e9", " yes", ""))
    assert target.codes.tolist() == [1, 1, 1, 0, 0, 0, 1, -1]
    assert filled(target) == ["caf\u00e9", "yes "]


def test_the_first_of_two_equally_frequent_spellings_is_used() -> None:
    assert filled(read_target(text("no ", "no", "yes", "yes ", ""))) == ["no ", "yes"]


def test_white_space_and_tokens_with_space_around_are_missing() -> None:
    target = read_target(text("yes", "no", " ", "\t", "\u00a0", " NaN ", "NaN"))
    assert target.missing.tolist() == [False, False, True, True, True, True, True]
    assert target.missing_tokens == {"": 3, "NaN": 2}


def test_named_tokens() -> None:
    cells = text("oui", "NA", "?", "-", "non", "")
    assert read_target(cells, na=["?", "-"]).classes == ["non", "oui"]
    assert read_target(cells, na=["?", "-"]).missing_tokens == {"NA": 1, "?": 1, "-": 1, "": 1}
    assert read_target(cells, na=["?"], default_na=False).classes == ["-", "NA", "non", "oui"]


def test_what_was_decided_about_a_token_is_noted() -> None:
    target = read_target(text("NA", "EU", "AS", "NA", ""))
    assert target.classes == ["AS", "EU", "NA"]
    assert "'NA'" in target.notes[0]


@pytest.mark.parametrize(
    "classes",
    [
        ["Zoe", "adder", "bee", "cat", "Äsche"],  # letters: their code points, so capitals stand first
        ["-1", "0", "9", "10", "11", "100"],
        ["01", "1", "1.0", "2"],  # of equal numbers, letters
        ["2", "9", "10", "a", "b"],
        ["€8", "€11", "$10", "$9"],  # of two currencies that are as frequent, one has the numbers
    ],
    ids=["words", "numbers", "equal numbers", "numbers and words", "two currencies"],
)
def test_classes_stand_in_the_order_of_numbers_or_letters_whatever_row_comes_first(classes: list[str]) -> None:
    cells, codes = [*classes, *classes, ""], [*range(len(classes)), *range(len(classes)), -1]
    rng = np.random.default_rng(0)
    for order in [np.arange(len(cells)), np.arange(len(cells))[::-1], *(rng.permutation(len(cells)) for _ in range(9))]:
        target = read_target(text(*(cells[i] for i in order)), task="classification")
        assert target.classes == classes
        assert target.codes.tolist() == [codes[i] for i in order]
        assert filled(target) == classes


def test_one_label_and_one_class_are_classes() -> None:
    for cells in (["12.5", "", ""], ["same", "same", ""], ["3", "3", "3", ""]):
        target = read_target(text(*cells))
        assert (target.kind, filled(target)) == ("classification", cells[:1])


def test_all_labeled_leaves_nothing_to_fill() -> None:
    target = read_target(text("a", "b", "a"))
    assert not target.missing.any()
    assert target.missing_tokens == {}


@pytest.mark.parametrize("task", ["auto", "classification", "regression"])
@pytest.mark.parametrize(
    "column",
    [text("", "NA", " "), text(), pa.nulls(3), pa.array([None, float("nan")]), pa.array([None, None], pa.int8())],
    ids=["missing marks", "no rows", "null type", "floats", "integers"],
)
def test_no_label_at_all(column: pa.Array, task) -> None:
    with pytest.raises(DataError, match=r"column 'y' has no (label|rows)"):
        read_target(column, task=task, name="y")


def test_no_label_but_tokens_says_so() -> None:
    with pytest.raises(DataError, match=r"'NA' in 2 of them: --no-default-na"):
        read_target(text("NA", "NA", ""), name="y")


def test_whole_numbers_become_a_regression_when_they_hardly_repeat() -> None:
    prices = [str(39591 + 4013 * i) for i in range(30)]
    target = read_target(text(*prices, "", ""))
    assert target.kind == "regression"
    assert target.numbers[:30].tolist() == [float(price) for price in prices]
    assert np.isnan(target.numbers[30:]).all()
    assert (target.codes == -1).all()
    assert target.spell_numbers(np.array([51234.4, 1e13])).equals(text("51234", "10000000000000"))


def test_the_task_can_be_set() -> None:
    cells = text("1", "2", "1", "2", "")
    assert read_target(cells).kind == "classification"
    regression = read_target(cells, task="regression")
    assert regression.kind == "regression"
    assert regression.reason == "as given with --task"
    assert regression.spell_numbers(np.array([1.6])).to_pylist() == ["2"]
    assert read_target(text("1.5", "7.25", ""), task="classification").classes == ["1.5", "7.25"]


def test_decimal_comma() -> None:
    cells = text("51,23", "82,30", "12,00", "")
    for decimal_mark in (",", "."):
        target = read_target(cells, task="regression", decimal=decimal_mark)
        assert target.numbers[:3].tolist() == [51.23, 82.3, 12.0]
        assert target.spell_numbers(np.array([7.5])).to_pylist() == ["7,50"]
        assert bool(target.notes) == (decimal_mark == ".")


def test_currency() -> None:
    target = read_target(text("$180.50", "$1,062.50", "$802.00", ""))
    assert target.kind == "regression"
    assert target.numbers[:3].tolist() == [180.5, 1062.5, 802.0]
    assert target.spell_numbers(np.array([2000.0])).to_pylist() == ["$2,000.00"]


WRONG = {
    "words": (
        ["low", "high", "low"],
        "regression",
        r"row 1: 'low' is not a finite number .3 of 3 labels are not.; reg",
    ),
    "a word among numbers": (["1.5", "2.5", "bad"], "regression", r"row 3: 'bad' is not a finite number like '1.5'"),
    "infinity": (["3.00", "inf", "4.00", "-inf"], "regression", r"row 2: 'inf' .*2 of 4 labels"),
    "infinity, unasked": (["3.05", "inf", "4.55"], "auto", r"row 2: 'inf' .*--na 'inf'"),
    "a word among prices, unasked": (
        ["1.5", "2.5", "8.75", "9.5", "unknown"],
        "auto",
        r"row 5: 'unknown'.*--na 'unknown'",
    ),
    "two currencies": (["$5", "$6", "€7"], "regression", r"row 3: '€7' is not a finite number like '\$5'"),
    "too large": (["1", "1e400"], "regression", r"row 2: '1e400'"),
    "dates": (["2024-01-01", "2024-01-02"], "regression", r"'2024-01-01'.*--task classification"),
}


@pytest.mark.usefixtures("values_shown")
@pytest.mark.parametrize(("cells", "task", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_label_that_is_no_number_is_quoted(cells: list[str], task, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_target(text(*cells, ""), task=task, name="y")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("column 'y', ")


SECRET = {name: case for name, case in WRONG.items() if "unknown" not in case[0]}  # a word for "missing" is none


@pytest.mark.parametrize(("cells", "task", "message"), SECRET.values(), ids=SECRET.keys())
def test_a_label_that_is_no_number_is_not_quoted_unasked(cells: list[str], task, message: str) -> None:
    with pytest.raises(DataError, match=r"row \d: the label \(VSA_SHOW_VALUES=1 shows it\) is not") as caught:
        read_target(text(*cells, ""), task=task, name="y")
    assert not any(cell in str(caught.value).replace("--task", "") for cell in cells if len(cell) > 1)


def test_messages_say_where() -> None:
    with pytest.raises(DataError, match=r"column 'y', line 4: the label"):
        read_target(text("1", "2", "x"), task="regression", name="y", where=lambda row: f"line {row + 2}")


def test_no_prediction_that_is_not_finite_is_written() -> None:
    target = read_target(text("1.5", "2.5", ""), task="regression", name="y")
    with pytest.raises(DataError, match="1 row"):
        target.spell_numbers(np.array([1.0, np.nan]))


def test_a_target_spells_only_its_own_kind() -> None:
    with pytest.raises(ValueError, match="no numbers"):
        read_target(text("a", "b")).spell_numbers(np.array([1.0]))
    with pytest.raises(ValueError, match="no classes"):
        read_target(text("1.5", "2.5", "4.5")).spell_classes(np.array([0]))


DAY, NIGHT = dt.datetime(2024, 3, 1, 12), dt.datetime(2024, 3, 1, 23)
# column type, two values in the order of their classes, how they are shown
VALUES = [
    (pa.int32(), [40, 41], ["40", "41"]),
    (pa.uint64(), [0, 2**64 - 1], ["0", "18446744073709551615"]),
    (pa.bool_(), [False, True], ["false", "true"]),
    (pa.float64(), [1.0, 2.0], None),
    (pa.float32(), [0.1, 0.2], ["0.1", "0.2"]),
    (pa.float16(), [np.float16(1), np.float16(2)], None),
    (pa.string(), ["a", "b"], ["a", "b"]),
    (pa.string_view(), ["a", "a label longer than a dozen bytes"], ["a", "a label longer than a dozen bytes"]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"], ["a", "b"]),
    (pa.dictionary(pa.int32(), pa.int16()), [5, 7], ["5", "7"]),
    (pa.decimal128(8, 2), [decimal.Decimal("1.50"), decimal.Decimal("2.00")], ["1.50", "2.00"]),
    (pa.date32(), [dt.date(1999, 1, 1), DAY.date()], ["1999-01-01", "2024-03-01"]),
    (pa.timestamp("us"), [DAY, NIGHT], ["2024-03-01 12:00:00.000000", "2024-03-01 23:00:00.000000"]),
    (pa.time64("us"), [DAY.time(), NIGHT.time()], ["12:00:00.000000", "23:00:00.000000"]),
    (pa.binary(), [b"a", b"\xff"], ["a", "ff"]),
]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("kind", "pair", "shown"), VALUES, ids=[str(kind) for kind, _, _ in VALUES])
def test_typed_classes_come_back_in_the_value_type(kind: pa.DataType, pair: list, shown, chunked: bool) -> None:
    a, b = pair
    column = pa.array([None, b, a, b, a, None, b], type=kind)
    if chunked:
        column = pa.chunked_array([column.slice(0, 3), column.slice(3, 0), column.slice(3)])
    target = read_target(column, task="classification")
    assert target.codes.tolist() == [-1, 1, 0, 1, 0, -1, 1]
    assert target.missing_tokens == {"": 2}
    if shown is not None:
        assert target.classes == shown
    cells = target.spell_classes(np.array([1, 0]))
    value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    assert cells.type == value_type
    assert cells.to_pylist() == pa.array([b, a], type=value_type).to_pylist()


def test_typed_columns_decide_their_task() -> None:
    words = pa.array(["1", "20", "300"]).dictionary_encode()
    prices = [39591, 49639, 53235, 55495]
    assert read_target(words).kind == "classification"
    assert read_target(pa.array(prices).dictionary_encode()).kind == "classification"
    assert read_target(pa.array(prices)).kind == "regression"
    assert read_target(pa.array([str(price) for price in prices])).kind == "regression"
    assert read_target(pa.array([DAY, NIGHT])).kind == "classification"
    assert read_target(pa.array([True, False])).kind == "classification"
    assert read_target(pa.array([1.0, 0.0, 1.0, float("nan")])).kind == "classification"


def test_null_nan_empty_and_tokens_are_missing_in_typed_columns() -> None:
    floats = read_target(pa.array([1.5, None, float("nan"), 2.5, 7.25]))
    assert floats.missing.tolist() == [False, True, True, False, False]
    assert floats.missing_tokens == {"": 1, "NaN": 1}
    strings = read_target(pa.array(["a", None, "", "NA", " ", "b"]))
    assert strings.missing.tolist() == [False, True, True, True, True, False]
    assert strings.missing_tokens == {"": 3, "NA": 1}
    coded = read_target(pa.array([1, 2, -999, 1, None]), na=["-999"])
    assert coded.classes == ["1", "2"]
    assert coded.missing_tokens == {"": 1, "-999": 1}
    assert read_target(pa.array([1.5, -999.0, 2.5, 3.5]), na=["-999"]).missing.tolist() == [False, True, False, False]


# column, values predicted, cells
NUMBERS = {
    "int8": (pa.array([3, 7, None], pa.int8()), [4.4, 4.6, 1e9, -1e9], [4, 5, 127, -128]),
    "uint64": (pa.array([2**63, 7, None], pa.uint64()), [2.0**64, -3.0], [2**64 - 1, 0]),
    "float64": (pa.array([1.25, 7.5, None]), [1 / 3, 7.0], [0.33, 7.0]),
    "float64 of whole numbers": (pa.array([1.0, 30.0, None]), [1.7, 2.2], [2.0, 2.0]),
    "float32": (pa.array([0.1, 7.5, None], pa.float32()), [1 / 3, 1e300], [np.float32(0.3), np.finfo(np.float32).max]),
    "decimal": (
        pa.array([decimal.Decimal("1.50"), None], pa.decimal128(5, 2)),
        [1 / 3, 1e9, -1e9],
        [decimal.Decimal("0.33"), decimal.Decimal("999.99"), decimal.Decimal("-999.99")],
    ),
    "categories of integers": (pa.array([3, 7, None]).dictionary_encode(), [4.4], [4]),
    "string": (pa.array(["1.50", "2.25", None]), [1 / 3], ["0.33"]),
}


@pytest.mark.parametrize(("column", "values", "cells"), NUMBERS.values(), ids=NUMBERS.keys())
def test_typed_numbers_come_back_in_the_value_type(column: pa.Array, values: list, cells: list) -> None:
    target = read_target(column, task="regression")
    out = target.spell_numbers(np.array(values))
    assert out.type == (column.type.value_type if pa.types.is_dictionary(column.type) else column.type)
    assert out.to_pylist() == cells


@pytest.mark.parametrize(
    "column",
    [pa.array([True, False]), pa.array([DAY, NIGHT]), pa.array([dt.timedelta(1)])],
    ids=["bool", "date", "span"],
)
def test_a_regression_needs_a_type_of_numbers(column: pa.Array) -> None:
    with pytest.raises(DataError, match="regression needs numbers: use --task classification"):
        read_target(column, task="regression")


def test_infinite_values_are_refused() -> None:
    with pytest.raises(DataError, match=r"row 2: the label .* is not a finite number"):
        read_target(pa.array([1.5, float("inf"), 2.5]), task="regression")


@pytest.mark.parametrize(
    "column", [pa.array([[1], [2]]), pa.array([{"a": 1}]), pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8()))]
)
def test_a_nested_column_is_no_target(column: pa.Array) -> None:
    with pytest.raises(DataError, match=r"column 'y' holds .*not labels"):
        read_target(column, name="y")


CELL = st.sampled_from(
    ["a", "a ", " b", "b", "B", "1", "01", "1.0", "2.5", "NA", "", " ", "null", "=1+1", "é", "e\u0301"]
)


@settings(deadline=None)
@given(st.lists(CELL | st.text(max_size=4), min_size=1, max_size=30))
def test_given_labels_and_missing_marks_share_out_the_cells(cells: list[str]) -> None:
    try:
        target = read_target(text(*cells), task="classification")
    except DataError:
        assert all(normalize(cell) in PANDAS_TOKENS | {""} for cell in cells)
        return
    assert sum(target.missing_tokens.values()) == target.missing.sum()
    assert (target.codes >= 0).tolist() == (~target.missing).tolist()
    assert sorted(set(target.codes[~target.missing])) == list(range(len(target.classes)))
    spelled = filled(target)
    assert set(spelled) <= {cell for cell, gone in zip(cells, target.missing, strict=True) if not gone}
    for cell, code in zip(cells, target.codes, strict=True):
        if code >= 0:
            assert normalize(cell) == normalize(spelled[code])
    # filled in, the labels are read back as the same classes
    refilled = [cell if code >= 0 else spelled[0] for cell, code in zip(cells, target.codes, strict=True)]
    again = read_target(text(*refilled), task="classification", default_na=False)
    assert not again.missing.any()
    pairs = set(zip(np.where(target.missing, 0, target.codes).tolist(), again.codes.tolist(), strict=True))
    assert len(pairs) == len(again.classes) == len(target.classes)


def test_labels_that_are_limits_are_noted() -> None:
    cells = ["1.5", "<0.5", "2.25", "<0.5", "3.75", "8.0", ""]
    with showing_values(True):
        target = read_target(text(*cells))
    assert target.kind == "regression"
    np.testing.assert_array_equal(target.numbers[[1, 3]], [0.5, 0.5])
    assert target.notes == ["2 labels like '<0.5' are limits or guesses: the number beside the sign is learned from"]
    assert "0.5" not in read_target(text(*cells)).notes[0]


def test_words_for_missing_among_decimals_are_named_however_many() -> None:
    with pytest.raises(
        DataError, match=r"'n\.d\.' is not a finite number \(4 of 8 labels are not\).*use --na 'n\.d\.'"
    ):
        read_target(text("1.5", "2.25", "3.75", "8.0", *["n.d."] * 4, ""))
