"""Ranges, durations, intervals and weights as option values."""

from __future__ import annotations

import pytest

from vsacli.cli.values import parse_duration, parse_interval, parse_proportions, parse_range, parse_weights
from vsacli.errors import UsageError


@pytest.mark.parametrize(("text", "value"), [("5", (5, 5)), ("1-10", (1, 10)), (" 2..3 ", (2, 3)), ("7-7", (7, 7))])
def test_ranges(text: str, value: tuple[int, int]):
    assert parse_range("--shots", text) == value


@pytest.mark.parametrize("text", ["", "0", "0-3", "5-2", "a", "1-", "-3", "1-2-3", "1.5"])
def test_impossible_ranges(text: str):
    with pytest.raises(UsageError, match="--shots"):
        parse_range("--shots", text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1d", 86400), ("1.5m", 90)]
)
def test_durations(text: str, seconds: float):
    assert parse_duration("--max-time", text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "30 minutes", "30mx", "-5m", "0s", "1e3s"])
def test_impossible_durations(text: str):
    with pytest.raises(UsageError, match="--max-time"):
        parse_duration("--max-time", text)


def test_intervals_are_time_or_steps():
    assert parse_interval("--save-every", "500") == (None, 500)
    assert parse_interval("--save-every", "2m") == (120, None)
    with pytest.raises(UsageError, match="at least 1 step"):
        parse_interval("--save-every", "0")


def test_weights():
    assert parse_weights("--weight", ["data=2", "prior=0.5"]) == {"data": 2.0, "prior": 0.5}
    for texts in (["data"], ["data=x"], ["data=1", "data=2"]):
        with pytest.raises(UsageError, match="--weight data"):
            parse_weights("--weight", texts)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("a=0.9,b=0.1", {"a": 0.9, "b": 0.1}),
        (" a = 9 , b b=1e2 ", {"a": 9, "b b": 100}),
        ("a=90%", {"a": 0.9}),
        ('"x, y"=1,"say ""no"""=2,p=q=3', {"x, y": 1, 'say "no"': 2, "p=q": 3}),
        ('5" pipe=1,"a=b"=2', None),
        ("labels", "labels"),
        ("labels=0.5", {"labels": 0.5}),
    ],
)
def test_proportions(text: str, shares: dict[str, float] | str | None):
    if shares is None:
        with pytest.raises(UsageError, match="not closed"):
            parse_proportions("--proportions", text)
    else:
        assert parse_proportions("--proportions", text) == shares


@pytest.mark.parametrize("text", ["", "a", "a=", "=x", "a=-1", "a=nan", "a=inf", "a=1,a=2", "a=1%,b=2", "a=0.5,,"])
def test_impossible_proportions(text: str):
    with pytest.raises(UsageError, match="--proportions"):
        parse_proportions("--proportions", text)


@pytest.mark.parametrize("text", ["a=43,5%,b=56.5%", "a=0,5", "b=1,a=0,25"])
def test_decimal_commas_are_told_from_commas_between_classes(text: str):
    with pytest.raises(UsageError, match="write a decimal point"):
        parse_proportions("--proportions", text)
