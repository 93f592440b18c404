"""The loop: exact resumption, signals, losses that are not finite, memory, disk, early stopping."""

from __future__ import annotations

import json
import math
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.conftest import MakeTrainer, same, table, tiny_model, weights
from vsacli.checkpoints.resolve import load_checkpoint
from vsacli.errors import ResourceError, TrainingError
from vsacli.tasks.collate import EpisodeBatch
from vsacli.tasks.episode import Episode
from vsacli.tasks.store import TableStore
from vsacli.training import loop as loop_module
from vsacli.training.batches import group_by_size
from vsacli.training.config import TrainConfig
from vsacli.training.state import optimizer_tensors


@pytest.mark.parametrize("optimizer", ["muon", "adam"])
def test_a_run_in_pieces_ends_with_the_same_weights(make_trainer: MakeTrainer, optimizer: str):
    settings = {"steps": 7, "optimizer": optimizer, "validate": True, "validate_steps": 2}
    whole = make_trainer("whole", **settings)
    assert whole.run() == "done"
    for last in (2, 5, 100):
        piece = make_trainer("pieces", **settings, tell_steps=1)
        piece.report = lambda record, piece=piece, last=last: piece.ask_to_stop() if record["step"] >= last else None
        if last > 2:
            piece.resume()
        assert piece.run() == ("stopped" if last < 100 else "done")
    assert piece.step == 7
    assert same(weights(whole), weights(piece))
    assert whole.best == piece.best
    assert same(optimizer_tensors(whole.optimizers), optimizer_tensors(piece.optimizers))
    saved = [load_checkpoint(t.folder).model.state_dict() for t in (whole, piece)]
    assert same(*saved)


def test_worker_processes_make_the_same_batches(make_trainer: MakeTrainer):
    alone, helped = make_trainer("alone", steps=4), make_trainer("helped", steps=4, workers=2)
    alone.run()
    helped.run()
    assert same(weights(alone), weights(helped))


def test_join_is_the_batches_of_several_steps(make_trainer: MakeTrainer):
    joined, plain = make_trainer("joined", join=2), make_trainer("plain")
    names = [e.name for e in joined.batches.episodes(3)]
    assert names == [e.name for step in (6, 7) for e in plain.batches.episodes(step)]


def test_a_stopped_run_has_a_checkpoint(make_trainer: MakeTrainer):
    trainer = make_trainer(steps=1000, tell_steps=1)
    trainer.report = lambda record: trainer.ask_to_stop()
    assert trainer.run() == "stopped"
    assert trainer.step == 1
    assert load_checkpoint(trainer.folder).meta["steps"] == 1


def test_time_ends_a_run(make_trainer: MakeTrainer):
    trainer = make_trainer(steps=None, max_time=0.3)
    assert trainer.run() == "done"
    assert trainer.step >= 1
    assert trainer.clock.elapsed >= 0.3


def test_early_stopping_keeps_the_best(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch):
    losses = iter([1.0, 0.5, 0.7, 0.6, 0.4])
    monkeypatch.setattr(loop_module, "validate", lambda *a, **k: {"loss": next(losses)})
    trainer = make_trainer(steps=100, validate=True, validate_steps=3, patience=2)
    assert trainer.run() == "no better"
    assert (trainer.step, trainer.best) == (12, 0.5)
    meta = load_checkpoint(trainer.folder).meta
    assert (meta["steps"], meta["validation"]) == (6, {"loss": 0.5})
    again = make_trainer(steps=100, validate=True, validate_steps=3, patience=2)
    again.resume()
    assert again.run() == "no better"
    assert again.step == 12


def test_one_bad_step_changes_nothing(make_trainer: MakeTrainer):
    trainer = make_trainer(steps=3, tell_steps=1, average=0.0)
    states = []
    real = trainer.update._loss

    def spoiled(batch: EpisodeBatch) -> torch.Tensor:
        states.append(weights(trainer))
        return real(batch) * (float("nan") if len(states) == 2 else 1.0)

    trainer.update._loss = spoiled  # type: ignore[method-assign]  # watched by the test
    assert trainer.run() == "done"
    assert same(states[1], states[2])
    assert not same(states[0], states[1])
    assert not same(states[2], weights(trainer))
    told = [r for r in trainer.records if "tasks_per_s" in r]  # type: ignore[attr-defined]  # set where the trainer is made
    assert [r.get("skipped_steps", 0) for r in told] == [0, 1, 0]
    assert ["loss" in r for r in told] == [True, False, True]


