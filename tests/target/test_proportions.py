"""Shares of the classes as people say them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from vsacli.errors import UsageError
from vsacli.target.proportions import CountedLabels, KnownProportions, shares_of

CLASSES = ["ant", "bee", "wasp"]
GIVEN = np.array([2, 3, 5])


def shares(known: KnownProportions) -> list[float]:
    found, notes = shares_of(known, CLASSES, GIVEN)
    assert notes == []
    return np.round(found, 9).tolist()


def test_shares_percentages_and_counts_are_scaled_to_sum_1():
    assert shares({"ant": 0.5, "bee": 0.3, "wasp": 0.2}) == [0.5, 0.3, 0.2]
    assert shares({"wasp": 20, "ant": 50, "bee": 30}) == [0.5, 0.3, 0.2]
    assert shares({"ant": 1, "bee": 1, "wasp": 6}) == [0.125, 0.125, 0.75]


def test_shares_that_are_not_1_together_are_told() -> None:
    found, notes = shares_of({"ant": 0.3, "bee": 0.4, "wasp": 0.4}, CLASSES, GIVEN)
    assert notes == ["the shares of --proportions are 110% together: each is divided by that"]
    np.testing.assert_allclose(found, np.array([0.3, 0.4, 0.4]) / 1.1)
    for known in ({"ant": 0.33, "bee": 0.33, "wasp": 0.33}, {"ant": 3, "bee": 4, "wasp": 4}):
        assert shares_of(known, CLASSES, GIVEN)[1] == []


def test_one_class_may_be_left_out_of_shares():
    assert shares({"ant": 0.5, "wasp": 0.2}) == [0.5, 0.3, 0.2]
    assert shares({"ant": 0.5, "bee": 0.5}) == [0.5, 0.5, 0]


def test_labels_drawn_at_random_have_the_shares_of_all_rows():
    assert shares("labels") == [0.2, 0.3, 0.5]


def test_names_are_found_as_labels_are_read():
    found, _ = shares_of({" ant ": 1, "bee": 1, "wasp": 2}, CLASSES, GIVEN)
    assert found.tolist() == [0.25, 0.25, 0.5]
    found, _ = shares_of({1: 3, 2: 1}, [1.0, 2.0], np.array([1, 1]))
    assert found.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"ant": 0.5, "bees": 0.5}, r"class 'bees'; did you mean 'bee'\?"),
        ({"ant": 0.5, "xyz": 0.5}, "class 'xyz'; there are 'ant', 'bee', 'wasp'"),
        ({"ant": 5, "bee": 5}, "leaves 'wasp' out.+the others are 10 together; name every class"),
        ({"ant": 0.5}, "leaves 'bee', 'wasp' out; name every class but one"),
        ({"ant": 0.5, "ant ": 0.2, "bee": 0.3}, "'ant ' is named twice"),
        ({"ant": -1, "bee": 1, "wasp": 1}, "share of 'ant' is -1; give a number of at least 0"),
        ({"ant": float("nan"), "bee": 1, "wasp": 1}, "share of 'ant' is nan"),
        ({"ant": 0, "bee": 0, "wasp": 0}, "all shares are 0"),
        ("label", "'label': give shares of the classes, or 'labels'"),
    ],
)
@pytest.mark.usefixtures("values_shown")
def test_what_cannot_be_shares_is_refused(known: Mapping[str, float], said: str):
    with pytest.raises(UsageError, match=said):
        shares_of(known, CLASSES, GIVEN)


def test_messages_show_no_class_that_the_user_did_not_name():
    with pytest.raises(UsageError) as far:
        shares_of({"bees": 1}, CLASSES, GIVEN)
    with pytest.raises(UsageError) as out:
        shares_of({"ant": 0.1}, CLASSES, GIVEN)
    assert not any(name in str(error.value) for error in (far, out) for name in ("'bee'", "wasp"))


def test_labels_of_another_table_need_not_have_the_same_classes():
    known = CountedLabels({"bee": 30, "ant": 10, "fly": 5}, "old.csv")
    found, notes = shares_of(known, CLASSES, GIVEN)
    assert found.tolist() == [0.25, 0.75, 0]
    assert notes == [
        "5 of 45 labels of old.csv belong to classes that have no label here; they are not counted",
        "old.csv has no label of one class, so no cell is filled with it",
    ]
    with pytest.raises(UsageError, match=r"old\.csv has no label of any class in this table"):
        shares_of(CountedLabels({"fly": 5}, "old.csv"), CLASSES, GIVEN)
