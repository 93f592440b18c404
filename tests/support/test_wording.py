"""Phrases that messages share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsacli.support.wording import rounded


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17_512.0, "17,500"),
        (999.6, "1,000"),
        (0.0012345, "0.00123"),
        (1.5, "1.5"),
        (-33.14, "-33.1"),
        (2.0, "2"),
        (0.0, "0"),
        (1e20, "1e+20"),
        (math.nan, "nan"),
    ],
)
def test_numbers_are_rounded_as_people_write_them(value: float, text: str):
    assert rounded(value) == text


@given(st.floats(1e-6, 1e14), st.integers(1, 8))
def test_they_are_the_numbers_of_python(value: float, digits: int):
    assert np.isclose(float(rounded(value, digits).replace(",", "")), float(f"{value:.{digits}g}"), rtol=10**-digits)
