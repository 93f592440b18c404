"""Rows that are asked about after others were read: no answer depends on which of them are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.nn.test_structure import KINDS, episode
from tests.tiny import tiny_model
from vsacli.kinds import TaskKind
from vsacli.nn import scales, slices
from vsacli.nn.answers import ClassOutput, RegressionOutput
from vsacli.nn.attention import MVSA
from vsacli.nn.batch import TaskBatch
from vsacli.nn.model import Context, VSAModel
from vsacli.tasks.collate import collate

LABELED, READ = 6, 14  # of 26 rows
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def numbers(output: ClassOutput | RegressionOutput) -> Tensor:
    if isinstance(output, ClassOutput):
        return output.log_probs[0]
    return torch.stack([output.mean, output.var], -1).flatten(2)[0]


def model_of(kind: TaskKind, **changes: object) -> VSAModel:
    reads = {"structure": True, "kernel_ridge": True, "more_kernels": True, "class_space": kind == "classification"}
    return tiny_model(kind, **{**reads, "layers": 2, **changes}).double()


def rows_of(batch: TaskBatch, rows: np.ndarray, n_labeled: int) -> TaskBatch:
    structure = batch.structure
    assert structure is not None
    chosen = replace(
        structure,
        coordinates=structure.coordinates[:, rows],
        answers=structure.answers[:, rows],
        answered=structure.answered[:, rows],
    )
    parts = {name: getattr(batch, name)[:, rows] for name in ("x", "observed", "row_mask")}
    return replace(batch, **parts, y=batch.y[:, :n_labeled], n_labeled=n_labeled, structure=chosen)


def table(kind: TaskKind) -> TaskBatch:
    """Some cells are not observed, among rows of all kinds."""
    batch = collate([episode(kind)]).tasks.double()
    batch.observed[0, ::5, 1] = batch.observed[0, 3::7, 2] = False
    return batch


def read(model: VSAModel, batch: TaskBatch) -> tuple[Tensor, Context]:
    with torch.inference_mode():
        output, context = model.read(rows_of(batch, np.arange(READ), LABELED))
        return numbers(output), context


def ask(model: VSAModel, context: Context, batch: TaskBatch, rows: np.ndarray) -> Tensor:
    with torch.inference_mode():
        return numbers(model.ask(context, rows_of(batch, rows, 0)))


def attend_as_told(self: MVSA, z: Tensor, axis: int, mask: Tensor, other_mask: Tensor, kept: object = None) -> Tensor:
    """Attention of one task, in so many words: rows read the first `READ` and themselves, slots go by those."""
    b, n, s, _ = z.shape
    q, k, v = (project(z).view(b, n, s, self.heads, -1) for project in (self.query, self.key, self.value))
    if axis == 1:
        scores = torch.einsum("bisrh,bjsrh->brij", q, k) / (s * self.head_width) ** 0.5
        may_read = (torch.arange(n) < READ) | torch.eye(n, dtype=torch.bool)
        o = torch.einsum("brij,bjsrh->bisrh", scores.masked_fill(~may_read, -torch.inf).softmax(-1), v)
    else:
        scores = torch.einsum("bnirh,bnjrh->brij", q[:, :READ], k[:, :READ]) / (READ * self.head_width) ** 0.5
        o = torch.einsum("brij,bnjrh->bnirh", scores.softmax(-1), v)
    return self.out(o.flatten(3))


@KINDS
def test_answers_are_those_of_attention_in_which_nobody_reads_the_rows_that_are_asked(
    kind: TaskKind, monkeypatch: pytest.MonkeyPatch
):
    batch, model = table(kind), model_of(kind)
    _, context = read(model, batch)
    asked = ask(model, context, batch, np.arange(READ, 26))
    with torch.inference_mode():
        placed = model.place(context, rows_of(batch, np.arange(READ, 26), 0))
    together = numbers(model(batch))[READ - LABELED :]
    monkeypatch.setattr(MVSA, "forward", attend_as_told)
    for scale in (scales.ZScores, scales.Ranks):
        of = scale.of
        monkeypatch.setattr(scale, "of", lambda x, seen, of=of: of(x[:, :READ], seen[:, :READ]))
    expected = numbers(model(batch))[READ - LABELED :]
    torch.testing.assert_close(asked, expected, **EXACT)
    torch.testing.assert_close(placed, model.embed(batch)[:, READ:], **EXACT)
    assert not torch.allclose(asked, together, rtol=1e-3)


@KINDS
@pytest.mark.parametrize("network", ["whole", "paper's inputs", "along examples", "along attributes"])
def test_rows_are_read_as_if_nobody_were_asked(kind: TaskKind, network: str):
    changes = {
        "whole": {},
        "paper's inputs": {"standardize": False, "kernel_ridge": False, "more_kernels": False},
        "along examples": {"attribute_attention": False},
        "along attributes": {"example_attention": False},
    }[network]
    batch, model = table(kind), model_of(kind, **changes)
    found, context = read(model, batch)
    alone = numbers(model(rows_of(batch, np.arange(READ), LABELED)))
    torch.testing.assert_close(found, alone, **EXACT)
    assert ask(model, context, batch, np.arange(READ, 26)).isfinite().all()


@KINDS
def test_a_row_has_the_same_answer_whoever_else_is_asked(kind: TaskKind):
    batch, model = table(kind), model_of(kind)
    _, context = read(model, batch)
    all_at_once = ask(model, context, batch, np.arange(READ, 26))
    for row in (READ, 20, 25):
        torch.testing.assert_close(ask(model, context, batch, np.array([row]))[0], all_at_once[row - READ], **EXACT)


def test_an_attribute_without_spread_among_the_rows_that_are_read_has_no_unit():
    batch, model = table("classification"), model_of("classification")
    batch.x[0, :READ, 3], batch.x[0, READ:, 3] = 3.0, 1e6
    _, context = read(model, batch)
    far = ask(model, context, batch, np.arange(READ, 26))
    batch.x[0, READ:, 3] = 4.0  # as far out by rank
    torch.testing.assert_close(ask(model, context, batch, np.arange(READ, 26)), far, **EXACT)


@KINDS
def test_a_reading_in_slices_leaves_the_same(kind: TaskKind, monkeypatch: pytest.MonkeyPatch):
    batch, model = table(kind), model_of(kind)
    found, context = read(model, batch)
    whole = ask(model, context, batch, np.arange(READ, 26))
    monkeypatch.setattr(slices, "SLICE_CELLS", 40)
    monkeypatch.setattr(slices, "LEAST_SLICES", 0)
    in_slices, context = read(model, batch)
    torch.testing.assert_close(in_slices, found, **EXACT)
    torch.testing.assert_close(ask(model, context, batch, np.arange(READ, 26)), whole, **EXACT)
