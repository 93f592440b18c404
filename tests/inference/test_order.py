"""Hashes of rows and attributes: the same in any order, different for different contents."""

from __future__ import annotations

import numpy as np

from vsacli.inference.order import attribute_groups, attribute_signatures, distinct_rows, row_hashes, row_order, signs


def table(n: int = 50, m: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, m)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def test_signatures_follow_their_attribute_in_any_order():
    x = table()
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(50), rng.permutation(5)
    assert np.array_equal(attribute_signatures(x[rows][:, columns]), attribute_signatures(x)[columns])
    assert len(set(attribute_signatures(x).tolist())) == 5


def test_two_valued_attributes_with_equal_counts_are_told_apart():
    x = np.array([[0, 0, 1, 5], [0, 1, 0, 6], [1, 0, 0, 7], [1, 1, 1, 8]], np.float32)
    assert len(set(attribute_signatures(x).tolist())) == 4


def test_hashes_of_rows_follow_them_and_do_not_depend_on_the_order_of_attributes():
    x = table()
    s = attribute_signatures(x)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(50), rng.permutation(5)
    assert np.array_equal(row_hashes(x[rows][:, columns], s[columns], 4), row_hashes(x, s, 4)[rows])
    assert len(set(row_hashes(x, s, 4).tolist())) == 50
    assert not np.array_equal(row_hashes(x, s, 4), row_hashes(x, s, 5))
    assert np.array_equal(row_hashes(x, s, -1), row_hashes(x, s, -1))


def test_the_order_of_rows_is_one_of_contents():
    x = table()
    x[10:20] = x[:10]  # twins
    x[20, :2], x[21, :2] = (1, 2), (2, 1)  # values swapped between attributes
    y = np.arange(50) % 3
    s = attribute_signatures(x)
    order = row_order(x, s, 0, y)
    assert sorted(order.tolist()) == list(range(50))
    shuffled = np.random.default_rng(2).permutation(50)
    again = shuffled[row_order(x[shuffled], s, 0, y[shuffled])]
    assert np.array_equal(x[again], x[order], equal_nan=True)
    assert np.array_equal(y[again], y[order])
    assert not np.array_equal(order, row_order(x, s, 1, y))


def test_the_order_looks_random():
    x = np.arange(2000, dtype=np.float32)[:, None]
    order = row_order(x, attribute_signatures(x), 0)
    half = order[:1000]
    assert 440 < (half < 1000).sum() < 560  # five standard deviations of the hypergeometric distribution are 56
    assert abs(np.corrcoef(np.arange(2000), order)[0, 1]) < 0.1


def test_distinct_rows():
    nan = np.nan
    x = np.array([[1, nan], [nan, 1], [1, nan], [0.0, 2], [-0.0, 2], [2, 0]], np.float32)
    first, back = distinct_rows(x)
    assert sorted(first.tolist()) == [0, 1, 3, 5]
    assert [first[b] for b in back] == [0, 1, 0, 3, 3, 5]


def test_signs():
    s = np.random.default_rng(0).integers(0, 1 << 63, 400).astype(np.uint64)
    out = signs(s, 4, 0)
    assert out.dtype == np.float32
    assert (out[0] == 1).all()
    assert set(np.unique(out[1:])) == {-1, 1}
    assert (np.abs(out[1:].mean(1)) < 0.2).all()  # four standard deviations
    assert (np.abs(np.corrcoef(out[1:])[np.triu_indices(3, 1)]) < 0.2).all()
    order = np.random.default_rng(1).permutation(400)
    assert np.array_equal(signs(s[order], 4, 0), out[:, order])
    assert not np.array_equal(signs(s, 4, 1), out)


def test_groups_of_attributes():
    s = np.random.default_rng(0).integers(0, 1 << 63, 300).astype(np.uint64)
    few = attribute_groups(s, 300, 40, 0)
    assert len(few) == 1
    assert np.array_equal(s[few[0]], np.sort(s))
    groups = attribute_groups(s, 299, 40, 0)
    assert [len(group) for group in groups] == [38, 38, 38, 38, 37, 37, 37, 37]  # 300 / 40 is nearest to eight groups
    assert np.array_equal(np.sort(np.concatenate(groups)), np.arange(300))
    assert all((np.diff(s[group].astype(np.float64)) > 0).all() for group in groups)
    order = np.random.default_rng(1).permutation(300)
    moved = attribute_groups(s[order], 299, 40, 0)
    assert all(np.array_equal(order[a], b) for a, b in zip(moved, groups, strict=True))
    other = attribute_groups(s, 299, 40, 1)
    assert not any(np.array_equal(a, b) for a, b in zip(other, groups, strict=True))
    # at random: a group's attributes have signatures of all sizes
    assert all(0.2 < (s[group] < np.median(s)).mean() < 0.8 for group in groups)
