"""Schedules and who moves which weight."""

from __future__ import annotations

import pytest

from tests.training.conftest import tiny_config, tiny_model
from vsacli.nn.model import VSAModel
from vsacli.training.optimizer import build_optimizers, rate_factor


@pytest.mark.parametrize(
    ("progress", "factor"),
    [(0.0, 0.001), (0.05, 0.5), (0.1, 1.0), (0.55, 0.5), (1.0, 0.0), (0.325, 0.8535533905932737)],
)
def test_cosine_after_a_linear_warm_up(progress: float, factor: float):
    assert rate_factor(progress, tiny_config(warmup=0.1)) == pytest.approx(factor, abs=1e-9)


def test_constant_rate():
    config = tiny_config(warmup=0.0, schedule="constant")
    assert [rate_factor(p, config) for p in (0.0, 0.5, 1.0)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("optimizer", ["muon", "adamw", "adam"])
def test_every_weight_is_moved_once(optimizer: str):
    model = VSAModel(tiny_model())
    optimizers = build_optimizers(model, tiny_config(optimizer=optimizer, learning_rate=0.003, muon_rate=0.02))
    moved = [id(p) for o in optimizers for g in o.param_groups for p in g["params"]]
    assert sorted(moved) == sorted(id(p) for p in model.parameters())
    rates = {type(o).__name__: {g["base_lr"] for g in o.param_groups} for o in optimizers}
    if optimizer == "muon":
        assert rates == {"Muon": {0.02}, "AdamW": {0.003}}
        names = {id(p): n for n, p in model.named_parameters()}
        muon = [names[id(p)] for g in optimizers[0].param_groups for p in g["params"]]
        assert "blocks.0.attention.query.weight" in muon
        assert not any("norm" in n or "bias" in n or n.startswith(("embed_in", "readout")) for n in muon)
    else:
        assert set.union(*rates.values()) == {0.003}
