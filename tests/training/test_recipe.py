"""Presets, overrides and ablations."""

from __future__ import annotations

import pytest

from vsacli.errors import UsageError
from vsacli.nn.config import preset
from vsacli.tasks.augment import PLAIN
from vsacli.training.recipe import ABLATIONS, make_config


def test_the_paper_in_all():
    config = make_config("classification", "paper", training={"steps": 100})
    assert (config.optimizer, config.learning_rate, config.schedule) == ("adam", 1e-4, "constant")
    assert (config.warmup, config.weight_decay, config.average, config.clip) == (0.0, 0.0, 0.0, 0.0)
    assert config.episodes.tasks == (8, 8)
    assert config.plain
    assert config.episodes.augment == PLAIN
    assert config.patience is not None
    assert config.model == preset("paper")
    assert (config.model.layers, config.model.heads, config.model.width, config.model.channels) == (3, 4, 32, 1)


def test_options_win_over_the_preset():
    config = make_config(
        "classification",
        "paper",
        model=["layers=2", "layer-norm=no", "residual=none"],
        episodes={"shots": (1, 1), "tasks": (4, 4)},
        training={"steps": 100, "learning_rate": 1e-3, "patience": 3},
    )
    assert (config.model.layers, config.model.layer_norm, config.model.residual) == (2, False, "none")
    assert (config.episodes.shots, config.episodes.tasks, config.episodes.unlabeled) == ((1, 1), (4, 4), (20, 20))
    assert (config.learning_rate, config.patience) == (1e-3, 3)


def test_plain_episodes_change_nothing_of_a_table():
    config = make_config("regression", "small", training={"steps": 10, "plain": True})
    assert (config.episodes.augment, config.episodes.natural, config.episodes.tasks) == (PLAIN, 0.0, (8, 8))
    assert config.model.head == "gp"


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("ExampleAttn", ("attribute_attention", False)),
        ("AttributeAttn", ("example_attention", False)),
        ("w/oObsInd", ("observed_indicator", False)),
        ("w/oAttLabInd", ("kind_indicator", False)),
        ("w/oRes", ("residual", "none")),
        ("w/oLN", ("layer_norm", False)),
    ],
)
def test_ablations_change_one_thing(name: str, changed: tuple[str, object]):
    full = preset("paper").to_dict()
    ablated = make_config("classification", "paper", ablations=[name], training={"steps": 1}).model.to_dict()
    assert {k: v for k, v in ablated.items() if v != full[k]} == dict([changed])
    assert name in ABLATIONS


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("layer=2", "write FIELD=VALUE with one of layers"),
        ("layers", "write FIELD=VALUE"),
        ("layers=two", "a whole number"),
        ("layers=0", "from 1 to 4096"),
        ("layer_norm=maybe", "true or false"),
        ("residual=all", "unknown residual"),
        ("head=gp", "does not serve classification"),
        ("kind=regression", "write FIELD=VALUE"),
    ],
)
def test_impossible_overrides(model: str, words: str):
    with pytest.raises(UsageError, match=words):
        make_config("classification", "default", model=[model], training={"steps": 1})


def test_no_attention_is_left():
    with pytest.raises(UsageError, match="no blocks"):
        make_config("classification", "paper", ablations=["ExampleAttn", "AttributeAttn"], training={"steps": 1})


def test_validations_are_counted_in_steps_where_the_run_is():
    assert make_config("classification", "small", training={"steps": 400}).validate_steps == 20
    assert make_config("classification", "small", training={"max_time": 60.0}).validate_steps is None
    timed = make_config("classification", "small", training={"steps": 400, "validate_every": 5.0})
    assert (timed.validate_steps, timed.validate_every) == (None, 5.0)
