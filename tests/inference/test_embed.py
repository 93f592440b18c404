"""Embeddings of a table's rows: those of the network itself, in any order of rows and columns, over several chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.inference.inference_tasks import CPU
from tests.tiny import tiny_checkpoint
from vsacli.checkpoints.folder import Checkpoint
from vsacli.errors import CheckpointError, DataError
from vsacli.inference.config import InferenceConfig
from vsacli.inference.embed import embed
from vsacli.inference.order import attribute_groups, attribute_signatures
from vsacli.nn import TaskBatch


def make_table(n: int = 90, m: int = 4, classes: int = 3) -> dict[str, Any]:
    """Clusters with missing values, one row in four labeled. The arguments of `embed`."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % classes
    x = (rng.normal(size=(n, m)) + 3 * rng.normal(size=(classes, m))[codes]).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    given = np.arange(n) < 24
    return {"x": x, "labeled": given, "y": codes[given], "n_classes": classes}


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_one_chunk_is_what_the_network_says(kind: str):
    task = make_table()
    y = task["y"].astype(np.float64) * 100 if kind == "regression" else task["y"]
    checkpoint = tiny_checkpoint(kind)
    x = torch.from_numpy(task["x"])
    batch = TaskBatch(
        x=x.nan_to_num()[None],
        observed=x.isfinite()[None],
        n_labeled=24,
        y=torch.from_numpy(y).float()[None, :, None] if kind == "regression" else torch.from_numpy(y)[None],
        row_mask=torch.ones(1, 90, dtype=torch.bool),
        attr_mask=torch.ones(1, 4, dtype=torch.bool),
        class_mask=torch.ones(1, 1 if kind == "regression" else 3, dtype=torch.bool),
    )
    with torch.inference_mode():
        expected = checkpoint.model.embed(batch)[0].numpy()
    found = embed(checkpoint, **{**task, "y": y}, config=CPU)
    assert found.shape == (90, 4 * checkpoint.model.config.channels)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_groups_of_attributes_are_embedded_by_themselves():
    task = make_table(m=5)
    config = InferenceConfig(device="cpu", attributes_together=(4, 2))
    found = embed(tiny_checkpoint(), **task, config=config).reshape(90, 5, -1)
    groups = attribute_groups(attribute_signatures(task["x"]), 4, 2, 0)
    assert len(groups) == 2
    for group in groups:
        part = embed(tiny_checkpoint(), **{**task, "x": task["x"][:, group]}, config=CPU)
        np.testing.assert_allclose(found[:, group].reshape(90, -1), part, atol=2e-5)


@pytest.mark.parametrize(
    "config",
    [
        InferenceConfig(device="cpu", chunk_rows=20),
        InferenceConfig(device="cpu", chunk_rows=20, attributes_together=(3, 2)),
    ],
    ids=["chunks", "groups"],
)
def test_no_order_of_rows_or_columns_matters(config: InferenceConfig):
    task = make_table()
    expected = embed(tiny_checkpoint(), **task, config=config).reshape(90, 4, -1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(90), rng.permutation(4)
    labeled = task["labeled"][rows]
    codes = np.arange(90) % 3
    found = embed(tiny_checkpoint(), task["x"][rows][:, columns], labeled, codes[rows][labeled], 3, config=config)
    np.testing.assert_array_equal(found.reshape(90, 4, -1), expected[rows][:, columns])


def test_rows_of_different_chunks_can_be_compared():
    task = make_table()
    whole = embed(tiny_checkpoint(), **task, config=CPU)
    parts = embed(tiny_checkpoint(), **task, config=InferenceConfig(device="cpu", chunk_rows=20))
    moved = np.linalg.norm(whole - parts, axis=1)[24:]
    pairs = np.linalg.norm(whole[24:, None] - whole[None, 24:], axis=2)
    assert moved.mean() < 0.4 * pairs[np.triu_indices(66, 1)].mean()
    assert not np.array_equal(whole, parts)


def test_labeled_rows_beyond_the_context_are_read_without_their_label():
    task = make_table()
    asked: list[TaskBatch] = []
    checkpoint = tiny_checkpoint()
    embed_batch = checkpoint.model.embed
    checkpoint.model.embed = lambda batch: (asked.append(batch), embed_batch(batch))[1]  # type: ignore[method-assign]  # watched by the test
    found = embed(checkpoint, **task, config=InferenceConfig(device="cpu", context_rows=9))
    assert found.shape[0] == 90
    assert [(batch.n_labeled, batch.x.shape[1]) for batch in asked] == [(9, 90)]  # 24 rows dealt into three contexts
    assert set(asked[0].y[0].tolist()) == {0, 1, 2}


def test_nothing_to_embed_by():
    task = make_table()
    with pytest.raises(DataError, match="no labeled row"):
        embed(tiny_checkpoint(), task["x"], np.zeros(90, bool), task["y"][:0], 3)
    with pytest.raises(DataError, match="no attribute"):
        embed(tiny_checkpoint(), task["x"][:, :0], task["labeled"], task["y"], 3)


def test_all_rows_labeled_and_equal_targets():
    task = make_table()
    every = np.ones(90, bool)
    found = embed(tiny_checkpoint(), task["x"], every, np.arange(90) % 3, 3, config=CPU)
    assert np.isfinite(found).all()
    flat = embed(tiny_checkpoint("regression"), task["x"], task["labeled"], np.full(24, 7.0), config=CPU)
    assert np.isfinite(flat).all()


def test_another_methods_network_is_refused():
    from vsacli.methods.combined import ProtoConfig
    from vsacli.methods.registry import build_network

    checkpoint = Checkpoint(build_network(ProtoConfig()).eval(), name="runs/proto")
    with pytest.raises(CheckpointError, match=r"^checkpoint runs/proto is of the method proto.*need a VSA network$"):
        embed(checkpoint, **make_table())
