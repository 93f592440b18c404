"""Starting from a checkpoint: its own kind, the other kind, and another size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.nn.tasks import CONFIGS, answers, episode, model_of
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.errors import UsageError
from vsacli.methods.combined import Combined, ProtoConfig
from vsacli.methods.hml import HML, HMLConfig
from vsacli.nn import VSAConfig, VSAModel, preset
from vsacli.nn.model import ALL_FOLLOWED_AT_FIRST, input_channels
from vsacli.tasks.collate import collate
from vsacli.training.initial import INPUT, start_from
from vsacli.training.loss import episode_loss

SIZES = {"layers": 1, "width": 8, "heads": 2, "head_width": 4, "ff_width": 8, "channels": 2}


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    torch.manual_seed(1)
    save_checkpoint(tmp_path / "first", VSAModel(preset("default", **SIZES)), {}, "card")
    return str(tmp_path / "first")


def test_a_checkpoint_of_the_same_kind_gives_all_its_weights(checkpoint: str) -> None:
    torch.manual_seed(1)
    first = VSAModel(preset("default", **SIZES)).state_dict()
    torch.manual_seed(2)
    model = VSAModel(preset("default", **SIZES))
    start_from(model, checkpoint)
    for name, value in model.state_dict().items():
        assert torch.equal(value, first[name]), name
    assert all(p.requires_grad for p in model.parameters())


def test_a_checkpoint_of_the_other_kind_gives_all_but_head_and_readout(checkpoint: str) -> None:
    torch.manual_seed(1)
    first = VSAModel(preset("default", **SIZES)).state_dict()
    model = VSAModel(preset("default", "regression", **SIZES))
    fresh = {k: v.clone() for k, v in model.state_dict().items()}
    start_from(model, checkpoint)
    for name, value in model.state_dict().items():
        source = fresh if name.startswith(("head.", "readout.")) else first
        assert torch.equal(value, source[name]), name


def test_a_checkpoint_of_another_method_is_refused(checkpoint: str) -> None:
    with pytest.raises(UsageError, match="of the method vsa, not proto"):
        start_from(Combined(ProtoConfig()), checkpoint)


def test_a_method_starts_from_its_own_checkpoint_of_the_other_kind(tmp_path: Path) -> None:
    first = HML(HMLConfig(width=8))
    save_checkpoint(tmp_path / "hml", first, {}, "card")
    model = HML(HMLConfig(kind="regression", width=8))
    start_from(model, str(tmp_path / "hml"))
    for name, value in first.embedding.state_dict().items():
        assert torch.equal(model.embedding.state_dict()[name], value), name


def answers_as_it_started(tmp_path: Path, config: VSAConfig, **more: object) -> VSAModel:
    """A network with more than the config has, started from one of the config, with the gradients of a first step."""
    first = model_of(config)
    save_checkpoint(tmp_path / "first", first, {}, "card")
    model = VSAModel(replace(config, **more))
    start_from(model, str(tmp_path / "first"))
    collated = collate([episode(np.random.default_rng(0), config.kind)])
    batch = replace(collated, tasks=collated.tasks.double())
    model = model.double()
    torch.testing.assert_close(answers(model, batch.tasks), answers(first.float().double(), batch.tasks))
    episode_loss(model(batch.tasks), batch, 0.5).backward()
    return model


@pytest.mark.parametrize("config", [CONFIGS["default"], CONFIGS["regression-default"]], ids=lambda c: c.kind)
@pytest.mark.parametrize("layers", [3, 5])
def test_a_deeper_network_starts_with_the_answers_of_the_shallower(
    tmp_path: Path, config: VSAConfig, layers: int
) -> None:
    deep = answers_as_it_started(tmp_path, config, layers=layers)
    learning = {
        int(name.split(".")[1])
        for name, p in deep.named_parameters()
        if name.startswith("blocks.") and p.grad is not None and bool(p.grad.any())
    }
    assert learning == set(range(2 * layers))  # also the added blocks


@pytest.mark.parametrize("config", [CONFIGS["default"], CONFIGS["regression-default"]], ids=lambda c: c.kind)
def test_kernel_ridge_answers_change_nothing_before_training(tmp_path: Path, config: VSAConfig) -> None:
    reading = answers_as_it_started(tmp_path, config, layers=3, kernel_ridge=True)
    assert reading.follow is not None
    assert reading.follow.weight.grad is not None
    assert bool(reading.follow.weight.grad.any())


@pytest.mark.parametrize("config", [CONFIGS["default"], CONFIGS["regression-default"]], ids=lambda c: c.kind)
def test_what_is_read_besides_keeps_its_place_in_the_input(tmp_path: Path, config: VSAConfig) -> None:
    """Of a network that reads graphs, weights stay with their channels when kernels are read as well."""
    reads = {"structure": True, "class_space": config.kind == "classification"}
    first = model_of(replace(config, **reads))
    save_checkpoint(tmp_path / "first", first, {}, "card")
    more = replace(first.config, kernel_ridge=True, more_kernels=True)
    model = VSAModel(more)
    start_from(model, str(tmp_path / "first"))
    before, after = (
        dict(
            zip(
                input_channels(m.config),
                m.state_dict()[INPUT].split(list(input_channels(m.config).values()), 1),
                strict=True,
            )
        )
        for m in (first, model)
    )
    for name in ("values", "structure", "class_space"):
        torch.testing.assert_close(after[name], before[name].float())
    assert not after["kernel_ridge"].any()
    assert not after["more_kernels"].any()
    assert model.follow is not None
    assert model.follow.bias.tolist() == [0, 0, 0, 0, 0, ALL_FOLLOWED_AT_FIRST]


def test_wider_reading_of_kernels_keeps_how_far_each_is_followed(tmp_path: Path) -> None:
    first = model_of(replace(CONFIGS["regression-default"], kernel_ridge=True))
    save_checkpoint(tmp_path / "first", first, {}, "card")
    model = VSAModel(replace(first.config, more_kernels=True))
    start_from(model, str(tmp_path / "first"))
    assert model.follow is not None
    torch.testing.assert_close(model.follow.weight[:3], first.follow.weight.float())
    assert not model.follow.weight[3:].any()


def test_what_only_the_other_kind_reads_is_left_out(tmp_path: Path) -> None:
    first = model_of(replace(CONFIGS["default"], structure=True, class_space=True))
    save_checkpoint(tmp_path / "first", first, {}, "card")
    model = VSAModel(CONFIGS["regression-default"])
    start_from(model, str(tmp_path / "first"))
    values = input_channels(model.config)["values"]
    torch.testing.assert_close(model.state_dict()[INPUT], first.state_dict()[INPUT][:, :values].float())


def test_fewer_layers_are_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "deep", model_of(CONFIGS["default"]), {}, "card")
    model = VSAModel(replace(CONFIGS["default"], layers=1))
    with pytest.raises(UsageError, match="layers=2"):
        start_from(model, str(tmp_path / "deep"))


def test_layers_are_not_added_where_a_block_is_no_identity(tmp_path: Path) -> None:
    paper = replace(CONFIGS["default"], residual="paper")
    save_checkpoint(tmp_path / "paper", model_of(paper), {}, "card")
    with pytest.raises(UsageError, match="layers=2"):
        start_from(VSAModel(replace(paper, layers=3)), str(tmp_path / "paper"))


def test_another_size_is_refused_with_what_differs(checkpoint: str) -> None:
    model = VSAModel(preset("default", **{**SIZES, "width": 16}))
    with pytest.raises(UsageError, match=r"width=8"):
        start_from(model, checkpoint)
