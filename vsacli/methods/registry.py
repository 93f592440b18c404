"""Every trainable method by name. No network is imported until it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vsacli.errors import CheckpointError
from vsacli.kinds import TaskKind

if TYPE_CHECKING:
    from vsacli.nn.config import NetworkConfig
    from vsacli.nn.network import Network

BOTH: tuple[TaskKind, ...] = ("classification", "regression")
CLASSES: tuple[TaskKind, ...] = ("classification",)
NUMBERS: tuple[TaskKind, ...] = ("regression",)


@dataclass(frozen=True)
class NetworkInfo:
    """Where a method's network lives and what it can do.

    Attributes
    ----------
    config, network : "module:class"
    kinds : kinds of task that it answers
    title : its name in the paper
    summary : one line for help texts and cards
    """

    config: str
    network: str
    kinds: tuple[TaskKind, ...]
    title: str
    summary: str


def _own(module: str, name: str, kinds: tuple[TaskKind, ...], summary: str) -> NetworkInfo:
    """A method with a module of its own."""
    return NetworkInfo(f"vsacli.methods.{module}:{name}Config", f"vsacli.methods.{module}:{name}", kinds, name, summary)


def _combined(name: str, kinds: tuple[TaskKind, ...], summary: str) -> NetworkInfo:
    """An embedding and a head."""
    module = "vsacli.methods.combined"
    return NetworkInfo(f"{module}:{name}Config", f"{module}:Combined", kinds, name, summary)


NETWORKS: dict[str, NetworkInfo] = {
    "vsa": NetworkInfo(
        "vsacli.nn.config:VSAConfig", "vsacli.nn.model:VSAModel", BOTH, "Ours", "variable-feature self-attention"
    ),
    "meta-rbf-gp": _combined("GP", BOTH, "Gaussian process on attributes, kernel tuned on other tasks"),
    "lp": _combined("LP", CLASSES, "label propagation on attributes, tuned on other tasks"),
    "maml": _own("maml", "MAML", BOTH, "deep sets, adapted by gradient descent"),
    "proto": _combined("Proto", CLASSES, "deep sets, prototypes"),
    "hml": _own("hml", "HML", BOTH, "heterogeneous meta-learning by deep sets"),
    "atthml": _own("atthml", "AttHML", BOTH, "heterogeneous meta-learning by attention"),
    "semiproto": _combined("SemiProto", CLASSES, "exchangeable matrix layers, prototypes"),
    "metalp": _combined("MetaLP", CLASSES, "exchangeable matrix layers, label propagation"),
    "atthmllp": _combined("AttHMLLP", CLASSES, "AttHML's embeddings, label propagation"),
    "metagp": _combined("MetaGP", NUMBERS, "deep sets, Gaussian process"),
    "semimetagp": _combined("SemiMetaGP", NUMBERS, "exchangeable matrix layers, Gaussian process"),
}


def network_info(name: object) -> NetworkInfo:
    """What is known of a method.

    Raises
    ------
    CheckpointError
        If there is none of this name: the checkpoint is newer.
    """
    if not isinstance(name, str) or name not in NETWORKS:
        raise CheckpointError(f"a network of the method {name!r}, which this version does not know; update vsacli")
    return NETWORKS[name]


def config_class(name: str) -> type[NetworkConfig]:
    """The config of a method's network."""
    return _load(network_info(name).config)


def config_from_dict(values: dict[str, Any]) -> NetworkConfig:
    """The config that :meth:`NetworkConfig.to_dict` wrote; the VSA network's if no method is named.

    Raises
    ------
    CheckpointError
        For a method, a field or a value that this version does not know.
    """
    return config_class(values.get("method", "vsa")).from_dict(values)


def build_network(config: NetworkConfig) -> Network[Any]:
    """A network with fresh weights."""
    return _load(network_info(config.method).network)(config)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