def test_losses_that_stay_broken_end_the_run(make_trainer: MakeTrainer):
    trainer = make_trainer(steps=100, bad_steps=4, save_steps=2)
    real, count = trainer.update._loss, 0

    def spoiled(batch: EpisodeBatch) -> torch.Tensor:
        nonlocal count
        count += 1
        return real(batch) * (math.inf if count > 5 else 1.0)

    trainer.update._loss = spoiled  # type: ignore[method-assign]  # watched by the test
    with pytest.raises(TrainingError, match=r"not finite in 4 steps in a row, up to step 9.*step 8 is in .*state"):
        trainer.run()
    fresh = make_trainer(steps=100)
    fresh.resume()
    assert all(torch.isfinite(w).all() for w in weights(fresh).values())


def test_a_batch_too_large_is_halved_and_counts_the_same(make_trainer: MakeTrainer):
    whole, halved = make_trainer("whole", steps=2), make_trainer("halved", steps=2)
    real, sizes = halved.update._loss, []

    def limited(batch: EpisodeBatch) -> torch.Tensor:
        if len(batch.answer) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        sizes.append(len(batch.answer))
        return real(batch)

    halved.update._loss = limited  # type: ignore[method-assign]  # watched by the test
    halved.folder.mkdir()
    parts = whole.batches[0]
    assert isinstance(parts, list)
    assert len(parts[0]) > 2
    losses = [t.update._gradients(parts, 1.0) for t in (whole, halved)]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-6)
    assert sum(sizes) == sum(map(len, parts))
    for a, b in zip(whole.model.parameters(), halved.model.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-6)
    notes = [r["note"] for r in halved.records if "note" in r]  # type: ignore[attr-defined]  # set where the trainer is made
    assert "do not fit into memory" in notes[0]
    assert "in halves" in notes[0]
    assert halved.run() == "done"
    assert max(sizes) <= 2


def test_a_task_too_large_is_named_and_left_out(make_trainer: MakeTrainer, tables: TableStore):
    tables.tables[1] = table(1, attributes=9)
    trainer = make_trainer(steps=8)
    real = trainer.update._loss

    def limited(batch: EpisodeBatch) -> torch.Tensor:
        if (batch.tasks.attr_mask.sum(1) > 7).any():
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            )
        return real(batch)

    trainer.update._loss = limited  # type: ignore[method-assign]  # watched by the test
    assert trainer.run() == "done"
    notes = [r["note"] for r in trainer.records if "note" in r]  # type: ignore[attr-defined]  # set where the trainer is made
    left_out = [n for n in notes if "left out" in n]
    assert left_out
    assert all(n.startswith("table-1: a task of ") for n in left_out)


def test_no_task_fits(make_trainer: MakeTrainer):
    trainer = make_trainer()

    def full(batch: EpisodeBatch) -> torch.Tensor:
        raise MemoryError

    trainer.update._loss = full  # type: ignore[method-assign]  # watched by the test
    with pytest.raises(ResourceError, match="no task of a batch fits"):
        trainer.run()


def test_other_errors_are_not_taken_for_memory(make_trainer: MakeTrainer):
    trainer = make_trainer()

    def broken(batch: EpisodeBatch) -> torch.Tensor:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    trainer.update._loss = broken  # type: ignore[method-assign]  # watched by the test
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        trainer.run()


def test_parts_respect_the_limit_on_cells(make_trainer: MakeTrainer):
    trainer = make_trainer()
    parts = trainer.batches[0]
    assert isinstance(parts, list)
    part = parts[0]
    trainer.update.cells = 2 * part.cells + 1
    limited = trainer.update._limited(part)
    assert [name for p in limited for name in p.names] == part.names
    assert max(map(len, limited)) == 2
    assert torch.equal(torch.cat([p.batch.tasks.x for p in limited]), part.batch.tasks.x)
    trainer.update.cells = 1
    assert max(map(len, trainer.update._limited(part))) == 1


def _sized(rows: int, attributes: int) -> Episode:
    x = np.zeros((rows, attributes), np.float32)
    return Episode(x, 4, np.arange(rows) % 2, "classification", 2, np.ones(rows - 4, bool), f"{rows}x{attributes}")


def test_tasks_of_one_size_are_computed_together():
    sizes = [(20, 3), (60, 50), (22, 3), (20, 4), (58, 50), (300, 2)]
    episodes = [_sized(*s) for s in sizes]
    assert sorted(sorted(g) for g in group_by_size(episodes, 200)) == [[0, 2, 3], [1, 4], [5]]
    assert len(group_by_size(episodes, 10**9)) == 1


