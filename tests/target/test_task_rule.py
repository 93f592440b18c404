"""Classification or regression."""

from __future__ import annotations

import math

import pytest

from vsacli.target.task_rule import judge, spelled_like_codes

NAN = math.nan
# distinct values, how often each, the task
RULE = {
    "words": ([NAN, NAN], [5, 1], "classification"),
    "codes and a word": ([101, 102, NAN], [6, 5, 5], "classification"),
    "one label": ([3.5], [1], "classification"),
    "all the same": ([3.5], [9], "classification"),
    "0 and 1": ([0, 1], [1, 1], "classification"),
    "-1 and 1": ([-1, 1], [1, 1], "classification"),
    "codes with two labels each": ([10, 20, 30], [2, 2, 2], "classification"),
    "ten digits, one label each": (list(range(10)), [1] * 10, "classification"),
    "1 to 20, one label each": (list(range(1, 21)), [1] * 20, "classification"),
    "1 to 40, one label each": (list(range(1, 41)), [1] * 40, "regression"),
    "20 codes, three labels each": (list(range(100, 200, 5)), [3] * 20, "classification"),
    "20 neighbours, three labels each": (list(range(100, 120)), [3] * 20, "regression"),
    "ages from 37 to 45": (list(range(37, 46)), [2] * 8 + [4], "regression"),
    "temperatures with gaps": ([-3, -1, 0, 2, 4, 5, 8, 11], [3] * 8, "regression"),
    "wine, 3 to 8": ([3, 4, 5, 6, 7, 8], [2, 9, 30, 30, 9, 2], "classification"),
    "codes in groups": ([11, 12, 13, 21, 22, 31], [4] * 6, "classification"),
    "months": (list(range(1, 13)), [4] * 12, "classification"),
    "four fevers": ([37, 38, 39, 40], [4] * 4, "classification"),
    "20 codes, two labels each": (list(range(100, 120)), [2] * 20, "regression"),
    "prices": ([39591, 49639, 53235, 55495], [1, 1, 1, 1], "regression"),
    "ages": ([18, 20, 21, 25, 34, 41, 56, 60], [1, 2, 1, 1, 2, 1, 1, 1], "regression"),
    "two prices": ([1200, 3400], [1, 1], "regression"),
    "decimals": ([0.5, 1.5, 2.25], [1, 2, 1], "regression"),
    "few decimals, often": ([0.5, 1.5, 2.25], [5, 6, 4], "classification"),
    "few decimals, not often": ([0.5, 1.5, 2.25], [5, 5, 4], "regression"),
    "many decimals": ([i / 7 for i in range(1, 12)], [9] * 11, "regression"),
    "prices and a word": ([1.5, 2.25, 3.75, 8.5, NAN], [1, 1, 1, 1, 1], "mixed"),
    "prices and infinity": ([1.5, 2.25, math.inf], [1, 1, 1], "regression"),
    "more words than a fifth": ([1.5, 2.25, 3.75, NAN], [1, 1, 1, 1], "classification"),
}


def test_words_for_missing_are_no_classes_among_decimals_however_many_they_are() -> None:
    values, counts = [1.5, 2.25, 3.75, NAN], [1, 1, 1, 9]
    assert judge(values, counts, blanks=[False, False, False, True]).kind == "mixed"
    assert judge([1, 2, 3, NAN], [4, 4, 4, 9], blanks=[False, False, False, True]).kind == "classification"
    assert judge([*values, NAN], [*counts, 2], blanks=[False] * 3 + [True, False]).kind == "classification"


@pytest.mark.parametrize(("values", "counts", "kind"), RULE.values(), ids=RULE.keys())
def test_the_rule(values: list[float], counts: list[int], kind: str) -> None:
    verdict = judge(values, counts)
    assert verdict.kind == kind
    assert verdict.reason


def test_the_same_number_in_two_spellings_is_one_number_but_two_labels() -> None:
    assert judge([1, 2.1, 2.1], [4, 6, 6]).kind == "classification"
    assert judge([1.0, 1.0, 2.0, 2.0], [1, 1, 1, 1]).reason.startswith("4 distinct")


def test_codes_by_their_looks() -> None:
    assert spelled_like_codes(["007", "12"])
    assert spelled_like_codes(["9007199254740993"])
    assert not spelled_like_codes(["0", "12", ""])
    assert judge([7, 12, 900], [1, 1, 1], codes=True).kind == "classification"


@pytest.mark.parametrize(
    ("values", "counts", "close"),
    [
        (list(range(37, 46)), [3] * 9, True),
        ([37, 38, 39, 40], [4] * 4, True),
        ([3, 4, 5, 6, 7, 8], [5] * 6, True),
        (list(range(10)), [3] * 10, False),  # digits
        ([0, 1, 2], [9, 9, 9], False),
        (list(range(1, 16)), [1] * 15, True),
        (list(range(100, 120)), [2] * 20, True),
        ([39591, 49639, 53235, 55495], [1] * 4, False),
    ],
)
def test_a_close_call_is_told(values: list[float], counts: list[int], close: bool) -> None:
    assert judge(values, counts).close == close
