"""The structure of tables as the network reads it: padding, missing structure, and following the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.tiny import tiny_model
from vsacli.kinds import TaskKind
from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.nn.batch import StructureBatch, TaskBatch
from vsacli.nn.model import VSAModel
from vsacli.structure.answers import CLASS_CHANNELS
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import episode_structure

KINDS = pytest.mark.parametrize("kind", ["classification", "regression"])


def episode(kind: TaskKind, labeled: int = 6, unlabeled: int = 20, m: int = 4, seed: int = 0) -> Episode:
    """Two groups of rows, with the structure of its own rows."""
    rng = np.random.default_rng(seed)
    n = labeled + unlabeled
    y = np.arange(n) % 2
    x = (rng.normal(size=(n, m)) + 3 * y[:, None]).astype(np.float32)
    if kind == "classification":
        return Episode(
            x, labeled, y, kind, 2, np.ones(unlabeled, bool), structure=episode_structure(rng, x, n, y[:labeled], 2)
        )
    t = (y + 0.1 * rng.normal(size=n)).astype(np.float32)
    return Episode(
        x, labeled, t, kind, 1, np.ones(unlabeled, bool), structure=episode_structure(rng, x, n, t[:labeled], 0)
    )


def answers(kind: TaskKind, batch: TaskBatch) -> torch.Tensor:
    output = tiny_model(kind, structure=True).double()(batch.double())
    if isinstance(output, ClassOutput):
        return output.log_probs
    assert isinstance(output, RegressionOutput)
    return torch.stack([output.mean, output.var], -1).flatten(2)


@KINDS
def test_tasks_beside_larger_ones_have_the_same_answers(kind: TaskKind):
    small, large = episode(kind), episode(kind, labeled=10, unlabeled=40, m=7, seed=1)
    none = replace(small, structure=None)
    alone = [answers(kind, collate([e]).tasks)[0] for e in (small, none)]
    together = answers(kind, collate([small, large, none]).tasks)
    for place, expected in zip((0, 2), alone, strict=True):
        u, c = expected.shape
        torch.testing.assert_close(together[place, :u, :c], expected, rtol=1e-6, atol=1e-7)
    assert not torch.allclose(alone[0], alone[1])


@KINDS
def test_what_is_not_known_cannot_reach_an_answer(kind: TaskKind):
    batch = collate([episode(kind)]).tasks
    structure = batch.structure
    assert isinstance(structure, StructureBatch)
    structure.answered[0, 3] = structure.answered[0, 9] = False
    structure.mask[0, 5:] = False
    before = answers(kind, batch)
    structure.answers[0, 3], structure.answers[0, 9] = 1e6, -1e6
    structure.coordinates[0, :, 5:] = 1e6
    structure.weights[0, 5:] = 7.0
    torch.testing.assert_close(answers(kind, batch), before)


def log_probs(model: VSAModel, batch: TaskBatch) -> torch.Tensor:
    output = model(batch)
    assert isinstance(output, ClassOutput)
    return output.log_probs


def with_shares(model: VSAModel, gate: nn.Linear | None, batch: TaskBatch) -> list[torch.Tensor]:
    """Answers if none and if twice of each answer that a gate lets through is followed, in every slot."""
    assert gate is not None
    gate.weight.zero_()
    found = []
    for share in (0.0, 2.0):
        gate.bias.fill_(share)
        found.append(log_probs(model, batch))
    return found


def test_an_untrained_share_of_the_graph_is_followed():
    """Answers along the graph enter the logits; where they are all alike they change nothing."""
    batch = collate([episode("classification")]).tasks
    model = tiny_model(structure=True)
    shares = with_shares(model, model.follow_graph, batch)
    assert batch.structure is not None
    along = batch.structure.answers[:, batch.n_labeled :, :, :4].sum(-1)
    expected = (shares[0] + 2.0 * along).log_softmax(-1)
    torch.testing.assert_close(shares[1], expected, rtol=1e-4, atol=1e-5)


def test_a_network_that_reads_the_space_of_the_classes_follows_what_is_said_there():
    """And one that does not cannot see it."""
    batch = collate([episode("classification")]).tasks
    assert batch.structure is not None
    there = batch.structure.answers[..., CLASS_CHANNELS:].clone()
    model, blind = tiny_model(structure=True, class_space=True), tiny_model(structure=True)
    assert model.follow_space is not None
    found = with_shares(model, model.follow_space, batch)
    expected = (found[0] + 2.0 * there[:, batch.n_labeled :].sum(-1)).log_softmax(-1)
    torch.testing.assert_close(found[1], expected, rtol=1e-4, atol=1e-5)
    model.follow_space.bias.zero_()
    before = log_probs(model, batch), log_probs(blind, batch)
    batch.structure.answers[..., CLASS_CHANNELS:] = -there
    assert not torch.allclose(log_probs(model, batch), before[0])
    torch.testing.assert_close(log_probs(blind, batch), before[1], rtol=0, atol=0)


def test_numbers_in_other_units_have_answers_in_those_units():
    plain = episode("regression")
    assert plain.structure is not None
    scaled = plain.structure.answers.copy()
    scaled[..., :3] = 40 * scaled[..., :3] - 7
    other = replace(plain, y=40 * plain.y - 7, structure=replace(plain.structure, answers=scaled))
    model = tiny_model("regression", structure=True).double()
    a, b = (model(collate([e]).tasks.double()) for e in (plain, other))
    assert isinstance(a, RegressionOutput)
    assert isinstance(b, RegressionOutput)
    torch.testing.assert_close(b.mean, 40 * a.mean - 7, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(b.var, 1600 * a.var, rtol=1e-5, atol=1e-4)
