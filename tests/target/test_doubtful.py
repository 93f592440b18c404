"""Labels that are probably none: named in a note, and not learned from where they cannot be any."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vsacli.target.column import Target, read_target
from vsacli.target.doubtful import far_numbers

PRICES = ["15.5", "22.1", "64.9", "31.0", "47.3", "28.8", "55.2", "39.9", "18.2"]


def read(*labels: str, **options: object) -> Target:
    return read_target(pa.array([*labels, ""], pa.large_string()), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mark",
    [
        *["?", "-", "unknown", "Unknown", "Refused", "TBD", "(blank)", "k.A.", "n.a.", "Don't know", "[null]", "…"],
        *["not available", "No answer", "keine Angabe", "未知", "-99", "999", "-9", "8888"],
    ],
)
def test_a_class_that_often_means_missing_is_named(mark: str) -> None:
    target = read("yes", "no", "yes", mark, mark)
    assert target.classes == sorted(["yes", "no", mark])
    (note,) = target.notes
    assert note == f"{mark!r} taken as a class; if it means missing, use --na {mark!r}"
    assert read("yes", "no", mark, na=[mark]).notes == []


@pytest.mark.parametrize("label", ["tuna", "Maybe", "99 Luftballons", "banana", "A-99", "099", "-", "#1"])
def test_other_classes_are_not_named(label: str) -> None:
    if label == "-":  # a sign of presence: nothing but signs
        assert read("+", label).notes != []
    else:
        assert read("yes", "no", label).notes == []


def test_missing_codes_among_class_codes() -> None:
    for code in ("-99", "99"):
        assert f"{code!r} taken as a class; if it means missing, use --na {code!r}" in read(*"123123", code, code).notes
    assert not any("--na" in note for note in read("97", "98", "99", "97", "98", "99").notes)


@pytest.mark.parametrize("error", ["#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NUM!", "#WERT!", "#SPILL!", "Err:502"])
@pytest.mark.parametrize("labels", [["A", "B", "A"], PRICES], ids=["classes", "numbers"])
def test_errors_of_spreadsheets_are_kept_and_not_learned_from(error: str, labels: list[str]) -> None:
    target = read(*labels, error, error)
    assert error not in target.classes
    assert target.given.tolist() == [*[True] * len(labels), False, False, False]
    assert target.missing.tolist() == [*[False] * len(labels), False, False, True]
    assert target.notes == [
        f"{error!r} (2 cells) is an error of a spreadsheet: kept and not learned from; "
        f"use --na {error!r} to have it filled"
    ]
    assert read(*labels, error, na=[error]).missing.sum() == 2
    if labels is not PRICES:
        assert error in read(*labels, error, default_na=False).classes
        assert read(error, error).classes == [error]


@pytest.mark.parametrize("far", ["-99", "-99.0", "999", "-9", "9999", "123456", "-32768", "1e30"])
def test_a_regression_does_not_learn_from_a_number_that_is_none_of_the_others(far: str) -> None:
    target = read(*PRICES, far, far)
    assert target.kind == "regression"
    assert np.isfinite(target.numbers[target.given]).all()
    assert sorted(target.numbers[target.given]) == sorted(map(float, PRICES))
    assert target.spell_numbers(np.array([33.3])).to_pylist() == ["33.3"]
    (note,) = target.notes
    assert "(2 cells) lies far from all other labels: kept and not learned from; use --na " in note
    assert (far in note) == (far not in ("123456", "1e30"))  # any other number is a cell of the table


def test_numbers_that_may_be_measured_are_learned_from() -> None:
    for labels in (
        [*PRICES, "99"],  # not far
        [*PRICES, "177"],
        ["2", "39", "21", "5", "77", "13"],
        [*PRICES, "-20.5"],
        ["-80", "-40.5", "12", "30.25", "60.5", "-99"],
        ["1200", "3400.5", "88.25", "912", "150000", "7200"],  # one house costs much more
        ["1.5", "999"],
    ):
        target = read(*labels)
        assert target.ignored is None
        assert target.notes == []


def test_far_numbers_of_parquet() -> None:
    values = pa.array([15, 22, 64, 31, 47, 28, 55, 39, 71, 12, 18, -99, None])
    target = read_target(values)
    assert target.kind == "regression"
    assert target.given.tolist() == [True] * 11 + [False] * 2
    assert target.missing.tolist() == [False] * 12 + [True]


@pytest.mark.parametrize(
    ("values", "far"),
    [
        ([1, 2, 3, 4, -99], [4]),
        ([1, 2, 3, 4, -98, -99], [4, 5]),
        ([1, 2, 3, 4, 5, -999, 99999], [5, 6]),
        ([1, 2, 3, -99], []),  # too few to tell
        ([-100, -50, 0, 50, -99], []),
        ([1, 2, 3, 4, 5, np.inf, -np.inf], []),
        ([1.7e308, -1.7e308, 0, 1, 2], []),
    ],
)
def test_far(values: list[float], far: list[int]) -> None:
    assert np.flatnonzero(far_numbers(values)).tolist() == far
