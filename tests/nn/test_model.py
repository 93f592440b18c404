"""What the networks promise: padding, equivariance, missing values, gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nn.tasks import CONFIGS, EVERY_CONFIG, METHOD_CONFIGS, answers, batch_of, episode, model_of, permute_rows
from vsacli.nn import TaskBatch, VSAConfig, VSAModel, preset
from vsacli.nn.answers import RegressionOutput
from vsacli.nn.config import NetworkConfig
from vsacli.tasks.collate import collate
from vsacli.training.loss import episode_loss

EXACT = {"rtol": 1e-9, "atol": 1e-9}
CLASS_CONFIGS = {k: c for k, c in EVERY_CONFIG.items() if c.kind == "classification"}
BY_NETWORK = pytest.mark.parametrize("config", EVERY_CONFIG.values(), ids=EVERY_CONFIG.keys())
BY_CONFIG = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
sizes = st.fixed_dictionaries(
    {
        "labeled": st.integers(3, 7),
        "unlabeled": st.integers(1, 6),
        "attributes": st.integers(1, 5),
        "classes": st.integers(2, 3),
    }
)


@BY_NETWORK
@settings(max_examples=10, deadline=None)
@given(first=sizes, second=sizes, seed=st.integers(0, 1000))
def test_a_task_in_a_padded_batch_answers_as_alone(config: NetworkConfig, first: dict, second: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(config)
    episodes = [episode(rng, config.kind, **first), episode(rng, config.kind, **second)]
    together = answers(model, batch_of(*episodes))
    for i, e in enumerate(episodes):
        alone = answers(model, batch_of(e))
        # classification also pads classes; their probability is 0
        torch.testing.assert_close(together[i, : e.n_unlabeled, : alone.shape[-1]], alone[0], **EXACT)
        if config.kind == "classification":
            assert (together[i, : e.n_unlabeled, e.n_classes :] == 0).all()


@BY_NETWORK
def test_what_stands_in_padding_cannot_reach_the_answer(config: NetworkConfig) -> None:
    rng = np.random.default_rng(1)
    model = model_of(config)
    batch = batch_of(episode(rng, config.kind), episode(rng, config.kind, labeled=4, unlabeled=3, attributes=2))
    before = answers(model, batch)[1, :3]
    x, y = batch.x.clone(), batch.y.clone()
    x[~batch.observed] = 1e6
    y[1, 4:] = 1
    torch.testing.assert_close(answers(model, replace(batch, x=x, y=y))[1, :3], before, rtol=0, atol=0)


@BY_NETWORK
@settings(max_examples=10, deadline=None)
@given(size=sizes, seed=st.integers(0, 1000))
def test_row_order_permutes_the_answer(config: NetworkConfig, size: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(config)
    e = episode(rng, config.kind, **size)
    labeled = rng.permutation(e.n_labeled)
    unlabeled = rng.permutation(e.n_unlabeled)
    moved = permute_rows(e, np.concatenate([labeled, e.n_labeled + unlabeled]))
    torch.testing.assert_close(answers(model, batch_of(moved))[0], answers(model, batch_of(e))[0][unlabeled], **EXACT)


@BY_NETWORK
@settings(max_examples=10, deadline=None)
@given(size=sizes, seed=st.integers(0, 1000))
def test_attribute_order_does_not_matter(config: NetworkConfig, size: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(config)
    e = episode(rng, config.kind, **size)
    order = rng.permutation(e.x.shape[1])
    moved = replace(e, x=e.x[:, order])
    torch.testing.assert_close(answers(model, batch_of(moved)), answers(model, batch_of(e)), **EXACT)


@BY_CONFIG
def test_attribute_order_permutes_embeddings(config: VSAConfig) -> None:
    rng = np.random.default_rng(2)
    model = model_of(config)
    e = episode(rng, config.kind)
    order = rng.permutation(e.x.shape[1])
    moved = replace(e, x=e.x[:, order])
    width = config.channels
    embedded = model.embed(batch_of(e)).unflatten(2, (-1, width))[:, :, order].flatten(2)
    torch.testing.assert_close(model.embed(batch_of(moved)), embedded, **EXACT)


@pytest.mark.parametrize("config", CLASS_CONFIGS.values(), ids=CLASS_CONFIGS.keys())
@settings(max_examples=10, deadline=None)
@given(size=sizes, seed=st.integers(0, 1000))
def test_class_order_permutes_the_answer(config: NetworkConfig, size: dict, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(config)
    e = episode(rng, **size)
    order = rng.permutation(e.n_classes)
    moved = replace(e, y=np.argsort(order)[e.y])  # class order[i] is now called i
    torch.testing.assert_close(answers(model, batch_of(moved)), answers(model, batch_of(e))[..., order], **EXACT)


def test_several_targets_share_one_model_and_permute() -> None:
    rng = np.random.default_rng(0)
    model = model_of(CONFIGS["regression-default"])
    one = batch_of(episode(rng, "regression"))
    y = torch.from_numpy(rng.normal(size=(1, one.n_labeled, 3)))
    three = replace(one, y=y, class_mask=torch.ones(1, 3, dtype=torch.bool))
    out, swapped = model(three), model(replace(three, y=y[..., [2, 0, 1]]))
    assert isinstance(out, RegressionOutput)
    assert isinstance(swapped, RegressionOutput)
    assert out.mean.shape == out.var.shape == (1, 5, 3)
    torch.testing.assert_close(swapped.mean, out.mean[..., [2, 0, 1]], **EXACT)
    torch.testing.assert_close(swapped.var, out.var[..., [2, 0, 1]], **EXACT)


@BY_NETWORK
def test_the_filler_of_a_missing_value_cannot_change_the_answer(config: NetworkConfig) -> None:
    rng = np.random.default_rng(3)
    model = model_of(config)
    batch = batch_of(episode(rng, config.kind, missing=0.4))
    assert (~batch.observed).any()
    before = answers(model, batch)
    for filler in (-7.0, 1e9):
        x = torch.where(batch.observed, batch.x, torch.full_like(batch.x, filler))
        torch.testing.assert_close(answers(model, replace(batch, x=x)), before, rtol=0, atol=0)


@BY_NETWORK
def test_a_missing_value_differs_from_a_zero(config: NetworkConfig) -> None:
    rng = np.random.default_rng(4)
    model = model_of(config)
    batch = batch_of(episode(rng, config.kind, missing=0.0))
    hidden = batch.observed.clone()
    hidden[0, 0, 0] = False
    zero = batch.x.clone()
    zero[0, 0, 0] = 0
    difference = answers(model, replace(batch, observed=hidden)) - answers(model, replace(batch, x=zero))
    assert difference.abs().max() > 1e-6


@BY_CONFIG
def test_unlabeled_rows_inform_each_other(config: VSAConfig) -> None:
    rng = np.random.default_rng(5)
    model = model_of(config)
    e = episode(rng, config.kind, unlabeled=6, missing=0.0)
    other = e.x.copy()
    other[-1] += 2
    change = answers(model, batch_of(replace(e, x=other)))[0, 0] - answers(model, batch_of(e))[0, 0]
    assert change.abs().max() > 1e-8


def _without_gradient(key: str) -> set[str]:
    """Parameters that no answer depends on: all heads read distances, which a shift of all embeddings leaves alone."""
    if key in METHOD_CONFIGS:
        shifts = {
            "proto": {"rows.whole.4.bias"},
            "metagp": {"rows.whole.4.bias"},
            "hml": {"embedded.whole.4.bias"},
            "atthml": {"norm.bias", "out.bias"},
            "atthmllp": {"norm.bias", "out.bias"},
        }
        # the mean over all cells is one number for all rows: in the last layer it is a shift
        last = {"blocks.2.cell.bias", "blocks.2.all.weight"}
        exchangeable = {"semiproto": last, "metalp": last, "semimetagp": last}
        names = {**shifts, **exchangeable}.get(METHOD_CONFIGS[key].method, set())
        return {f"embedding.{name}" for name in names}
    config = CONFIGS[key]
    assert isinstance(config, VSAConfig)
    if config.residual == "paper":
        return {"blocks.5.ff.4.bias"}
    if config.kind == "regression":
        return {"to_channels.bias"}
    # one number added to the logits of all classes changes no probability
    return {"to_channels.bias", "readout.bias"} | (set() if config.kernel_ridge else {"norm_out.bias"})


@pytest.mark.parametrize("key", EVERY_CONFIG)
def test_gradients_flow_to_every_parameter_that_answers_depend_on(key: str) -> None:
    rng = np.random.default_rng(6)
    config = EVERY_CONFIG[key]
    model = model_of(config).train()
    batch = collate([episode(rng, config.kind, unlabeled=8) for _ in range(3)])
    batch.tasks = batch.tasks.double()
    episode_loss(model(batch.tasks), batch, mse_weight=0.5).backward()
    largest = {}
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert torch.isfinite(p.grad).all(), name
        largest[name] = p.grad.abs().max().item()
    # rounding in float64 leaves some 1e-15 of a gradient that is zero; the least of the others is 4e-11
    assert {name for name, value in largest.items() if value < 1e-12} == _without_gradient(key)


def _hiding_matters(model: VSAModel, batch: TaskBatch) -> bool:
    """Whether a cell of value 0 that is observed answers otherwise than the same cell not observed."""
    x, observed = batch.x.clone(), batch.observed.clone()
    x[0, 0, 0] = 0
    observed[0, 0, 0] = False
    change = answers(model, replace(batch, x=x, observed=observed)) - answers(model, replace(batch, x=x))
    return bool(change.abs().max() > 1e-9)


def test_ablations_switch_off_what_they_name() -> None:
    rng = np.random.default_rng(7)
    batch = batch_of(episode(rng, missing=0.0))
    paper = preset("paper")
    assert _hiding_matters(model_of(paper), batch)
    assert not _hiding_matters(model_of(replace(paper, observed_indicator=False)), batch)
    assert {b.axis for b in model_of(replace(paper, attribute_attention=False)).blocks} == {1}
    assert {b.axis for b in model_of(replace(paper, example_attention=False)).blocks} == {2}
    assert model_of(replace(paper, residual="none")).blocks[0].residual is None
    assert isinstance(model_of(replace(paper, layer_norm=False)).blocks[0].norm, torch.nn.Identity)
    for change in ("observed_indicator", "kind_indicator", "layer_norm"):
        out = answers(model_of(replace(paper, **{change: False})), batch)
        torch.testing.assert_close(out.sum(-1), torch.ones_like(out[..., 0]))


def test_the_paper_preset_has_the_papers_sizes() -> None:
    model: Any = VSAModel(preset("paper"))
    assert [b.axis for b in model.blocks] == [1, 2] * 3
    assert model.blocks[0].attention.query.weight.shape == (4 * 32, 4)
    assert model.blocks[1].attention.out.weight.shape == (32, 4 * 32)
    assert [m.weight.shape for m in model.blocks[-1].ff if isinstance(m, torch.nn.Linear)] == [
        (32, 32),
        (32, 32),
        (1, 32),
    ]
    assert model.readout is None
    assert model.head.log_scale is None


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_heads_compute_in_float32_under_autocast(kind: str) -> None:
    model = VSAModel(preset("small", kind, layers=1))  # type: ignore[arg-type]
    seen: list[tuple[bool, torch.dtype]] = []
    model.head.register_forward_pre_hook(
        lambda head, args: seen.append((torch.is_autocast_enabled("cpu"), args[0].dtype))
    )
    batch = collate([episode(np.random.default_rng(0), kind)]).tasks
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        model(batch)
    assert seen == [(False, torch.float32)]
