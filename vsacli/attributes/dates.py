"""Dates and times of day → attributes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.scaling import RobustScale
from vsacli.tables.arrow_types import is_text
from vsacli.tables.distinct import Distinct, distinct_cells

if TYPE_CHECKING:
    import pandas as pd

DATE_SHARE = 0.8
"""Share of the observed cells of a text column that must be dates (or times) for it to be one of dates."""

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_LOOKS_LIKE_DATE = (
    r"(?i)^(?:\d{4}-\d{1,2}$|\d{1,4}[-/年] ?\d{1,2}[-/月] ?\d{1,4}"
    r"|\d{1,2}\.\d{1,2}\. ?\d{4}|\d{4}\. ?\d{1,2}\. ?\d{1,2}|\d{2}\.\d{2}\.\d{2}(?:\D|$)"  # but 1.2.10 is a version
    rf"|(?:[a-z]+,? )?\d{{1,2}}[a-z]{{0,2}}[ -]?(?:{_MONTHS})|(?:[a-z]+,? )?(?:{_MONTHS})[a-z]*\.?[ -]\d)"
)
_MORE_FORMATS = (  # that pandas does not guess
    *("ISO8601", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%b %Y", "%B %Y", "%b-%Y", "%Y年%m月%d日"),
)
_CLOCK = (
    r"(?i)^(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d)(?P<seconds>(?::[0-5]\d(?:\.\d+)?)?)\s*(?P<half>(?:[ap]\.?m\.?)?)$"
)
_CYCLES = {"month": 12, "weekday": 7, "hour": 24}  # with their periods
_GUESSED_FROM = 200  # distinct cells, drawn from the whole column, that formats are guessed from
_MAX_FORMATS = 4


class DateEncoder:
    """A column of dates: the moment, and the cycles that vary (month of the year, day of the week, hour).

    The moment is the number of seconds since 1970 (UTC where the cells carry a zone) in float64, scaled by
    `RobustScale`. A cycle of period P is two attributes, sin and cos of 2π·value/P, which are left as they are; months
    count from 1, as do days of the week from Monday. Cells that are not dates are not observed.
    """

    def __init__(self, formats: list[str], scale: RobustScale, cycles: list[str]) -> None:
        self._formats = formats
        self._scale = scale
        self._cycles = cycles

    @property
    def names(self) -> list[str]:
        return ["date", *(f"{cycle} {wave}" for cycle in self._cycles for wave in ("sin", "cos"))]

    @classmethod
    def fit_text(cls, cells: Distinct, decimal: str, seed: int) -> tuple[DateEncoder, np.ndarray] | None:
        """Fit on distinct cells; None if they are not dates."""
        if cells.counts[looks_like_date(cells.values)].sum() < DATE_SHARE * cells.n_observed:
            return None
        formats, moments = _read_dates(cells, decimal, seed)
        if cells.counts[moments.notna().to_numpy()].sum() < DATE_SHARE * cells.n_observed:
            return None
        fitted = cls._fit(formats, moments, cells.counts)
        return fitted, cells.take(fitted._of_moments(moments))

    @classmethod
    def fit_native(cls, column: pa.Array) -> tuple[DateEncoder, np.ndarray]:
        """Fit on a column of Arrow dates or timestamps."""
        moments = _native_moments(column)
        fitted = cls._fit([], moments, np.ones(len(moments), dtype=np.int64))
        return fitted, fitted._of_moments(moments)

    @classmethod
    def _fit(cls, formats: list[str], moments: pd.Series, counts: np.ndarray) -> DateEncoder:
        cycles = [cycle for cycle in _CYCLES if _part(moments, cycle).nunique() > 1]
        return cls(formats, RobustScale.fit(np.repeat(_seconds(moments), counts)), cycles)

    def encode(self, column: pa.Array) -> np.ndarray:
        if pa.types.is_temporal(column.type) and not pa.types.is_time(column.type):
            return self._of_moments(_native_moments(column))
        if not is_text(column.type):
            return np.full((len(column), len(self.names)), np.nan, dtype=np.float32)
        cells = distinct_cells(column)
        formats = self._formats or ["ISO8601"]
        return cells.take(self._of_moments(_parse_all(_series(cells.values), formats)))

    def _of_moments(self, moments: pd.Series) -> np.ndarray:
        result = np.full((len(moments), len(self.names)), np.nan, dtype=np.float32)
        result[:, 0] = self._scale.apply(_seconds(moments))
        for j, cycle in enumerate(self._cycles):
            angle = _part(moments, cycle).to_numpy(dtype=np.float64) * (2 * np.pi / _CYCLES[cycle])  # NaN for NaT
            result[:, 1 + 2 * j], result[:, 2 + 2 * j] = np.sin(angle), np.cos(angle)
        return result


class ClockEncoder:
    """A column of times of day or durations such as 9:30, 21:05:10 or 9:30 pm: seconds, scaled by `RobustScale`."""

    def __init__(self, scale: RobustScale) -> None:
        self._scale = scale

    @property
    def names(self) -> list[str]:
        return [""]

    @classmethod
    def fit(cls, cells: Distinct) -> tuple[ClockEncoder, np.ndarray] | None:
        """Fit on distinct cells; None if they are not times."""
        seconds = clock_seconds(cells.values)
        if cells.counts[~np.isnan(seconds)].sum() < DATE_SHARE * cells.n_observed:
            return None
        fitted = cls(RobustScale.fit(cells.take(seconds)))
        return fitted, cells.take(fitted._scale.apply(seconds)[:, None])

    def encode(self, column: pa.Array) -> np.ndarray:
        if pa.types.is_floating(column.type):  # Arrow times and durations come as seconds
            return self._scale.apply(column.to_numpy(zero_copy_only=False))[:, None]
        if not is_text(column.type):
            return np.full((len(column), 1), np.nan, dtype=np.float32)
        cells = distinct_cells(column)
        return cells.take(self._scale.apply(clock_seconds(cells.values))[:, None])


def looks_like_date(values: pa.Array) -> np.ndarray:
    """Mark the texts that begin as dates do, bool (k,); a few of them may be none."""
    return pc.match_substring_regex(values, _LOOKS_LIKE_DATE).to_numpy(zero_copy_only=False)


def clock_seconds(values: pa.Array) -> np.ndarray:
    """Read h:mm, h:mm:ss and h:mm pm as seconds, float64 (k,); NaN where a cell is something else."""
    parts = pc.extract_regex(values, _CLOCK)

    def number(field: str) -> np.ndarray:
        digits = pc.replace_substring(pc.struct_field(parts, field), ":", "")
        digits = pc.if_else(pc.equal(digits, ""), pa.scalar("0", digits.type), digits)
        return digits.cast(pa.float64()).to_numpy(zero_copy_only=False)

    hours = number("hours")
    half = pc.utf8_lower(pc.struct_field(parts, "half"))
    is_half = pc.not_equal(half, "").fill_null(False).to_numpy(zero_copy_only=False)
    is_pm = pc.starts_with(half, "p").fill_null(False).to_numpy(zero_copy_only=False)
    hours = np.where(is_half, hours % 12 + 12 * is_pm, hours)
    return hours * 3600 + number("minutes") * 60 + number("seconds")


def _series(values: pa.Array) -> pd.Series:
    import pandas as pd

    return pd.Series(values.to_pylist(), dtype=str, name="date")


def _read_dates(cells: Distinct, decimal: str, seed: int) -> tuple[list[str], pd.Series]:
    """Find the formats in which most distinct cells are dates, and read them.

    The format that reads most cells comes first, then the one that reads most of the rest, and so on. Formats are
    guessed from a sample over the whole column and judged on all of it. Where both orders of day and month read
    equally many cells, the day comes first if the mark between them is a point, or the file has decimal commas, and
    the month otherwise.
    """
    from pandas.tseries.api import guess_datetime_format

    series = _series(cells.values)
    drawn = np.arange(len(series))
    if len(series) > _GUESSED_FROM:
        drawn = np.sort(np.random.default_rng(seed).choice(len(series), _GUESSED_FROM, replace=False))
    sample = series.iloc[drawn].tolist()
    guessed: set[str] = set(_MORE_FORMATS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in sample:
            for day_first in (False, True):
                form = guess_datetime_format(text, dayfirst=day_first)
                if form and ("%Y" in form or ("%y" in form and "%d" in form)):  # Jun-01 may be a day
                    guessed.add(form)

    def preference(form: str) -> tuple[bool, bool, str]:
        day_first = form.find("%d") < form.find("%m")
        return form != "ISO8601", day_first != (decimal == "," or "%d.%m" in form or "%m.%d" in form), form

    reads = {form: _parse(series, form).notna().to_numpy() for form in sorted(guessed)}
    formats: list[str] = []
    rest = np.ones(len(series), dtype=bool)
    while len(formats) < _MAX_FORMATS:
        best = min(reads, key=lambda form: (-cells.counts[reads[form] & rest].sum(), *preference(form)))
        if not (reads[best] & rest).any():
            break
        formats.append(best)
        rest &= ~reads[best]
    return formats or ["ISO8601"], _parse_all(series, formats or ["ISO8601"])


def _parse_all(series: pd.Series, formats: list[str]) -> pd.Series:
    """Read each cell in the first of the formats that fits it; NaT if none does."""
    moments = _parse(series, formats[0])
    for form in formats[1:]:
        rest = moments.isna()
        if not rest.any():
            break
        moments[rest] = _parse(series[rest], form)
    return moments


def _parse(series: pd.Series, form: str) -> pd.Series:
    import pandas as pd

    parsed = pd.to_datetime(series, format=form, errors="coerce", utc=True)
    return parsed.dt.tz_localize(None).dt.as_unit("us")


def _native_moments(column: pa.Array) -> pd.Series:
    """Arrow dates or timestamps as a pandas series; a zone is kept, so that hours are those of the zone."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    moments = column.to_pandas()
    moments.name = "date"
    return moments


def _part(moments: pd.Series, cycle: str) -> pd.Series:
    """Where each moment is in a cycle of `_CYCLES`."""
    if cycle == "weekday":
        return moments.dt.day_of_week + 1
    return moments.dt.month if cycle == "month" else moments.dt.hour


def _seconds(moments: pd.Series) -> np.ndarray:
    """Seconds since 1970-01-01 UTC, float64 (n,), NaN for NaT."""
    if moments.dt.tz is not None:
        moments = moments.dt.tz_convert(None)
    unit = moments.dt.unit
    ticks = moments.to_numpy().view("int64").astype(np.float64)
    ticks[moments.isna().to_numpy()] = np.nan
    return ticks / {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
