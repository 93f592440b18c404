"""The config of a run from what a user asks for: presets, overrides, ablations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from vsacli.errors import CheckpointError, UsageError
from vsacli.kinds import TaskKind
from vsacli.methods.registry import NETWORKS, config_class
from vsacli.nn.config import NetworkConfig, preset
from vsacli.tasks.augment import PLAIN
from vsacli.tasks.sampler import EpisodeConfig
from vsacli.training.config import TrainConfig, paper_settings

ABLATIONS: dict[str, dict[str, Any]] = {
    "ExampleAttn": {"attribute_attention": False},
    "AttributeAttn": {"example_attention": False},
    "w/oObsInd": {"observed_indicator": False},
    "w/oAttLabInd": {"kind_indicator": False},
    "w/oRes": {"residual": "none"},
    "w/oLN": {"layer_norm": False},
}
"""The ablations of the paper's Table 2, under its names."""

WITH_STRUCTURE = 0.9  # share of episodes with the structure of their table, if the network reads it; it must do without

VALIDATIONS_OF_A_RUN = 20  # if the run's length is given in steps


def make_config(
    kind: TaskKind,
    name: str,
    *,
    method: str = "vsa",
    model: Iterable[str] = (),
    ablations: Iterable[str] = (),
    episodes: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> TrainConfig:
    """The config of a run.

    Parameters
    ----------
    kind : {"classification", "regression"}
    name : {"default", "small", "paper"}
        Network and recipe. ``paper`` is the paper's in all; the others share one recipe. Networks of other methods
        than ``vsa`` have the sizes that the paper gives them in any case.
    method : str
        In :data:`vsacli.methods.registry.NETWORKS`.
    model : iterable of str
        ``field=value`` for the config of the method.
    ablations : iterable of str
        Names in :data:`ABLATIONS`, of the method ``vsa``.
    episodes, training : dict, optional
        Fields of :class:`EpisodeConfig` and :class:`TrainConfig` to set otherwise. ``plain`` also
        turns changes of tables off.

    Raises
    ------
    UsageError
        For an unknown field or an impossible value, or a method that does not serve this kind of tasks.
    """
    if kind not in NETWORKS[method].kinds:
        others = ", ".join(n for n, info in NETWORKS.items() if kind in info.kinds)
        raise UsageError(f"--method {method} does not support {kind}; methods that do: {others}")
    network = _network(kind, name, method, list(model), list(ablations))
    settings = paper_settings() if name == "paper" else {}
    settings |= training or {}
    drawn: EpisodeConfig = replace(settings.pop("episodes", EpisodeConfig()), **(episodes or {}))
    if network.reads_structure and not settings.get("plain"):
        drawn = replace(drawn, structure=WITH_STRUCTURE, class_space=network.reads_class_space)
    if settings.get("plain"):
        drawn = replace(drawn, natural=0.0, augment=PLAIN)
        if drawn.tasks[0] != drawn.tasks[1]:
            drawn = replace(drawn, tasks=(8, 8))  # cells do not rule plain batches
    steps = settings.get("steps")
    if steps is not None and settings.get("validate_steps") is None and "validate_every" not in settings:
        settings["validate_steps"] = max(1, steps // VALIDATIONS_OF_A_RUN)
    return TrainConfig(model=network, episodes=drawn, **settings)


def _network(kind: TaskKind, name: str, method: str, model: list[str], ablations: list[str]) -> NetworkConfig:
    changes = dict(_override(text, config_class(method)) for text in model)
    if method != "vsa":
        if ablations or name == "small":
            given = "--ablation" if ablations else "--preset small"
            raise UsageError(f"{given} changes the network of the method vsa; leave it out with --method {method}")
        changes = {"standardize": name != "paper"} | changes
    for ablation in ablations:
        changes |= ABLATIONS[ablation]
    try:
        return preset(name, kind, **changes) if method == "vsa" else config_class(method)(kind=kind, **changes)
    except CheckpointError as e:
        raise UsageError(f"--preset {name} with these --model and --ablation settings: {e}") from e


def _override(text: str, config: type[NetworkConfig]) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    name = name.strip().replace("-", "_")
    defaults = {f.name: f.default for f in fields(config) if f.name != "kind"}
    if not sign or name not in defaults:
        raise UsageError(f"--model {text}: write FIELD=VALUE with one of {', '.join(defaults)}")
    default, value = defaults[name], value.strip()
    if isinstance(default, bool):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if value.lower() not in words:
            raise UsageError(f"--model {text}: {name} is true or false")
        return name, words[value.lower()]
    if isinstance(default, (int, float)):
        number, words = (int, "a whole number") if isinstance(default, int) else (float, "a number")
        try:
            return name, number(value)
        except ValueError:
            raise UsageError(f"--model {text}: {name} is {words}") from None
    return name, value
