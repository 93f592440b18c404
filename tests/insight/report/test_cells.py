"""Cells on a page: whatever they hold, one short line that is read as text."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from vsacli.insight.report.cells import escaped, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("  two\n lines\t", "two lines"),
        ("\u202eright\u2066", "\\u202eright\\u2066"),
        ("a\x00b\x1b[31m", "a\\x00b\\x1b[31m"),
        ("\ud800", "\\ud800"),
        ("\u2028", ""),  # white space, like any line end
        ("👩\u200d👧", "👩\u200d👧"),
        ("", ""),
        ("   ", ""),
        (None, ""),
        (b"\x00\x01", "2 bytes"),
        (0.1 + 0.2, "0.3"),
        (7, "7"),
        (Decimal("1.50"), "1.50"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        ([1, None], "[1, None]"),
    ],
)
def test_shown(value: object, text: str):
    assert shown(value) == text


def test_long_cells_are_cut():
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 59 + "…"
    assert len(shown("\u202e" * 10**6)) == 60
    assert shown("word " * 100, 12) == "word word w…"


def test_escaped():
    assert escaped("<a href=\"x\" id='y'>&") == "&lt;a href=&quot;x&quot; id=&#x27;y&#x27;&gt;&amp;"