def test_the_parting_is_the_cheapest():
    rng = np.random.default_rng(0)
    episodes = [_sized(int(rng.integers(6, 40)), int(rng.integers(1, 30))) for _ in range(7)]

    def cost(group: list[Episode]) -> int:
        rows = max(e.n_labeled for e in group) + max(e.n_unlabeled for e in group)
        return 150 + len(group) * rows * max(e.x.shape[1] + e.n_classes for e in group)

    ordered = sorted(episodes, key=lambda e: len(e.x) * (e.x.shape[1] + e.n_classes))
    cheapest = min(
        sum(cost(ordered[a:b]) for a, b in pairwise([0, *cuts, 7]))
        for k in range(7)
        for cuts in combinations(range(1, 7), k)
    )
    groups = group_by_size(episodes, 150)
    assert sorted(i for g in groups for i in g) == list(range(7))
    assert sum(cost([episodes[i] for i in g]) for g in groups) == cheapest


def test_parts_give_the_gradient_of_the_whole(make_trainer: MakeTrainer):
    whole, parted = make_trainer("whole"), make_trainer("parted")
    whole.batches.overhead, parted.batches.overhead = 10**9, 0
    assert [len(t.batches[1]) for t in (whole, parted)] != [1, 1]  # type: ignore[arg-type]
    for t in (whole, parted):
        t.update._gradients(t.batches[1], 1.0)  # type: ignore[arg-type]
    for a, b in zip(whole.model.parameters(), parted.model.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-6)


def test_a_full_disk_is_noted_and_training_goes_on(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch):
    trainer = make_trainer(steps=5, save_steps=1)
    real, calls = loop_module.save_state, 0

    def full_at_first(*args: object) -> None:
        nonlocal calls
        calls += 1
        if calls < 4:
            raise ResourceError("run/state: the state cannot be saved (No space left on device)")
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(loop_module, "save_state", full_at_first)
    assert trainer.run() == "done"
    notes = [r["note"] for r in trainer.records if "note" in r]  # type: ignore[attr-defined]  # set where the trainer is made
    assert len(notes) == 3
    assert all("No space left" in n and "tried again" in n for n in notes)
    again = make_trainer(steps=5)
    again.resume()
    assert again.step == 5


def test_a_run_that_cannot_be_saved_at_its_end_fails(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch):
    def full(*args: object) -> None:
        raise ResourceError("run/state: the state cannot be saved (No space left on device)")

    monkeypatch.setattr(loop_module, "save_state", full)
    with pytest.raises(ResourceError, match="No space left"):
        make_trainer(steps=2).run()


def test_metrics_are_cut_back_to_the_resumed_step(make_trainer: MakeTrainer):
    trainer = make_trainer(steps=6, tell_steps=1, save_steps=4)
    real = trainer.update._loss

    def dies(batch: EpisodeBatch) -> torch.Tensor:
        if trainer.step == 5:
            raise KeyboardInterrupt
        return real(batch)

    trainer.update._loss = dies  # type: ignore[method-assign]  # watched by the test
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    with (trainer.folder / "metrics.jsonl").open("a") as f:
        f.write('{"step": 6, "los')  # as a kill leaves it
    again = make_trainer(steps=6, tell_steps=1)
    again.resume()
    again.run()
    lines = (again.folder / "metrics.jsonl").read_text().splitlines()
    steps = [r["step"] for r in map(json.loads, lines) if "tasks_per_s" in r]
    assert steps == [1, 2, 3, 4, 5, 6]


def test_state_of_another_network(make_trainer: MakeTrainer):
    make_trainer(steps=1).run()
    with pytest.raises(TrainingError, match="of another model"):
        make_trainer(steps=1, model=tiny_model(width=12)).resume()


def test_a_killed_checkpoint_leaves_the_older_one_whole(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch):
    from vsacli.training import folder as folder_module

    trainer = make_trainer(steps=1)
    trainer.run()

    def dies(folder: Path, *args: object) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "save_checkpoint", dies)
    with pytest.raises(ResourceError, match="older one is intact"):
        trainer._keep({})
    assert load_checkpoint(trainer.folder).meta["steps"] == 1


def test_config_survives_json():
    config = TrainConfig(model=tiny_model("regression"), steps=3, patience=2, precision="tf32")
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_config_of_an_older_version_is_read():
    values = TrainConfig(model=tiny_model(), steps=3).to_dict()
    for name in ("plain", "save_steps", "validate_steps", "tell_every", "tell_steps", "bad_steps", "join"):
        del values[name]
    assert TrainConfig.from_dict(values) == TrainConfig(model=tiny_model(), steps=3)


def test_free_memory_is_given_back_now_and_then(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    monkeypatch.setattr(loop_module, "give_back_free_memory", lambda: done.append(trainer.step))
    for seconds, steps in ((0.0, [1, 2, 3]), (3600.0, [])):
        monkeypatch.setattr(loop_module, "TRIM_EVERY", seconds)
        trainer = make_trainer(f"run-{seconds}", steps=3)
        trainer.run()
        assert done == steps
        done.clear()
