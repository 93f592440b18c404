"""When a summary names `--proportions`."""

from __future__ import annotations

import pytest

from vsacli.labeling.job import LabelReport
from vsacli.labeling.shares import note_on_shares


@pytest.mark.parametrize(
    ("answered", "filled", "among"),
    [
        ({"a": 50, "b": 50}, {"a": 50, "b": 50}, None),
        ({"a": 50, "b": 50}, {"a": 45, "b": 2}, None),  # the less certain answers are of one class
        ({"a": 95, "b": 5}, {"a": 95, "b": 5}, "among the filled labels"),
        ({"a": 95, "b": 5}, {"a": 40, "b": 5}, "among the answers"),
    ],
)
def test_all_answers_count_whether_they_were_filled_in_or_not(
    answered: dict[str, int], filled: dict[str, int], among: str | None
) -> None:
    report = LabelReport("t.csv", 120, 3, "y", "classification", "", {"a": 10, "b": 10}, 100, {}, checkpoint="some")
    report.answered, report.filled = answered, filled
    report.left_empty = 100 - sum(filled.values())
    note_on_shares(report)
    assert (among is None) == (report.notes == [])
    assert among is None or among in report.notes[0]
