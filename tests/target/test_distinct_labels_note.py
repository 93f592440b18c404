"""Labels that hardly repeat: what is said of them."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from vsacli.target.column import read_target

DATES = ["2024-01-05", "2024-02-16", "2024-03-07"]


def notes(*labels: str, **options: str) -> list[str]:
    """What is said of labels, with two cells to be filled below."""
    target = read_target(pa.array([*labels, "", ""], pa.large_string()), **options)  # type: ignore[arg-type]
    assert target.kind == "classification"
    return target.notes


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (DATES, "dates"),
        (["05.01.2024", "16.02.2024", "07.03.2024"], "dates"),
        (["Jan 5, 2024", "Feb 16, 2024", "Mar 7, 2024"], "dates"),
        (["2024-01-05T10:00:00Z", "2024-01-05T11:30:00Z", "2024-01-06T10:00:00Z"], "dates"),
        (["9:30", "10:45", "23:59"], "times"),
        (["10.0.0.1", "10.0.0.27", "192.168.1.9"], "network addresses"),
        (["fe80::1", "2001:db8::ff00:2", "::1"], "network addresses"),
        (["00:1A:2B:3C:4D:5E", "00:1A:2B:3C:4D:5F", "10:1A:2B:3C:4D:5E"], "network addresses"),
        (["AB-1", "AB-37", "AB-74", "XX-1", "ZZ-5"], "codes"),
        (["00123", "00456", "00789", "01234", "09999"], "codes"),
        (["a1b2c3d4", "b1b2c3d5", "c1b2c3d6", "d1d2d3d4", "e1e2e3e4"], "codes"),
        (["it does not start today", "the screen has gone black", "please add a dark mode to it"], "texts"),
        (["oak", "ash", "elm", "fir", "yew"], "words"),
        (["New York", "San Juan", "Las Vegas", "La Paz", "Santa Fe"], "words"),
    ],
)
def test_kinds_of_labels_that_all_differ(labels: list[str], what: str):
    (note,) = notes(*labels)
    assert note.startswith(f"the labels are {what}, all different: each is a class of its own")
    assert "--task classification if classes are meant" in note
    assert not any(label in note for label in labels)  # no cell of the table
    assert notes(*labels, task="classification") == []


@pytest.mark.parametrize(
    "labels",
    [
        DATES[:2],
        [*DATES, *DATES],
        ["oak", "ash", "elm"],
        ["Q1", "Q2", "Q3", "Q4"],
        ["New York", "San Juan", "Las Vegas"],
        ["oak", "ash", "elm", "fir", "yew", "yew"],
        list("0123456789"),
        ["1.2.3", "1.2.10", "2.0.1"],
        ["18-25", "26-35", "36-45"],
    ],
)
def test_what_may_well_be_classes(labels: list[str]):
    assert notes(*labels) == []


def test_one_that_comes_twice_changes_little():
    days = [f"2024-01-{day:02}" for day in range(10, 19)]
    (note,) = notes(*days, days[0])
    assert note.startswith("the labels are dates, nearly all different (9 of 10): ")


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (pa.array([datetime.date(2024, 1, day) for day in (1, 5, 9)]), "dates"),
        (pa.array([1, 5, 9], pa.timestamp("s")), "dates"),
        (pa.array([1, 5, 9], pa.time32("s")), "times"),
        (pa.array([1, 5, 9], pa.duration("s")), "times"),
    ],
)
def test_values_of_parquet(cells: pa.Array, what: str):
    (note,) = read_target(pa.concat_arrays([cells, pa.nulls(2, cells.type)])).notes
    assert note.startswith(f"the labels are {what}, all different")


def test_declared_categories_and_numbers_are_what_they_are():
    assert read_target(pa.array(DATES).dictionary_encode()).notes == []
    numbers = read_target(pa.array([5.5, 17.25, 80.125, None]))
    assert (numbers.kind, numbers.notes) == ("regression", [])
    np.testing.assert_array_equal(numbers.codes, -1)
