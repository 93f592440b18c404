"""Other targets, class subsets and changed attributes: what they make of a table, and what they must not touch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsacli.tasks.augment import (
    PLAIN,
    change_attributes,
    choose_attributes,
    classes_from_numbers,
    column_as_classes,
    column_as_numbers,
    limit_classes,
)
from vsacli.tasks.store import EncodedTable

seeds = st.integers(0, 2**32)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_hot(codes: np.ndarray, k: int) -> np.ndarray:
    return (codes[:, None] == np.arange(k)).astype(np.float32)


def make_table(n: int = 60) -> tuple[EncodedTable, np.ndarray]:
    """Columns: 0 numbers with gaps, 1 three categories, 2 a flag, 3 numbers; and the categories' codes."""
    rng = generator(5)
    category = np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])
    numbers = rng.normal(size=n).astype(np.float32)
    numbers[::7] = np.nan
    x = np.column_stack([numbers, one_hot(category, 3), rng.integers(0, 2, n), rng.normal(size=n)])
    column = np.array([0, 1, 1, 1, 2, 3], np.int32)
    return EncodedTable("t", "f", "classification", x.astype(np.float32), column, np.arange(n) % 2, 2), category


@given(
    values=st.lists(st.one_of(st.floats(-1e6, 1e6, width=32), st.just(float("nan"))), min_size=1, max_size=60),
    most=st.integers(2, 9),
    seed=seeds,
)
def test_bins_are_ordered_and_leave_gaps_out(values: list[float], most: int, seed: int):
    v = np.array(values, np.float32)
    if not np.isfinite(v).any():
        return
    codes = classes_from_numbers(generator(seed), v, most)
    assert np.array_equal(codes == -1, np.isnan(v))
    seen = ~np.isnan(v)
    order = np.argsort(v[seen], kind="stable")
    assert (np.diff(codes[seen][order]) >= 0).all()  # a larger number is never in a lower class
    assert codes.max() < min(most, 5)
    for value in set(v[seen].tolist()):
        assert len(set(codes[v == np.float32(value)].tolist())) == 1  # equal numbers share a class


def test_bins_are_even_half_of_the_time():
    values = np.arange(1000, dtype=np.float32)
    even = []
    for seed in range(60):
        counts = np.bincount(classes_from_numbers(generator(seed), values, 5))
        even.append(counts.max() - counts.min() <= 2)
    assert 15 <= sum(even) <= 45


def test_a_column_becomes_the_target_and_is_no_attribute():
    table, category = make_table()
    seen: set[int] = set()
    for seed in range(40):
        drawn = column_as_classes(generator(seed), table, 4)
        assert drawn is not None
        codes, left = drawn
        (source,) = set(table.column.tolist()) - set(table.column[left].tolist())
        seen.add(source)
        own = table.x[:, table.column == source]
        assert set(left.tolist()) == set(np.flatnonzero(table.column != source).tolist())
        if source == 1:
            assert np.array_equal(codes, category)
        elif source == 2:
            assert np.array_equal(codes, own[:, 0])
        else:
            assert np.array_equal(codes == -1, np.isnan(own[:, 0]))
            assert 2 <= codes.max() + 1 <= 4
    assert seen == {0, 1, 2, 3}


def test_a_table_of_one_column_has_no_other_target():
    table, _ = make_table()
    single = replace(table, x=table.x[:, 1:4], column=table.column[1:4])
    assert column_as_classes(generator(), single, 4) is None
    assert column_as_numbers(generator(), replace(table, x=table.x[:, :1], column=table.column[:1])) is None


def test_a_column_that_says_nothing_is_no_target():
    table, _ = make_table()
    for value in (np.nan, 3.0):
        x = table.x[:, :2].copy()
        x[:, 0] = value
        drawn = [column_as_classes(generator(s), replace(table, x=x, column=np.array([0, 1])), 4) for s in range(20)]
        assert any(d is None for d in drawn)
        assert all(d is None or d[1].tolist() == [0] for d in drawn)


def test_numbers_are_other_targets_only_if_they_take_many_values():
    table, _ = make_table()
    sources = set()
    for seed in range(30):
        drawn = column_as_numbers(generator(seed), table)
        assert drawn is not None
        values, left = drawn
        (source,) = set(table.column.tolist()) - set(table.column[left].tolist())
        sources.add(source)
        assert np.array_equal(values, table.x[:, table.column == source][:, 0], equal_nan=True)
    assert sources == {0, 3}  # never the categories or the flag


codes_lists = st.lists(st.integers(-1, 7), min_size=1, max_size=80).map(lambda v: np.array(v, np.int64))


@given(codes=codes_lists, most=st.integers(2, 6), least=st.integers(1, 4), seed=seeds)
def test_classes_are_limited_and_renumbered(codes: np.ndarray, most: int, least: int, seed: int):
    before = codes.copy()
    out = limit_classes(generator(seed), codes, most, least, replace(PLAIN, class_subset=0.5, class_merge=0.5))
    assert np.array_equal(codes, before)
    assert (out[codes < 0] == -1).all()
    kept = sorted(set(out[out >= 0].tolist()))
    assert kept == list(range(len(kept)))
    assert len(kept) <= most
    for c in kept:
        assert (out == c).sum() >= least
    for c in set(codes[codes >= 0].tolist()):
        assert len(set(out[codes == c].tolist())) == 1  # a class is kept, merged or dropped as a whole


