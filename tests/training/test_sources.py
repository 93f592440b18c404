"""Sources combined: weights, splits, plain episodes, validation, the record of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.conftest import table, tiny_config
from vsacli.errors import OutputError, TrainingError, UsageError
from vsacli.tasks.plain import PlainSampler
from vsacli.tasks.sampler import EpisodeConfig
from vsacli.tasks.store import EncodedTable, TableStore
from vsacli.training import run as run_module
from vsacli.training.profile import profile
from vsacli.training.run import RunSpec, check_folder_is_free, record_split, validation_of
from vsacli.training.sources import Collection, SourceSpec, collect


def save_tables(path: Path, tables: list) -> str:
    TableStore(tables).save(path)
    return str(path)


def test_weights_are_shares_of_episodes(tmp_path: Path):
    # 3 tables against 70, of about the same sizes: without weights they would be drawn a twentieth of the time.
    few = save_tables(tmp_path / "few.npz", [table(i, n=100, attributes=6, classes=3) for i in range(3)])
    spec = SourceSpec(folders=(few,), synthetic=("circle-spiral", "prior"), weights={"data": 3.0, "prior": 2.0})
    collection = collect(spec, "classification", cache=tmp_path)
    assert collection.prior == pytest.approx(2 / 6)
    episodes = EpisodeConfig(tasks=(40, 40), shots=(1, 2), unlabeled=(2, 3))
    sampler = collection.sampler("classification", episodes, 0, plain=True)
    names = Counter(e.name.split("-")[0] for step in range(12) for e in sampler(step))
    total = sum(names.values())
    assert total == 480
    assert names["table"] / total == pytest.approx(3 / 6, abs=0.08)
    assert names["synthetic"] / total == pytest.approx(2 / 6, abs=0.08)
    assert (names["circle"] + names["spiral"]) / total == pytest.approx(1 / 6, abs=0.08)


def of_families(sizes: list[int], split: str = "train", first: int = 0) -> list[EncodedTable]:
    """So many tables of each family."""
    families = [f for f, size in enumerate(sizes) for _ in range(size)]
    return [replace(table(first + i, split), family=f"family-{split}-{f}") for i, f in enumerate(families)]


def test_some_tables_are_of_as_many_families_as_there_are(tmp_path: Path):
    tables = of_families([10, 1, 3, 2]) + of_families([2, 1], "valid", 50) + of_families([1], "test", 60)
    place = save_tables(tmp_path / "all.npz", tables)
    others = [(t.name, t.split) for t in tables if t.split != "train"]
    drawn: dict[tuple[int, int], list[str]] = {}
    for seed in range(5):
        for n in range(1, 17):
            collection = collect(SourceSpec((place,), seed=seed, tables=n), "classification", cache=tmp_path)
            kept = [t for t in collection.tables if t.split == "train"]
            assert collection.drawn_from == 16
            assert [(t.name, t.split) for t in collection.tables if t.split != "train"] == others
            sizes = Counter(t.family for t in kept)
            # As even as 10, 1, 3 and 2 tables allow: a second one of a family after a first one of each.
            best = {1: [1], 3: [1, 1, 1], 4: [1] * 4, 7: [2, 2, 2, 1], 8: [3, 2, 2, 1], 12: [6, 3, 2, 1]}
            assert len(kept) == n
            if n in best:
                assert sorted(sizes.values(), reverse=True) == best[n]
            drawn[seed, n] = [t.name for t in kept]
            assert set(drawn.get((seed, n - 1), [])) <= set(drawn[seed, n])
    assert len({tuple(drawn[seed, 4]) for seed in range(5)}) > 1


def test_some_tables_of_several_sources(tmp_path: Path):
    place = save_tables(tmp_path / "few.npz", of_families([3, 3]))
    spec = SourceSpec((place,), synthetic=("circle-spiral", "prior"), tables=20)
    collection = collect(spec, "classification", cache=tmp_path)
    assert collection.drawn_from == 76
    assert len(collection.tables.select(split="train")) == 20
    assert collection.prior == pytest.approx(1 / 3)
    assert ("learned from", "20 of 76 training tables, of 20 families") in profile(collection, "classification")


def test_plain_episodes_choose_tables_of_their_kind(tmp_path: Path):
    numbers = [
        replace(table(i), kind="regression", y=np.arange(40.0) * i, n_classes=1, family=f"n{i}") for i in range(20, 25)
    ]
    place = save_tables(tmp_path / "both.npz", [table(1), *numbers, table(2)])
    for plain, found in ((False, 7), (True, 2)):
        collection = collect(SourceSpec((place,), tables=2), "classification", cache=tmp_path, plain=plain)
        assert collection.drawn_from == found
    assert [t.name for t in collection.tables.select(kind="classification")] == ["table-1", "table-2"]
    with pytest.raises(UsageError, match="--tables 3: there are 2 tables to train on"):
        collect(SourceSpec((place,), tables=3), "classification", cache=tmp_path, plain=True)


def test_circle_spiral_is_split_as_in_the_paper(tmp_path: Path):
    collection = collect(SourceSpec(synthetic=("circle-spiral",)), "classification", cache=tmp_path)
    assert Counter(t.split for t in collection.tables) == {"train": 70, "valid": 10, "test": 20}
    other = collect(SourceSpec(synthetic=("circle-spiral",), seed=1), "classification", cache=tmp_path)
    splits = [[t.split for t in c.tables] for c in (collection, other)]
    assert splits[0] != splits[1]


def test_training_sees_training_tables_only(tmp_path: Path):
    collection = collect(SourceSpec(synthetic=("circle-spiral",)), "classification", cache=tmp_path)
    training = {t.name for t in collection.tables if t.split == "train"}
    sampler = collection.sampler("classification", EpisodeConfig(cells=2000), 0, plain=False)
    assert {e.name for step in range(10) for e in sampler(step)} <= training
    held_out = {e.name for group in validation_of(collection, tiny_config()).values() for e in group}
    assert held_out == {t.name for t in collection.tables if t.split == "valid"}


def test_plain_episodes_are_whole_tables():
    tables = [table(i, n=60, attributes=i + 2, classes=2 + i % 2) for i in range(4)]
    rare = table(9, n=60)
    rare.y[0] = 2  # a class of one row
    tables.append(replace(rare, n_classes=3))
    config = EpisodeConfig(shots=(2, 2), unlabeled=(5, 5), tasks=(8, 8))
    by_name = {t.name: t for t in tables}
    seen = set()
    for episode in PlainSampler("classification", TableStore(tables), config, 0)(0):
        source = by_name[episode.name]
        seen.add(episode.name)
        classes = 2 if episode.name == "table-9" else source.n_classes
        assert episode.x.shape == (7 * classes, source.x.shape[1])
        assert np.bincount(episode.y[: episode.n_labeled]).tolist() == [2] * classes
        assert np.bincount(episode.answer).tolist() == [5] * classes
        rows = {row.tobytes(): code for row, code in zip(source.x, source.y, strict=True)}
        assert [rows[row.tobytes()] for row in episode.x] == episode.y.tolist()
    assert len(seen) >= 3
    assert len(PlainSampler("classification", TableStore(tables), config, 0)(0)) == 8


def test_plain_episodes_of_numbers():
    y = np.random.default_rng(0).normal(50, 20, 80).astype(np.float32)
    numbers = replace(table(1, n=80), kind="regression", y=y, n_classes=1)
    config = EpisodeConfig(labeled_rows=(10, 10), unlabeled_rows=(30, 30), tasks=(4, 4))
    for episode in PlainSampler("regression", TableStore([numbers, table(2)]), config, 0)(0):
        assert (episode.name, episode.n_labeled, episode.n_unlabeled) == ("table-1", 10, 30)
        sources = {row.tobytes(): i for i, row in enumerate(numbers.x)}
        expected = (y[[sources[row.tobytes()] for row in episode.x]] - y.mean()) / y.std()
        np.testing.assert_allclose(np.abs(episode.y), np.abs(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_without_validation_tables_the_prior_gives_tasks(kind, monkeypatch: pytest.MonkeyPatch):
    from vsacli.training.recipe import make_config

    monkeypatch.setattr(run_module, "SYNTHETIC_VALIDATION", (2, 3))
    collection = Collection({}, prior=1.0)
    config = make_config(kind, "small", training={"steps": 10})
    first, second = (validation_of(collection, config) for _ in range(2))
    assert list(first) == ([1, 3, 5, 10] if kind == "classification" else [10, 15, 20])
    for labels, group in first.items():
        assert len(group) == 6
        assert all(np.array_equal(a.x, b.x, equal_nan=True) for a, b in zip(group, second[labels], strict=True))
        for e in group:
            # A rare class has fewer rows than asked for, but one at least.
            assert (e.n_classes <= e.n_labeled <= labels * e.n_classes) if e.n_classes > 1 else e.n_labeled == labels


def test_shots_of_training_choose_those_of_validation(tmp_path: Path):
    collection = collect(SourceSpec(synthetic=("circle-spiral",)), "classification", cache=tmp_path)
    for shots, expected in (((1, 5), [1, 3, 5]), ((3, 3), [3]), ((2, 2), [2]), ((6, 8), [6, 8])):
        config = tiny_config(episodes=EpisodeConfig(shots=shots))
        assert list(validation_of(collection, config)) == expected


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "nothing to learn from"),
        ({"synthetic": ("spiral",)}, "no synthetic data 'spiral'"),
        ({"synthetic": ("prior",), "weights": {"data": 1.0}}, "'data', which is not a source of this run"),
        ({"synthetic": ("prior",), "weights": {"prior": -1.0}}, "from 0 up"),
        ({"synthetic": ("prior",), "weights": {"prior": float("nan")}}, "from 0 up"),
        ({"synthetic": ("prior",), "weights": {"prior": 0.0}}, "all weights are 0"),
        ({"synthetic": ("circle-spiral",), "tables": 0}, "from 1 up"),
        ({"synthetic": ("prior",), "tables": 3}, "no tables to choose from"),
    ],
)
def test_impossible_sources(settings: dict, words: str):
    with pytest.raises(UsageError, match=words):
        SourceSpec(**settings)


def test_circle_spiral_has_no_numbers(tmp_path: Path):
    with pytest.raises(UsageError, match="classes only"):
        collect(SourceSpec(synthetic=("circle-spiral",)), "regression", cache=tmp_path)


def test_profile_counts_and_names(tmp_path: Path):
    tables = [table(i, n=30 + 10 * i, attributes=2 + i) for i in range(3)] + [table(7, "valid")]
    tables[0].x[0, 0] = np.nan
    store = TableStore(tables, [(f"bad-{i}.csv", "one class only") for i in range(7)])
    facts = profile(Collection({"data": store}, prior=0.5), "classification")
    assert facts[0] == ("data", "4 tables, 3 train, 1 valid")
    assert "rows 30-50 (median 40)" in facts[1][1]
    assert "attributes 2-4 (median 3)" in facts[1][1]
    skipped = [value for what, value in facts if what == "data skipped"]
    assert skipped[0] == "bad-0.csv: one class only"
    assert skipped[-1] == "2 more, named in split.json"
    assert facts[-1][1] == "random classification tasks, 50% of the episodes"


def test_other_tables_do_not_resume_a_run(tmp_path: Path):
    store = TableStore([table(i) for i in range(3)])
    record_split(tmp_path, store, resumed=False)
    record_split(tmp_path, store, resumed=True)
    with pytest.raises(TrainingError, match="gone or changed: table-2"):
        record_split(tmp_path, TableStore(store.tables[:2]), resumed=True)
    with pytest.raises(TrainingError, match="new: table-9"):
        record_split(tmp_path, TableStore([*store.tables, table(9)]), resumed=True)
    with pytest.raises(TrainingError, match="another order"):
        record_split(tmp_path, TableStore(store.tables[::-1]), resumed=True)


def test_run_file_round_trip(tmp_path: Path):
    sources = SourceSpec(folders=("a", "b"), synthetic=("prior",), weights={"data": 2.0}, target="y", seed=3, tables=5)
    spec = RunSpec(sources, tiny_config(), "vsa meta-train ...")
    spec.save(tmp_path)
    assert RunSpec.load(tmp_path) == spec
    (tmp_path / "run.json").write_text('{"version": 1, "sources": 3}')
    with pytest.raises(TrainingError, match="damaged"):
        RunSpec.load(tmp_path)
    with pytest.raises(TrainingError, match="no run to resume"):
        RunSpec.load(tmp_path / "elsewhere")


def test_a_run_does_not_write_over_another(tmp_path: Path):
    check_folder_is_free(tmp_path / "new" / "deep")
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(UsageError, match="holds a run or a checkpoint"):
        check_folder_is_free(tmp_path)
    with pytest.raises(OutputError, match="a file, not a folder"):
        check_folder_is_free(tmp_path / "model.safetensors")
