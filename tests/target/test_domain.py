"""Fills stay among the numbers that the labels can be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vsacli.target.column import read_target

FILLS = [-1.37, 0.2, 4.6, 260.4, 9999.99]
DOMAINS = {
    "positive": (["2.11", "39.73", "21.9", "5.04", "77.17", "12.01"], ["0.21", "0.21", "4.6", "260.4", "9999.99"]),
    "positive and whole": (["2", "39", "21", "5", "77", "13"], ["1", "1", "5", "260", "10000"]),
    "counts": (["0", "3", "1", "7", "2", "11"], ["0", "0", "5", "260", "10000"]),
    "halves": (["1.5", "3", "4.5", "2", "2.5", "-4"], ["-1.5", "0", "4.5", "260.5", "10000"]),
    "halves with a digit": (["1.5", "3.0", "4.5", "2.0", "2.5", "-4.0"], ["-1.5", "0.0", "4.5", "260.5", "10000.0"]),
    "whole with .0": (["1.0", "3.0", "4.0", "-2.0", "7.0", "12.0"], ["-1.0", "0.0", "5.0", "260.0", "10000.0"]),
    "hundreds": (["1200", "300", "4500", "200", "700", "1100"], ["100", "100", "100", "300", "10000"]),
    "quarters": (["1.25", "3.5", "-4.75", "2", "2.5", "8.25"], ["-1.25", "0.25", "4.5", "260.5", "10000"]),
    "below zero": (["-5.5", "-3.25", "-4", "-2.11", "-7.03", "-9.9"], ["-1.37", "-0.21", "-0.21", "-0.21", "-0.21"]),
    "both signs": (["-5.5", "3.27", "4", "-2.11", "7.03", "9.9"], ["-1.37", "0.2", "4.6", "260.4", "9999.99"]),
    "too few to tell": (["2.5", "3.5", "4.5"], ["-1.4", "0.2", "4.6", "260.4", "10000.0"]),
    "two numbers": (["2.5", "3.5", "2.5", "3.5", "2.5", "3.5"], ["0.2", "0.2", "4.6", "260.4", "10000.0"]),
    "money": (["$2.50", "$3.75", "$14.10", "$1.25", "$7.99", "$3"], ["$0.12", "$0.20", "$4.60", "$260.40", "$9999.99"]),
    "a unit": (["2 kg", "3 kg", "14 kg", "1 kg", "7 kg", "33 kg"], ["1 kg", "1 kg", "5 kg", "260 kg", "10000 kg"]),
    "percent": (["5%", "17%", "93%", "41%", "88%", "12%"], ["1%", "1%", "5%", "100%", "100%"]),
    "more than all": (["5%", "17%", "193%", "41%", "88%", "12%"], ["1%", "1%", "5%", "260%", "10000%"]),
    "growth": (["5%", "17%", "43%", "41%", "8%", "12%"], ["1%", "1%", "5%", "260%", "10000%"]),
    "full marks": (["5", "100", "100", "41", "100", "12"], ["1", "1", "5", "100", "100"]),
    "a hundred twice": (["5", "17", "100", "100", "88", "12"], ["1", "1", "5", "260", "10000"]),
    "a hundred dollars": (["$5", "$100", "$100", "$41", "$100", "$12"], ["$1", "$1", "$5", "$260", "$10000"]),
    "shares": (["0.5", "0.17", "1.0", "1", "1.0", "0"], ["0", "0.2", "1", "1", "1"]),
    "exponents": (["2e-05", "3e-05", "4e-05", "5e-05", "6e-05"], ["-1e00", "2e-01", "5e00", "3e02", "1e04"]),
}  # fmt: skip


@pytest.mark.parametrize(("labels", "fills"), DOMAINS.values(), ids=DOMAINS.keys())
def test_fills_stay_in_the_domain_of_the_labels(labels: list[str], fills: list[str]) -> None:
    target = read_target(pa.array([*labels, ""], pa.large_string()), task="regression")
    assert target.spell_numbers(np.array(FILLS)).to_pylist() == fills


def test_fills_of_parquet_do() -> None:
    for kind, fills in (
        (pa.float64(), [1.5, 1.5, 4.5, 260.5, 10000.0]),
        (pa.decimal128(8, 1), [1.5, 1.5, 4.5, 260.5, 10000]),
    ):
        labels = pa.array([10.5, 13.0, 44.0, 22.5, 17.0, 12.0, None]).cast(kind)
        target = read_target(labels, task="regression")
        assert [float(fill) for fill in target.spell_numbers(np.array(FILLS)).to_pylist()] == fills


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308, 5e-324])
def test_extreme_numbers_stay_finite(size: float) -> None:
    target = read_target(pa.array([size * k for k in (0.1, 0.3, 0.5, 0.7, 0.8, 1.0)] + [None]), task="regression")
    assert np.isfinite(target.spell_numbers(np.array([size, 0.0, size / 3])).to_numpy()).all()


def test_a_number_too_large_to_be_rounded_stays_as_it_is() -> None:
    labels = ["1", "2.5", "-3.5", "4", "-2", "-4.5"]
    target = read_target(pa.array([*labels, ""], pa.large_string()), task="regression")
    with np.errstate(all="raise"):
        (filled,) = target.spell_numbers(np.array([1.797693134862316e307])).to_pylist()
    assert float(filled) == 1.797693134862316e307
