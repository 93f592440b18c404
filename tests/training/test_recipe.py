"""Presets, overrides and ablations."""

from __future__ import annotations

import json

import pytest

from vsacli.cli.meta_train import MethodChoice
from vsacli.errors import UsageError
from vsacli.methods.maml import MAMLConfig
from vsacli.methods.registry import NETWORKS
from vsacli.nn.config import VSAConfig, preset
from vsacli.tasks.augment import PLAIN
from vsacli.training.config import TrainConfig
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
    assert isinstance(config.model, VSAConfig)
    assert (config.model.layers, config.model.heads, config.model.width, config.model.channels) == (3, 4, 32, 1)


def test_options_win_over_the_preset():
    config = make_config(
        "classification",
        "paper",
        model=["layers=2", "layer-norm=no", "residual=none"],
        episodes={"shots": (1, 1), "tasks": (4, 4)},
        training={"steps": 100, "learning_rate": 1e-3, "patience": 3},
    )
    assert isinstance(config.model, VSAConfig)
    assert (config.model.layers, config.model.layer_norm, config.model.residual) == (2, False, "none")
    assert (config.episodes.shots, config.episodes.tasks, config.episodes.unlabeled) == ((1, 1), (4, 4), (20, 20))
    assert (config.learning_rate, config.patience) == (1e-3, 3)


def test_plain_episodes_change_nothing_of_a_table():
    config = make_config("regression", "small", training={"steps": 10, "plain": True})
    assert (config.episodes.augment, config.episodes.natural, config.episodes.tasks) == (PLAIN, 0.0, (8, 8))
    assert config.model == preset("small", "regression")


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
        ("head=gp", "does not support classification"),
        ("kind=regression", "write FIELD=VALUE"),
    ],
)
def test_impossible_overrides(model: str, words: str):
    with pytest.raises(UsageError, match=words):
        make_config("classification", "default", model=[model], training={"steps": 1})


def test_other_methods_have_the_papers_sizes_in_every_recipe():
    paper = make_config("classification", "paper", method="maml", training={"steps": 1})
    assert paper.model == MAMLConfig(layers=3, width=32, inner_steps=5, inner_rate=1e-3, standardize=False)
    usual = make_config("classification", "default", method="maml", model=["inner-rate=0.01"], training={"steps": 1})
    assert usual.model == MAMLConfig(inner_rate=0.01)
    for config in (paper, usual):
        assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("regression", {"method": "proto"}, "proto does not support regression; methods that do: vsa, meta-rbf-gp"),
        ("classification", {"method": "proto", "model": ["heads=2"]}, "one of standardize, layers, width"),
        ("classification", {"method": "maml", "model": ["inner_rate=fast"]}, "inner_rate is a number"),
        ("classification", {"method": "maml", "model": ["inner_rate=nan"]}, "not a number from 0"),
        ("classification", {"method": "atthml", "model": ["heads=5"]}, "cannot be shared by 5 heads"),
        (
            "classification",
            {"method": "hml", "ablations": ["w/oLN"]},
            "--ablation changes the network of the method",
        ),
    ],
)
def test_impossible_settings_of_other_methods(kind: str, options: dict, words: str):
    with pytest.raises(UsageError, match=words):
        make_config(kind, "default", training={"steps": 1}, **options)


def test_a_run_of_before_there_were_methods_is_one_of_vsa():
    old = make_config("classification", "small", training={"steps": 1})
    values = json.loads(json.dumps(old.to_dict()))
    assert "method" not in values["model"]
    assert TrainConfig.from_dict(values) == old


def test_every_method_can_be_asked_for():
    assert {m.value for m in MethodChoice} == set(NETWORKS)


def test_no_attention_is_left():
    with pytest.raises(UsageError, match="no blocks"):
        make_config("classification", "paper", ablations=["ExampleAttn", "AttributeAttn"], training={"steps": 1})


def test_validations_are_counted_in_steps_where_the_run_is():
    assert make_config("classification", "small", training={"steps": 400}).validate_steps == 20
    assert make_config("classification", "small", training={"max_time": 60.0}).validate_steps is None
    timed = make_config("classification", "small", training={"steps": 400, "validate_every": 5.0})
    assert (timed.validate_steps, timed.validate_every) == (None, 5.0)


@pytest.mark.parametrize(("class_space", "expected"), [("true", (0.9, True)), ("false", (0.9, False))])
def test_episodes_hold_what_the_network_reads(class_space: str, expected: tuple[float, bool]):
    config = make_config(
        "classification", "small", model=["structure=true", f"class_space={class_space}"], training={"steps": 1}
    )
    assert (config.episodes.structure, config.episodes.class_space) == expected
