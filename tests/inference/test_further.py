"""Attributes that a table is read without as well as with: further components of text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inference.inference_tasks import CPU, KINDS, ask, task_of
from tests.tiny import tiny_checkpoint
from vsacli.inference.reading import Known, Reading


@KINDS
@pytest.mark.parametrize("asked", [False, True])
def test_answers_with_and_without_them_are_averaged(kind: str, asked: bool) -> None:
    task = task_of(kind, n=60, m=5)
    further = np.array([False, True, False, False, True])
    beside = task["x"][~task["labeled"]][:20] if asked else None
    both = ask(kind, task, known=Known(further=further, beside=beside))
    alone = [
        ask(kind, {**task, "x": task["x"][:, some]}, known=Known(beside=None if beside is None else beside[:, some]))
        for some in (~further, further | True)
    ]
    what = slice(None) if kind == "classification" else 0  # the deviation is that of the mixture
    np.testing.assert_allclose(both[:, what], np.mean(alone, axis=0)[:, what], atol=1e-5)
    assert np.abs(alone[0] - alone[1]).max() > 1e-3


@KINDS
@pytest.mark.parametrize("marks", [[False] * 4, [True] * 4])
def test_where_none_or_all_are_further_ones_there_is_one_reading(kind: str, marks: list[bool]) -> None:
    task = task_of(kind)
    found = ask(kind, task, known=Known(further=np.array(marks)))
    np.testing.assert_array_equal(found, ask(kind, task))


@KINDS
@pytest.mark.parametrize("asked", [False, True])
def test_both_readings_count_alike_where_one_takes_more_groups_of_attributes(kind: str, asked: bool) -> None:
    task = task_of(kind, n=60, m=7)
    further = np.arange(7) >= 4
    beside = task["x"][~task["labeled"]][:20] if asked else None
    known, config = Known(further=further, beside=beside), replace(CPU, attributes_together=(4, 4))
    groups = Reading(tiny_checkpoint(kind), **task, config=config, known=known).groups
    assert sorted(map(len, groups)) == [3, 4, 4]
    assert sorted(groups[0]) == [0, 1, 2, 3]
    alone = [
        ask(kind, {**task, "x": task["x"][:, group]}, known=Known(beside=None if beside is None else beside[:, group]))
        for group in groups
    ]
    what = slice(None) if kind == "classification" else 0  # the deviation is that of the mixture
    found = ask(kind, task, known=known, config=config)
    wanted = np.average(alone, axis=0, weights=[0.5, 0.25, 0.25])
    np.testing.assert_allclose(found[:, what], wanted[:, what], atol=1e-4)


def test_groups_of_classes_are_read_without_them_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    task, known = task_of("classification", classes=6), Known(further=np.array([False, True, False, True]))
    found: list[np.ndarray | None] = []

    class Spied(Reading):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            found.append(self.known.further)

    monkeypatch.setattr("vsacli.inference.many_classes.Reading", Spied)
    ask("classification", task, known=known, config=replace(CPU, classes_together=2))
    assert len(found) >= 3
    assert all(further is known.further for further in found)
