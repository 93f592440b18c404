"""A network of a thousand weights and tables of two clouds, so that a step takes milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vsacli.nn.config import VSAConfig, preset
from vsacli.tasks.sampler import BatchSampler, EpisodeConfig
from vsacli.tasks.store import EncodedTable, TableStore
from vsacli.training.config import TrainConfig
from vsacli.training.loop import Trainer
from vsacli.training.validate import ValidationPlan, validation_episodes

EPISODES = EpisodeConfig(shots=(1, 3), unlabeled=(3, 5), cells=300, tasks=(3, 6))
PLAN = ValidationPlan(shots=(2,), unlabeled=5, repeats=1)


def tiny_model(kind: str = "classification", **changes: Any) -> VSAConfig:
    sizes = {"layers": 1, "width": 8, "heads": 2, "head_width": 4, "ff_width": 8, "channels": 2}
    return preset("small", kind, **{**sizes, **changes})  # type: ignore[arg-type]


def tiny_config(**changes: Any) -> TrainConfig:
    usual = {"model": tiny_model(), "episodes": EPISODES, "steps": 6, "precision": "float32", "workers": 0}
    return TrainConfig(**{**usual, **changes})


def table(number: int, split: str = "train", n: int = 40, attributes: int = 3, classes: int = 2) -> EncodedTable:
    rng = np.random.default_rng(number)
    y = np.arange(n) % classes
    x = (rng.normal(0, 1, (n, attributes)) + y[:, None]).astype(np.float32)
    return EncodedTable(
        f"table-{number}",
        f"family-{number}",
        "classification",
        x,
        np.arange(attributes, dtype=np.int32),
        y.astype(np.int64),
        classes,
        split,
    )


@pytest.fixture
def tables() -> TableStore:
    return TableStore([table(i) for i in range(4)] + [table(i, "valid") for i in (4, 5)])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


MakeTrainer = Callable[..., Trainer]


@pytest.fixture
def make_trainer(tables: TableStore, tmp_path: Path) -> MakeTrainer:
    """A trainer of the tiny network in `tmp_path / folder`; its records are in `.records`."""

    def make(folder: str = "run", *, validate: bool = False, seed: int = 0, **changes: Any) -> Trainer:
        config = tiny_config(**changes)
        sampler = BatchSampler("classification", tables.select(split="train"), config.episodes, seed)
        validation = validation_episodes(tables.select(split="valid"), "classification", PLAN) if validate else {}
        records: list[dict[str, Any]] = []
        trainer = Trainer(config, sampler, validation, tmp_path / folder, torch.device("cpu"), records.append)
        trainer.records = records  # type: ignore[attr-defined]
        return trainer

    return make


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {k: v.clone() for k, v in trainer.model.state_dict().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
