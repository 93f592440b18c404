"""Dates and times of day → attributes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.attributes.columns import encode, text


def test_dates_are_the_moment_and_the_cycles_that_vary() -> None:
    days = ["2024-01-05", "2024-04-05", "", "2024-07-05", "2024-10-05"]  # Fri, Fri, -, Fri, Sat
    x, encoder = encode(text(*days))
    assert encoder.attribute_names[1:] == [
        "c date", "c month sin", "c month cos", "c weekday sin", "c weekday cos",
    ]  # fmt: skip
    assert (np.diff(x[[0, 1, 3, 4], 0]) > 0).all()
    assert np.isnan(x[2]).all()
    angle = 2 * np.pi * np.array([1, 4, 7, 10]) / 12
    np.testing.assert_allclose(x[[0, 1, 3, 4], 1], np.sin(angle), atol=1e-6)
    np.testing.assert_allclose(x[[0, 1, 3, 4], 2], np.cos(angle), atol=1e-6)
    day_first, _ = encode(text("05/01/2024", "05/04/2024", "", "05/07/2024", "05/10/2024", "31/12/2024"), decimal=",")
    np.testing.assert_allclose(day_first[:5, 1:3], x[:, 1:3], atol=1e-6)


def test_native_moments_are_taken_in_their_zone() -> None:
    hours = [0, 6, 12, 18]
    utc = [1_700_006_400 + 3600 * h for h in hours]  # 2023-11-15 00:00 UTC
    x, encoder = encode(pa.array(utc, pa.timestamp("s", tz="Asia/Tokyo")))
    assert encoder.attribute_names[1:] == [
        "c date", "c weekday sin", "c weekday cos", "c hour sin", "c hour cos",
    ]  # fmt: skip
    np.testing.assert_allclose(x[:, 3], np.sin(2 * np.pi * (np.array(hours) + 9) / 24), atol=1e-6)


def test_moments_within_a_minute_are_told_apart() -> None:
    x, _ = encode(pa.array([1_700_000_000_000 + 250 * k for k in range(8)], pa.timestamp("ms")))
    assert (np.diff(x[:, 0]) > 0).all()


def test_times_of_day_are_seconds() -> None:
    clock, _ = encode(text("9:30", "10:45", "23:59", "11:15 pm", ""))
    seconds, _ = encode(pa.array([34200, 38700, 86340, 83700, None], pa.time32("s")))
    np.testing.assert_array_equal(clock, seconds)


def test_mixed_formats_and_a_few_bad_dates() -> None:
    x, _ = encode(text(*(f"2024-{m:02}-11" for m in range(1, 13)), "2025-01-11T08:00:00Z", "14 Feb 2025", "soon"))
    assert (np.diff(x[:14, 0]) > 0).all()
    assert np.isnan(x[14]).all()


def test_short_years_and_what_only_looks_like_a_date() -> None:
    x, _ = encode(text("1/1/00", "2/1/00", "11/30/00", "1/1/01"))
    assert (np.diff(x[:, 0]) > 0).all()
    for cells in (["1.2.3", "1.2.10", "2.0.1"], ["Jun-01", "Jun-15", "Jul-01"], ["18-25", "26-35", "36-45"]):
        _, encoder = encode(text(*cells * 2))
        assert encoder.attribute_names[1:] == [f"c = {cell.lower()}" for cell in sorted(cells)]


def test_dates_outside_the_range_of_nanoseconds() -> None:
    x, _ = encode(text("0001-01-01", "1850-05-05", "9999-12-31"))
    assert x[0, 0] < x[1, 0] < x[2, 0]
