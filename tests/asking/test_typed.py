"""What is understood of what a person types."""

from __future__ import annotations

import pytest

from vsacli.asking.typed import Typed, understand

KINDS = ["metalloid", "halogen", "alkali metal", "alkaline earth metal"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\n", Typed("label", "halogen")),
        ("  halogen \n", Typed("label", "halogen")),
        ("2\n", Typed("label", "halogen")),
        ("M", Typed("label", "metalloid")),
        (
            "alkali ",
            Typed("unclear", "could be alkali metal or alkaline earth metal: type more letters, or the number"),
        ),
        ("alkali m", Typed("label", "alkali metal")),
        ("5", Typed("new", "5")),
        ("noble gas", Typed("new", "noble gas")),
        ("=metal", Typed("new", "metal")),
        ("= halogen", Typed("label", "halogen")),
        ("=", Typed("unclear", "type a label after =")),
        ("s", Typed("skip")),
        ("u", Typed("undo")),
        ("q", Typed("quit")),
        ("=s", Typed("new", "s")),
    ],
)
def test_among_classes(line: str, expected: Typed):
    assert understand(line, KINDS, "halogen") == expected


def test_the_first_label_of_all_needs_no_second_time():
    assert understand("gas", [], None) == Typed("label", "gas")
    assert understand("", [], None).wish == "unclear"


def test_classes_that_are_numbers_are_not_counted():
    assert understand("1", ["7", "1"], None) == Typed("label", "1")
    assert understand("2", ["7", "1"], None) == Typed("new", "2")


def test_a_class_may_be_called_like_a_wish():
    assert understand("s", ["s", "m"], None) == Typed("label", "s")


@pytest.mark.parametrize(
    ("line", "decimal", "expected"),
    [("3.5", ".", "label"), ("-12", ".", "label"), ("3,5", ",", "label"), ("many", ".", "unclear"), ("q", ".", "quit")],
)
def test_numbers(line: str, decimal: str, expected: str):
    typed = understand(line, [], "4", numbers=True, decimal=decimal)
    assert typed.wish == expected
    assert typed.text == line or expected != "label"
