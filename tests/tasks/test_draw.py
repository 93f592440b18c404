"""Which rows of a table are labeled and which unlabeled in an episode."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vsacli.tasks.draw import draw_balanced, draw_mixed, draw_natural, draw_rows

labels = st.lists(st.integers(-1, 4), min_size=0, max_size=60).map(lambda v: np.array(v, np.int64))
seeds = st.integers(0, 2**32)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(y=labels, shots=st.integers(1, 8), unlabeled=st.integers(1, 12), seed=seeds)
def test_balanced_episodes(y: np.ndarray, shots: int, unlabeled: int, seed: int):
    counts = {c: int((y == c).sum()) for c in set(y[y >= 0].tolist())}
    rows = draw_balanced(generator(seed), y, shots, unlabeled)
    if len(counts) < 2 or min(counts.values()) < 2:
        assert rows is None
        return
    assert rows is not None
    support, query = rows
    assert len(set(support) | set(query)) == len(support) + len(query)  # no row twice, none on both sides
    for c, count in counts.items():
        given_rows = int((y[support] == c).sum())
        assert given_rows == min(shots, count - 1)
        assert int((y[query] == c).sum()) == min(unlabeled, count - given_rows)
    assert (y[support] >= 0).all()
    assert (y[query] >= 0).all()


def test_balanced_episodes_of_a_large_table_have_exactly_so_many_rows():
    y = np.repeat([0, 1, 2], 50)
    rows = draw_balanced(generator(), y, 3, 5)
    assert rows is not None
    assert np.bincount(y[rows[0]]).tolist() == [3, 3, 3]
    assert np.bincount(y[rows[1]]).tolist() == [5, 5, 5]


@given(y=labels, labeled=st.integers(1, 30), unlabeled=st.integers(1, 40), seed=seeds)
def test_natural_episodes(y: np.ndarray, labeled: int, unlabeled: int, seed: int):
    known, classes = int((y >= 0).sum()), len(set(y[y >= 0].tolist()))
    rows = draw_natural(generator(seed), y, labeled, unlabeled)
    if known < 4 or classes < 2:
        assert rows is None
        return
    assert rows is not None
    support, query = rows
    assert len(set(support) | set(query)) == len(support) + len(query)
    assert (y[support] >= 0).all()
    assert len(support) == min(max(labeled, classes), known - 2)
    assert len(query) == min(unlabeled, len(y) - len(support))
    if classes <= known - 2:
        assert set(y[support].tolist()) == set(y[y >= 0].tolist())  # every class is labeled


def test_natural_episodes_have_the_proportions_of_the_table():
    """One row of each class is given; the others are a random sample of 80 % and 20 %."""
    y = np.array([0] * 800 + [1] * 200)
    shares = []
    for seed in range(40):
        rows = draw_natural(generator(seed), y, 50, 100)
        assert rows is not None
        shares.append([(y[r] == 1).mean() for r in rows])
    support, query = np.mean(shares, 0)
    assert abs(support - (1 + 48 * 0.2) / 50) < 0.03  # four standard errors are 0.035
    assert abs(query - 0.2) < 0.025


def test_rows_of_unknown_class_are_context_only():
    y = np.array([0] * 10 + [1] * 10 + [-1] * 200)
    rows = draw_natural(generator(), y, 6, 100)
    assert rows is not None
    assert (y[rows[1]] == -1).sum() > 50
    balanced = draw_balanced(generator(), y, 3, 100)
    assert balanced is not None
    assert (y[balanced[1]] >= 0).all()


@given(known=st.lists(st.booleans(), max_size=50), labeled=st.integers(1, 20), unlabeled=st.integers(1, 40), seed=seeds)
def test_regression_episodes(known: list[bool], labeled: int, unlabeled: int, seed: int):
    mask = np.array(known, bool)
    rows = draw_rows(generator(seed), mask, labeled, unlabeled)
    if mask.sum() < 4:
        assert rows is None
        return
    assert rows is not None
    support, query = rows
    assert len(set(support) | set(query)) == len(support) + len(query)
    assert mask[support].all()
    assert len(support) == min(labeled, mask.sum() - 2)
    assert len(query) == min(unlabeled, len(mask) - len(support))


def test_every_row_has_its_turn_on_either_side():
    y = np.repeat([0, 1], 10)
    for draw in (
        lambda rng: draw_balanced(rng, y, 2, 3),
        lambda rng: draw_natural(rng, y, 4, 6),
        lambda rng: draw_rows(rng, y >= 0, 4, 6),
    ):
        drawn = [draw(generator(seed)) for seed in range(200)]
        for side in (0, 1):
            counts = np.bincount(np.concatenate([d[side] for d in drawn if d is not None]), minlength=20)
            expected = counts.sum() / 20
            assert counts.min() > 0.5 * expected
            assert counts.max() < 1.6 * expected


def test_the_seed_decides():
    y = np.repeat([0, 1, 2], 20)
    for draw in (draw_balanced, draw_natural):
        first, again, other = (draw(generator(s), y, 4, 5) for s in (1, 1, 2))
        assert first is not None
        assert again is not None
        assert other is not None
        assert np.array_equal(np.concatenate(first), np.concatenate(again))
        assert not np.array_equal(np.concatenate(first), np.concatenate(other))


@given(y=labels, shots=st.integers(1, 8), unlabeled=st.integers(1, 60), seed=seeds)
def test_mixed_episodes_take_no_row_twice(y: np.ndarray, shots: int, unlabeled: int, seed: int):
    rows = draw_mixed(generator(seed), y, shots, unlabeled)
    if rows is None:
        counts = np.bincount(y[y >= 0])
        assert len(counts[counts > 0]) < 2 or counts[counts > 0].min() < 2 or counts.sum() < 4
        return
    support, query = rows
    assert len(set(support) | set(query)) == len(support) + len(query)
    assert (y[support] >= 0).all()
    assert len(query) <= unlabeled


def test_in_mixed_episodes_labels_and_rows_have_different_proportions():
    y = np.arange(2000) % 10 // 9  # one row in ten is of class 1
    shares, balanced = [], 0
    for seed in range(200):
        rows = draw_mixed(generator(seed), y, 5, 300)
        assert rows is not None
        balanced += len(rows[0]) == 10 and y[rows[0]].sum() == 5
        shares.append(y[rows[1]].mean())
    assert 120 < balanced < 180  # three of four
    shares = np.array(shares)
    assert 70 < (np.abs(shares - 0.1) < 0.06).sum() < 160  # half as they come, and some of the others
    assert (shares > 0.5).sum() > 20