def test_without_changes_only_rare_classes_fall_out():
    codes = np.array([3, 3, 0, 0, 0, 5, -1, 3])
    assert limit_classes(generator(), codes, 9, 2, PLAIN).tolist() == [1, 1, 0, 0, 0, -1, -1, 1]


def test_merging_joins_classes():
    codes = np.repeat(np.arange(6), 4)
    sizes = set()
    for seed in range(30):
        out = limit_classes(generator(seed), codes, 9, 2, replace(PLAIN, class_merge=1.0))
        assert (out >= 0).all()
        sizes.add(int(out.max()) + 1)
    assert sizes <= {3, 4, 5}
    assert len(sizes) > 1


@given(most=st.integers(1, 8), seed=seeds)
def test_attributes_are_chosen_by_column(most: int, seed: int):
    column = np.array([0, 1, 1, 1, 2, 3, 3], np.int32)
    left = np.flatnonzero(column != 2)
    chosen = choose_attributes(generator(seed), column, left, most, replace(PLAIN, column_subset=0.5))
    assert 1 <= len(chosen) <= most
    assert len(set(chosen.tolist())) == len(chosen)
    assert set(chosen.tolist()) <= set(left.tolist())
    for source in set(column[chosen[:-1]].tolist()) - {int(column[chosen[-1]])}:
        assert set(np.flatnonzero(column == source)) <= set(chosen.tolist())  # only the last may be cut


def test_without_changes_all_attributes_are_chosen():
    column = np.array([0, 1, 1, 2], np.int32)
    assert sorted(choose_attributes(generator(), column, np.arange(4), 9, PLAIN).tolist()) == [0, 1, 2, 3]


def wide(n: int = 80, m: int = 6) -> np.ndarray:
    x = generator(2).normal(size=(n, m)).astype(np.float32)
    x[generator(3).random(x.shape) < 0.1] = np.nan
    return x


def test_plain_changes_turn_signs_only():
    x = wide()
    before = x.copy()
    turned = set()
    for seed in range(10):
        out = change_attributes(generator(seed), x, PLAIN, 99)
        assert np.array_equal(x, before, equal_nan=True)  # the table itself stays
        np.testing.assert_array_equal(np.abs(out), np.abs(x))
        signs = np.nanmean(out / x, axis=0)
        assert set(signs.tolist()) <= {-1.0, 1.0}
        turned.add(tuple(signs.tolist()))
    assert len(turned) > 3


@pytest.mark.parametrize("seed", range(8))
def test_transforms_keep_or_turn_the_order_of_values(seed: int):
    x = wide()
    out = change_attributes(generator(seed), x, replace(PLAIN, transform=1.0), 99)
    assert np.array_equal(np.isnan(out), np.isnan(x))
    for before, after in zip(x.T, out.T, strict=True):
        steps = np.diff(after[np.argsort(before)][: np.isfinite(before).sum()])
        assert (steps >= 0).all() or (steps <= 0).all()


def test_products_hold_the_values_of_two_attributes():
    x = np.abs(wide())
    out = np.abs(change_attributes(generator(1), x, replace(PLAIN, product=1.0), 99))
    changed = np.flatnonzero([not np.array_equal(a, b, equal_nan=True) for a, b in zip(x.T, out.T, strict=True)])
    assert len(changed) == 1  # one in four of six attributes
    j = int(changed[0])
    assert any(np.allclose(out[:, j], x[:, j] * x[:, k], equal_nan=True, rtol=1e-5) for k in range(6))


def test_noise_attributes_are_added_within_the_limit_and_say_nothing():
    x = wide(n=2000)
    sizes = set()
    for seed in range(20):
        out = change_attributes(generator(seed), x, replace(PLAIN, noise_attributes=1.0), 9)
        assert 6 < out.shape[1] <= 9
        sizes.add(out.shape[1])
        for noise in out[:, 6:].T:
            for real in x.T:
                both = np.isfinite(noise) & np.isfinite(real)
                assert abs(np.corrcoef(noise[both], real[both])[0, 1]) < 0.12  # five standard deviations
    assert len(sizes) > 1
    assert change_attributes(generator(0), x, replace(PLAIN, noise_attributes=1.0), 6).shape[1] == 6


def test_hidden_values_are_at_most_two_fifths_of_an_attribute():
    x = np.ones((3000, 6), np.float32)
    out = change_attributes(generator(0), x, replace(PLAIN, hide=1.0), 6)
    shares = np.isnan(out).mean(0)
    assert (shares < 0.45).all()
    assert shares.max() - shares.min() > 0.05
    assert (np.abs(out[~np.isnan(out)]) == 1).all()


@given(seed=seeds)
def test_values_stay_finite_and_bounded(seed: int):
    x = np.array([[1e3, -1e3, np.nan], [3, 0, np.nan], [-1e-30, 50, np.nan]], np.float32)
    out = change_attributes(generator(seed), x, replace(PLAIN, transform=1.0, product=1.0), 3)
    assert np.isnan(out[:, 2]).all()
    assert (np.abs(out[np.isfinite(out)]) <= 1e4).all()
    assert not np.isinf(out).any()
