"""Episodes are the same for every method, nested over shots, and free of the answer's scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vsacli.evaluation.episodes import EpisodeKey, EpisodePlan, Setting, usable


def test_counts_per_class(class_table) -> None:
    drawn = EpisodePlan(n_unlabeled=10).draw(class_table(), EpisodeKey(3, 0))
    episode, rows = drawn.episode, drawn.rows
    assert np.bincount(episode.y[:9]).tolist() == [3, 3, 3]
    assert np.bincount(episode.answer).tolist() == [10, 10, 10]
    assert len(set(rows.tolist())) == 39
    assert drawn.scale == 1.0
    assert episode.scored.all()


def test_same_seed_same_episode_other_seed_another(class_table) -> None:
    table, key = class_table(), EpisodeKey(3, 1)
    rows = EpisodePlan(seed=4).draw(table, key).rows
    again = EpisodePlan(seed=4, shots=(3,), n_episodes=9).draw(table, key).rows
    other = EpisodePlan(seed=5).draw(table, key).rows
    number = EpisodePlan(seed=4).draw(table, EpisodeKey(3, 2)).rows
    elsewhere = EpisodePlan(seed=4).draw(class_table(name="other"), key).rows
    np.testing.assert_array_equal(rows, again)
    for different in (other, number, elsewhere):
        assert rows.tolist() != different.tolist()


def test_labels_of_one_shot_are_among_those_of_five(class_table, number_table) -> None:
    plan = EpisodePlan(n_unlabeled=20)
    for table, few, many in ((class_table(), 1, 5), (number_table(), 10, 20)):
        small, large = plan.draw(table, EpisodeKey(few, 0)), plan.draw(table, EpisodeKey(many, 0))
        assert set(small.rows[: small.episode.n_labeled]) < set(large.rows[: large.episode.n_labeled])
        assert set(small.rows[small.episode.n_labeled :]) == set(large.rows[large.episode.n_labeled :])


def test_targets_are_scaled_by_labeled_rows_only(number_table) -> None:
    table = number_table()
    drawn = EpisodePlan().draw(table, EpisodeKey(10, 0))
    episode, rows, scale = drawn.episode, drawn.rows, drawn.scale
    y = table.y[rows].astype(np.float64)
    np.testing.assert_allclose(episode.y, (y - y[:10].mean()) / y[:10].std(), atol=1e-5)
    assert scale == pytest.approx(y[:10].std() / table.y.astype(np.float64).std())
    np.testing.assert_allclose(drawn.center + drawn.spread * episode.y, y, rtol=1e-5)
    # so that a squared error times scale squared is one on the table's normalised targets
    whole = (y - table.y.mean()) / table.y.std()
    error = (whole[10:] - whole[:10].mean()) ** 2
    np.testing.assert_allclose(episode.answer.astype(np.float64) ** 2 * scale**2, error, atol=1e-4)


def test_a_rare_class_gives_what_it_has(class_table) -> None:
    table = class_table(n=60)
    y = np.where((table.y == 2) & (np.arange(60) > 8), 0, table.y)  # class 2 keeps three rows
    drawn = EpisodePlan(n_unlabeled=20).draw(replace(table, y=y), EpisodeKey(5, 0))
    episode, rows = drawn.episode, drawn.rows
    assert np.bincount(episode.y[: episode.n_labeled]).tolist() == [5, 5, 2]
    assert (episode.answer == 2).sum() == 1
    assert len(set(rows.tolist())) == len(rows)


def test_rows_without_a_label_are_not_drawn(class_table, number_table) -> None:
    for table in (class_table(), number_table()):
        y = table.y.copy()
        y[::2] = -1 if table.kind == "classification" else np.nan
        table = replace(table, y=y)
        rows = EpisodePlan(n_unlabeled=50).draw(table, EpisodeKey(5, 0)).rows
        assert table.labeled[rows].all()


def test_tables_that_cannot_serve_say_why(class_table, number_table) -> None:
    assert usable(class_table(), (1, 5)) is None
    assert "two classes" in (usable(class_table(n_classes=1), (1,)) or "")
    assert "not more than 100" in (usable(number_table(), (10, 100)) or "")


def test_natural_episodes_take_all_rows_and_the_tables_own_proportions(class_table, number_table) -> None:
    table = class_table(n=300)
    y = np.where(np.arange(300) % 10 < 8, 0, np.where(np.arange(300) % 10 == 8, 1, 2))  # 240, 30 and 30 rows
    table = replace(table, y=np.where(np.arange(300) < 290, y, -1))  # ten rows without a label take no part
    plan = EpisodePlan(setting=Setting.natural)
    episode = plan.draw(table, EpisodeKey(20, 0)).episode
    assert episode.n_labeled == 60
    assert len(episode.x) == 290
    counts = np.bincount(episode.y[:60], minlength=3)
    assert counts.min() >= 1
    assert 40 <= counts[0] <= 56  # 48 expected
    one = plan.draw(table, EpisodeKey(1, 0))
    assert sorted(one.episode.y[:3]) == [0, 1, 2]
    more = plan.draw(table, EpisodeKey(3, 0))
    assert set(one.rows[:3]) < set(more.rows[:9])
    numbers = plan.draw(number_table(), EpisodeKey(10, 0)).episode
    assert (numbers.n_labeled, len(numbers.x)) == (10, int(number_table().labeled.sum()))


def test_natural_episodes_leave_a_row_to_ask_for(class_table) -> None:
    episode = EpisodePlan(setting=Setting.natural).draw(class_table(n=12), EpisodeKey(50, 0)).episode
    assert episode.n_unlabeled == 1


def test_pool_episodes_have_balanced_labels_beside_all_other_rows(class_table) -> None:
    table = class_table(n=300)
    y = np.where(np.arange(300) % 10 < 8, 0, np.where(np.arange(300) % 10 == 8, 1, 2))  # 240, 30 and 30 rows
    table = replace(table, y=np.where(np.arange(300) < 290, y, -1))
    plan = EpisodePlan(n_unlabeled=1200, setting=Setting.pool)
    drawn = plan.draw(table, EpisodeKey(5, 0))
    episode = drawn.episode
    assert np.bincount(episode.y[:15]).tolist() == [5, 5, 5]
    assert sorted(drawn.rows.tolist()) == list(range(300))
    assert episode.scored.sum() == 275  # ten rows without a label are read and not scored
    assert np.bincount(episode.answer[episode.scored]).tolist() == [232 - 5, 29 - 5, 29 - 5]
    np.testing.assert_array_equal(episode.x, table.x[drawn.rows])


def test_pool_episodes_of_a_large_table_are_drawn_once_for_all_numbers_of_labels(class_table) -> None:
    table = class_table(n=3000)
    table = replace(table, y=np.where(np.arange(3000) % 4 == 0, -1, np.where(np.arange(3000) % 10, 0, 1)), n_classes=2)
    plan = EpisodePlan(n_unlabeled=1200, setting=Setting.pool)
    one, ten = plan.draw(table, EpisodeKey(1, 0)), plan.draw(table, EpisodeKey(10, 0))
    assert (one.episode.n_labeled, ten.episode.n_labeled) == (2, 20)
    assert one.episode.n_unlabeled == ten.episode.n_unlabeled == 1200
    assert set(one.rows[:2]) < set(ten.rows[:20])
    pool, other = set(one.rows[2:]), set(ten.rows[20:])
    assert len(pool & other) >= 1180
    # there are 2250 rows with a label, so all that are read can be scored; 200 of them are of the rare class
    assert one.episode.scored.all()
    share = float(np.mean(one.episode.answer))
    assert share == pytest.approx(np.mean(table.y[table.labeled]), abs=0.03)
    assert set(plan.draw(table, EpisodeKey(1, 1)).rows) != set(one.rows)


def test_labels_of_the_pool_are_those_of_the_papers_episodes(class_table, number_table) -> None:
    for table, shot in ((class_table(), 3), (number_table(), 10)):
        pool = EpisodePlan(n_unlabeled=1200, setting=Setting.pool).draw(table, EpisodeKey(shot, 0))
        paper = EpisodePlan().draw(table, EpisodeKey(shot, 0))
        n = paper.episode.n_labeled
        np.testing.assert_array_equal(pool.rows[:n], paper.rows[:n])
        assert len(pool.rows) == len(table.y)
