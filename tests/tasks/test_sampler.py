"""Batches of training episodes: a function of seed and step, honest about answers, of the sizes asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.tasks.tables import attributes_of, rows_of, table_of
from vsacli.errors import TrainingError
from vsacli.kinds import TaskKind
from vsacli.structure.answers import CLASS_CHANNELS, SPACE_ANSWERS
from vsacli.tasks.augment import PLAIN
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode
from vsacli.tasks.prior_source import random_tasks
from vsacli.tasks.sampler import BatchSampler, EpisodeConfig
from vsacli.tasks.store import EncodedTable, TableStore

REAL = EpisodeConfig(synthetic=0, cells=3000, tasks=(4, 8), attributes=(3, 12))
CLEAN = replace(REAL, augment=PLAIN)
KINDS = pytest.mark.parametrize("kind", ["classification", "regression"])


def make_store() -> TableStore:
    return TableStore(
        [
            table_of("a", classes=4, n=120, m=6),
            table_of("b", classes=2, n=60, m=3),
            table_of("c", "regression", n=90, m=8),
            table_of("d", "regression", n=50, m=4),
        ]
    )


def batches(kind: TaskKind, config: EpisodeConfig, steps: int = 12, seed: int = 0) -> list[Episode]:
    sampler = BatchSampler(kind, make_store(), config, seed)
    return [e for step in range(steps) for e in sampler(step)]


def same(a: Episode, b: Episode) -> bool:
    return (
        np.array_equal(a.x, b.x, equal_nan=True)
        and np.array_equal(a.y, b.y, equal_nan=True)
        and np.array_equal(a.scored, b.scored)
        and (a.n_labeled, a.name) == (b.n_labeled, b.name)
    )


@KINDS
def test_a_batch_is_a_function_of_seed_and_step(kind: TaskKind):
    config = EpisodeConfig(cells=2000, tasks=(4, 6), synthetic=0.5)
    first, second = (BatchSampler(kind, make_store(), config, 7, random_tasks) for _ in range(2))
    forward = {step: first(step) for step in (0, 1, 5)}
    for step in (5, 0, 1):  # another order, another sampler, as another worker would
        again = second(step)
        assert len(again) == len(forward[step])
        assert all(same(a, b) for a, b in zip(again, forward[step], strict=True))
    assert not same(forward[0][0], forward[1][0])
    other = BatchSampler(kind, make_store(), config, 8, random_tasks)(0)
    assert not same(forward[0][0], other[0])


@KINDS
def test_drawing_changes_no_table(kind: TaskKind):
    store, before = make_store(), make_store()
    sampler = BatchSampler(kind, store, REAL, 0)
    for step in range(10):
        sampler(step)
    for a, b in zip(store, before, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.y, b.y)


@KINDS
@pytest.mark.parametrize("config", [REAL, CLEAN], ids=["augmented", "clean"])
def test_episodes_are_well_formed(kind: TaskKind, config: EpisodeConfig):
    for e in batches(kind, config):
        assert e.kind == kind
        assert e.x.dtype == np.float32
        assert e.x.shape == (e.n_labeled + e.n_unlabeled, e.x.shape[1])
        assert len(e.y) == len(e.x)
        assert len(e.scored) == e.n_unlabeled > 0
        assert e.scored.any()
        assert not np.isinf(e.x).any()
        if kind == "classification":
            assert e.y.dtype == np.int64
            assert set(e.y[: e.n_labeled].tolist()) == set(range(e.n_classes))  # every class is labeled
            assert e.n_classes >= 2
            assert ((e.answer >= 0) == e.scored).all()
            assert e.answer.max() < e.n_classes
        else:
            assert e.y.dtype == np.float32
            assert e.n_classes == 1
            assert np.isfinite(e.y[: e.n_labeled]).all()
            assert (np.isfinite(e.answer) == e.scored).all()
            assert np.abs(e.y).max() <= 10


def test_classes_are_those_of_the_rows():
    """Without changes, each class of an episode is one class of the table, or bins of its numbers."""
    tables = {t.name: t for t in make_store()}
    seen = Counter()
    for e in batches("classification", CLEAN, 40):
        rows, table = rows_of(e.x), tables[e.name]
        assert len(set(rows.tolist())) == len(rows)  # labeled and unlabeled rows never overlap
        known = np.concatenate([np.ones(e.n_labeled, bool), e.scored])
        seen[table.kind] += 1
        truth = table.y[rows]
        for c in range(e.n_classes):
            own = truth[known & (e.y == c)]
            if table.kind == "classification":
                assert len(set(own.tolist())) == 1
            else:
                others = truth[known & (e.y != c)]
                assert not ((others > own.min()) & (others < own.max())).any()
        assert len(set(attributes_of(e.x).tolist())) == e.x.shape[1]
    assert min(seen.values()) > 5


def test_targets_are_those_of_the_rows():
    tables = {t.name: t for t in make_store()}
    directions = set()
    for e in batches("regression", CLEAN, 20):
        table = tables[e.name]
        if table.kind != "regression":
            continue  # a column of a table of classes is the target
        rows = rows_of(e.x)
        assert len(set(rows.tolist())) == len(rows)
        expected = (table.y[rows] - table.y.astype(float).mean()) / table.y.astype(float).std()
        direction = np.sign(np.dot(expected, e.y))
        directions.add(direction)
        np.testing.assert_allclose(e.y, direction * expected, rtol=1e-3, atol=1e-5)
    assert directions == {1.0, -1.0}


@KINDS
def test_the_target_is_never_an_attribute(kind: TaskKind):
    """Tables of independent columns: whatever is the target, no attribute of the episode follows it."""
    rng = np.random.default_rng(0)
    n = 400
    tables = []
    for name in "abc":
        x = rng.normal(size=(n, 6)).astype(np.float32)
        y = rng.integers(0, 2, n) if kind == "classification" else rng.normal(size=n).astype(np.float32)
        tables.append(EncodedTable(name, name, kind, x, np.arange(6, dtype=np.int32), y, 2))
    config = replace(REAL, unlabeled=(100, 100), unlabeled_rows=(200, 200), tasks=(8, 8), cells=1)
    config = replace(config, augment=replace(config.augment, other_target=0.7, product=0, hide=0))
    sampler = BatchSampler(kind, TableStore(tables), config, 3)
    checked = 0
    for step in range(6):
        for e in sampler(step):
            known = np.concatenate([np.ones(e.n_labeled, bool), e.scored])
            if known.sum() < 100:
                continue
            y = e.y[known].astype(float)
            for column in e.x[known].T:
                assert abs(np.corrcoef(column, y)[0, 1]) < 0.5  # five standard deviations of 100 rows
                checked += 1
    assert checked > 50


def test_hidden_labels_stay_hidden():
    """A row whose label the table lacks is context: never labeled, never scored."""
    table = table_of("a", n=200, m=4, classes=2)
    hidden = np.arange(200) % 2 == 0
    table.y[hidden] = -1
    config = replace(CLEAN, natural=1.0)
    sampler = BatchSampler("classification", TableStore([table]), config, 0)
    context = 0
    for step in range(15):
        for e in sampler(step):
            rows = rows_of(e.x)
            assert not hidden[rows[: e.n_labeled]].any()
            assert np.array_equal(hidden[rows[e.n_labeled :]], ~e.scored)
            context += int((~e.scored).sum())
    assert context > 100


def test_balanced_and_natural_shares():
    """One class in ten is rare: balanced episodes show it as often as the other, natural ones one time in ten."""
    table = table_of("a", n=990, m=4, classes=2)
    table.y[:] = np.arange(990) % 10 == 0
    for natural, low, high in ((0.0, 0.45, 0.55), (1.0, 0.06, 0.14)):
        sampler = BatchSampler("classification", TableStore([table]), replace(CLEAN, natural=natural, mixed=0.0), 0)
        drawn = [e for step in range(10) for e in sampler(step) if e.name == "a"]
        answers = np.concatenate([rows_of(e.x[e.n_labeled :]) % 10 == 0 for e in drawn])
        assert low < answers.mean() < high
        for e in drawn:
            counts = np.bincount(e.y[: e.n_labeled])
            if natural == 0:
                assert counts.min() == counts.max()


@KINDS
def test_sizes_fill_the_batch(kind: TaskKind):
    config = replace(REAL, mixed=0.0, shots=(2, 5), unlabeled=(6, 9), labeled_rows=(5, 9), unlabeled_rows=(20, 30))
    sampler = BatchSampler(kind, make_store(), config, 0)
    for step in range(15):
        episodes = sampler(step)
        assert 4 <= len(episodes) <= 8
        for e in episodes:
            assert e.x.shape[1] <= 12
            if kind == "regression":
                assert 5 <= e.n_labeled <= 9
                assert 20 <= e.n_unlabeled <= 30
            else:
                assert e.n_unlabeled <= 9 * 10
        batch = collate(episodes)
        assert batch.tasks.x.shape[0] == len(episodes)
        assert batch.tasks.row_mask.sum() == sum(len(e.x) for e in episodes)


def test_no_episode_is_larger_than_max_rows():
    config = replace(REAL, shots=(1, 10), unlabeled=(40, 40), max_rows=100)
    assert max(len(e.x) for e in batches("classification", config, 30)) <= 100


def test_weights_and_families_decide_how_often_a_table_is_drawn():
    """Shares are weight / sqrt(family size): 1 for a, 1/sqrt(4) for each b, 1/4 for c."""
    tables = [
        table_of("a", m=4),
        *(table_of(f"b{i}", family="b", m=4) for i in range(4)),
        table_of("c", m=4, weight=0.25),
    ]
    config = replace(CLEAN, attributes=(3, 4), tasks=(8, 8), cells=1)
    sampler = BatchSampler("classification", TableStore(tables), config, 0)
    drawn = Counter(e.name for step in range(120) for e in sampler(step))
    total = 1 + 4 / 2 + 0.25
    for name, share in (("a", 1.0), *((f"b{i}", 0.5) for i in range(4)), ("c", 0.25)):
        assert abs(drawn[name] / drawn.total() - share / total) < 0.06  # four standard errors


@KINDS
def test_synthetic_episodes(kind: TaskKind):
    config = EpisodeConfig(cells=2000, tasks=(4, 6), attributes=(3, 6))
    sampler = BatchSampler(kind, TableStore([]), config, 0, random_tasks)
    for step in range(4):
        for e in sampler(step):
            assert e.name == "synthetic"
            assert 3 <= e.x.shape[1] <= 6
            if kind == "classification":
                assert set(e.y[: e.n_labeled].tolist()) == set(range(e.n_classes))


def test_the_share_of_synthetic_episodes():
    config = EpisodeConfig(cells=2000, tasks=(8, 8), synthetic=0.25, attributes=(3, 6))
    sampler = BatchSampler("classification", make_store(), config, 0, random_tasks)
    names = Counter(e.name == "synthetic" for step in range(25) for e in sampler(step))
    assert 0.12 < names[True] / names.total() < 0.38


def test_nothing_to_draw_from():
    with pytest.raises(TrainingError, match="no table to learn from"):
        BatchSampler("classification", TableStore([]), REAL, 0)
    table = table_of("a")
    table.y[:] = 0  # one class only
    constant = replace(table, x=np.ones((80, 1), np.float32), column=np.zeros(1, np.int32))
    with pytest.raises(TrainingError, match="no episode can be drawn"):
        BatchSampler("classification", TableStore([constant]), REAL, 0)(0)


@pytest.mark.parametrize("class_space", [False, True])
def test_the_space_of_the_classes_is_in_an_episode_if_it_is_read(class_space: bool):
    config = replace(REAL, structure=1.0, pool=(64, 64), class_space=class_space)
    found = [e.structure for e in batches("classification", config, steps=4) if e.structure is not None]
    assert found
    width = CLASS_CHANNELS + (SPACE_ANSWERS if class_space else 0)
    assert {structure.answers.shape[2] for structure in found} == {width}
