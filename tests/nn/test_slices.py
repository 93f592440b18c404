"""A pass in slices gives the answers of the whole pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.nn.tasks import CONFIGS, batch_of, episode, model_of
from vsacli.nn import TaskBatch, preset, slices
from vsacli.nn.answers import ClassOutput
from vsacli.nn.config import VSAConfig
from vsacli.nn.network import Network

PRENORM = {name: config for name, config in CONFIGS.items() if config.residual == "prenorm"}
SMALL = {"layers": 2, "width": 16, "heads": 2, "head_width": 8, "ff_width": 24, "channels": 3}


def outputs(model: Network, batch: TaskBatch) -> tuple[torch.Tensor, ...]:
    """Answers and embeddings, with gradients where the caller has them on."""
    output = model(batch)
    answers = (output.log_probs,) if isinstance(output, ClassOutput) else (output.mean, output.var)
    return tuple(t.detach().clone() for t in (*answers, model.embed(batch)))


class Passes:
    """Counts the passes that were made in slices."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sliced = 0
        self._in_slices = slices.hidden_in_slices
        monkeypatch.setattr("vsacli.nn.model.hidden_in_slices", self._count)
        monkeypatch.setattr(slices, "SLICE_CELLS", 20)
        monkeypatch.setattr(slices, "LEAST_SLICES", 0)

    def _count(self, *args: object) -> torch.Tensor:
        self.sliced += 1
        return self._in_slices(*args)  # type: ignore[arg-type]  # handed on as they come


def check(model: Network, batch: TaskBatch, passes: Passes) -> None:
    """Answers and embeddings with gradients, which are never sliced, against sliced ones without."""
    whole = outputs(model, batch)
    assert passes.sliced == 0
    with torch.inference_mode():
        sliced = outputs(model, batch)
    assert passes.sliced == 2
    torch.testing.assert_close(sliced, whole, rtol=1e-9, atol=1e-9)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    return Passes(monkeypatch)


@pytest.mark.parametrize("cells", [1, 30, 64, 10_000])
@pytest.mark.parametrize("config", PRENORM.values(), ids=PRENORM.keys())
def test_answers_are_those_of_the_whole_pass(
    config: VSAConfig, cells: int, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_CELLS", cells)
    monkeypatch.setattr(slices, "QUERY_CELLS", 2)
    batch = batch_of(episode(np.random.default_rng(0), config.kind, unlabeled=7, attributes=9))
    check(model_of(config), batch, passes)


@pytest.mark.parametrize("without", ["example_attention", "attribute_attention"])
def test_one_kind_of_attention(without: str, passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_CELLS", 30)
    model = model_of(preset("default", **SMALL, **{without: False}))
    check(model, batch_of(episode(np.random.default_rng(1), attributes=6)), passes)


def test_few_attention_weights_at_a_time(passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST_SCORES", 1)
    model = model_of(preset("default", **SMALL))
    check(model, batch_of(episode(np.random.default_rng(2), attributes=6)), passes)


def test_what_is_not_sliced(passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    small, large = episode(rng, attributes=3), episode(rng, attributes=8)
    model = model_of(preset("default", **SMALL))
    with torch.no_grad():
        model(batch_of(small, large))  # two tasks, one of them padded
        model_of(preset("paper"))(batch_of(large))
        with torch.autocast("cpu", torch.bfloat16):
            model(batch_of(large))
    model(batch_of(large))  # gradients are on
    monkeypatch.setattr(slices, "LEAST_SLICES", large.x.size)  # small enough for one piece
    with torch.no_grad():
        model(batch_of(large))
    assert passes.sliced == 0


def test_no_copies_of_the_whole(passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside keys and values, nothing in a block is as large as what it is applied to."""
    monkeypatch.setattr(slices, "SLICE_CELLS", 64)
    monkeypatch.setattr(slices, "QUERY_CELLS", 1)
    sizes: list[int] = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor) and not func.is_view:
                sizes.append(out.numel())
            return out

    model = model_of(preset("default", **SMALL))
    hidden = torch.zeros(1, 11, 64, 16, dtype=torch.float64)
    with torch.no_grad(), Sizes():
        slices.hidden_in_slices(torch.nn.Identity(), model.blocks, torch.nn.Identity(), hidden)
    whole = hidden.numel()
    assert sum(size >= whole // 2 for size in sizes) <= 1 + 2 * 2 * 2  # the input, and the two of each of two layers
