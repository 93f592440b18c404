"""Which labels are hidden together: each once in a repeat, none of a class all at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vsacli.errors import DataError
from vsacli.evaluation.hidden import hideable, make_folds
from vsacli.tasks.store import EncodedTable


def folds_of(table: EncodedTable, **changes):
    settings = {"folds": 5, "repeats": 2, "seed": 0, "max_labels": 1000, "max_unlabeled": 30} | changes
    return list(make_folds(table, **settings))


def partly_labeled(class_table, y: list[int]) -> EncodedTable:
    """A table with these classes, then forty rows without a label."""
    return class_table(n=len(y) + 40, y=np.array(y + [-1] * 40), n_classes=max(y) + 1)


@pytest.mark.parametrize("y", [[0, 1] * 10, [0] * 15 + [1] * 2 + [2], [0, 0, 1], list(range(7)) * 3])
def test_each_label_is_hidden_once_in_each_repeat(class_table, y: list[int]) -> None:
    table = partly_labeled(class_table, y)
    counts = Counter(y)
    for repeat in (0, 1):
        folds = [f for f in folds_of(table) if f.repeat == repeat]
        hidden = np.concatenate([f.hidden for f in folds])
        assert sorted(hidden.tolist()) == [i for i, c in enumerate(y) if counts[c] > 1]
        for f in folds:
            assert not set(f.hidden) & set(f.labeled)
            assert set(f.hidden) | set(f.labeled) == set(range(len(y)))
            # a class that is asked for is still shown
            assert set(table.y[f.hidden]) <= set(table.y[f.labeled])


def test_rounds_have_equal_sizes(class_table) -> None:
    folds = folds_of(partly_labeled(class_table, [0] * 11 + [1] * 9 + [2] * 5), repeats=1)
    assert sorted(len(f.hidden) for f in folds) == [5, 5, 5, 5, 5]


def test_rows_without_label_are_context_up_to_a_limit(class_table) -> None:
    table = partly_labeled(class_table, [0, 1] * 10)
    for f in folds_of(table):
        assert len(f.context) == 30 - len(f.hidden)
        assert (table.y[f.context] == -1).all()
    assert all(len(f.context) == 0 for f in folds_of(table, max_unlabeled=2))


def test_smaller_sets_of_labels_lie_in_larger_ones(class_table, number_table) -> None:
    table = partly_labeled(class_table, [0] * 15 + [1] * 5)
    fold = folds_of(table)[0]
    two, three = fold.with_labels(table.y, 2, True), fold.with_labels(table.y, 3, True)
    assert np.bincount(table.y[two.labeled]).tolist() == [2, 2]
    assert set(two.labeled) < set(three.labeled) < set(fold.labeled)
    numbers = folds_of(number_table())[0]
    assert len(numbers.with_labels(number_table().y, 10, False).labeled) == 10


def test_many_labels_are_sampled_by_class(class_table) -> None:
    table = class_table(n=300, y=np.array([0] * 280 + [1] * 20), n_classes=2)
    hidden = np.concatenate([f.hidden for f in folds_of(table, repeats=1, max_labels=60)])
    assert np.bincount(table.y[hidden]).tolist() == [56, 4]


def test_nothing_to_hide(class_table, number_table) -> None:
    with pytest.raises(DataError, match="single label"):
        hideable(partly_labeled(class_table, [0, 1, 2]))
    with pytest.raises(DataError, match="of one class"):
        hideable(partly_labeled(class_table, [0, 0, 0]))
    y = np.full(80, np.nan, np.float32)
    y[:2] = 1.0
    with pytest.raises(DataError, match="2 labels are too few"):
        hideable(replace(number_table(), y=y))
