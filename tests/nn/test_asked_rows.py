"""Rows that are only asked about: nobody reads them, so no answer depends on which of them are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.nn.test_structure import KINDS, episode
from tests.tiny import tiny_model
from vsacli.kinds import TaskKind
from vsacli.nn import slices
from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.nn.batch import TaskBatch
from vsacli.nn.model import VSAModel
from vsacli.tasks.collate import collate

READ = 14  # of 26 rows, 6 of them labeled


def answers(model: VSAModel, batch: TaskBatch) -> torch.Tensor:
    with torch.no_grad():
        output = model.double()(batch.double())
    if isinstance(output, ClassOutput):
        return output.log_probs[0]
    assert isinstance(output, RegressionOutput)
    return torch.stack([output.mean, output.var], -1).flatten(2)[0]


def model_of(kind: TaskKind) -> VSAModel:
    return tiny_model(kind, structure=True, kernel_ridge=kind == "regression")


def some_rows(batch: TaskBatch, rows: np.ndarray, n_read: int | None) -> TaskBatch:
    structure = batch.structure
    assert structure is not None
    chosen = replace(
        structure,
        coordinates=structure.coordinates[:, rows],
        answers=structure.answers[:, rows],
        answered=structure.answered[:, rows],
    )
    return replace(
        batch,
        x=batch.x[:, rows],
        observed=batch.observed[:, rows],
        row_mask=batch.row_mask[:, rows],
        structure=chosen,
        n_read=n_read,
    )


@KINDS
def test_rows_that_are_asked_do_not_change_those_that_are_read(kind: TaskKind):
    batch, model = collate([episode(kind)]).tasks, model_of(kind)
    alone = answers(model, some_rows(batch, np.arange(READ), None))
    beside = answers(model, replace(batch, n_read=READ))
    torch.testing.assert_close(beside[: READ - 6], alone, rtol=1e-9, atol=1e-9)


@KINDS
def test_a_row_has_the_same_answer_whoever_else_is_asked(kind: TaskKind):
    batch, model = collate([episode(kind)]).tasks, model_of(kind)
    all_at_once = answers(model, replace(batch, n_read=READ))
    for row in (READ, 20, 25):
        one = answers(model, some_rows(batch, np.append(np.arange(READ), row), READ))
        torch.testing.assert_close(one[-1], all_at_once[row - 6], rtol=1e-9, atol=1e-9)
    together = answers(model, batch)
    assert not torch.allclose(all_at_once[READ - 6 :], together[READ - 6 :])


@KINDS
def test_a_pass_in_slices_asks_the_same(kind: TaskKind, monkeypatch: pytest.MonkeyPatch):
    batch, model = replace(collate([episode(kind)]).tasks, n_read=READ), model_of(kind)
    whole = answers(model, batch)
    monkeypatch.setattr(slices, "SLICE_CELLS", 40)
    cut = answers(model, batch)
    torch.testing.assert_close(cut, whole, rtol=1e-6, atol=1e-7)


def test_an_attribute_without_spread_among_the_rows_that_are_read_has_no_unit():
    batch = collate([episode("classification")]).tasks
    batch.x[0, :READ, 1], batch.x[0, READ:, 1] = 3.0, 1e6
    found = answers(model_of("classification"), replace(batch, n_read=READ))
    assert found.isfinite().all()
