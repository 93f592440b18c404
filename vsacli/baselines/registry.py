"""Names of all compared methods. Nothing heavy is imported until a method is made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vsacli.baselines.base import Method
from vsacli.errors import UsageError
from vsacli.kinds import TaskKind
from vsacli.methods.registry import NETWORKS
from vsacli.support.wording import nearest

BOTH: tuple[TaskKind, ...] = ("classification", "regression")


@dataclass(frozen=True)
class MethodInfo:
    """Where a method lives and what it can do.

    Attributes
    ----------
    path : "module:class" below `vsacli.baselines`
    kinds : kinds of task that it answers
    summary : one line for `vsa eval --help` and the tables
    requires : package that must be installed, if any beyond our own dependencies
    trained : whether it answers by a checkpoint alone, and there is none in the installation
    optional : whether a comparison continues without it if it is absent
    """

    path: str
    kinds: tuple[TaskKind, ...]
    summary: str
    requires: str | None = None
    trained: bool = False
    optional: bool = False


METHODS: dict[str, MethodInfo] = {
    "vsa": MethodInfo("trained:Trained", BOTH, "the VSA network of a checkpoint"),
    "prior": MethodInfo("prior:Prior", BOTH, "most frequent class, or mean"),
    "logistic": MethodInfo("linear:Logistic", ("classification",), "logistic regression"),
    "ridge": MethodInfo("linear:Ridge", ("regression",), "ridge regression"),
    "centroid": MethodInfo("neighbors:NearestCentroid", ("classification",), "nearest class centroid"),
    "knn": MethodInfo("neighbors:NearestNeighbors", BOTH, "nearest labeled rows"),
    "forest": MethodInfo("trees:RandomForest", BOTH, "random forest"),
    "lightgbm": MethodInfo("trees:LightGBM", BOTH, "gradient boosting", requires="lightgbm"),
    "gp": MethodInfo("gaussian_process:GaussianProcess", BOTH, "Gaussian process, RBF kernel"),
    "kernel-ridge": MethodInfo("kernel_ridge:KernelRidge", BOTH, "kernel ridge regression, many kernels averaged"),
    "label-spreading": MethodInfo("label_spreading:LabelSpreading", ("classification",), "label spreading"),
    "graph": MethodInfo("propagation:NearestGraph", BOTH, "label propagation, graph of nearest neighbours"),
    "forest-graph": MethodInfo("propagation:ForestGraph", BOTH, "label propagation, graph of shared leaves"),
    "class-graph": MethodInfo(
        "class_graph:ClassGraph", ("classification",), "label propagation, graph by the classes' common covariance"
    ),
    "self-training": MethodInfo("self_training:SelfTraining", ("classification",), "self-training, logistic"),
    "tabpfn": MethodInfo("foundation:TabPFN", BOTH, "TabPFN, if it is installed", requires="tabpfn", optional=True),
    "tabicl": MethodInfo("foundation:TabICL", BOTH, "TabICL, if it is installed", requires="tabicl", optional=True),
    **{
        name: MethodInfo("trained:Trained", info.kinds, f"{info.title}: {info.summary}", trained=True)
        for name, info in NETWORKS.items()
        if name != "vsa"
    },
}


def method_names(kind: TaskKind) -> list[str]:
    """Methods that answer this kind of task here, without a checkpoint of one's own, in the table's order."""
    usable = [name for name, info in METHODS.items() if kind in info.kinds and not info.trained]
    return [name for name in usable if absent(name, kind) is None]


def missing_package(name: str) -> str | None:
    """The package that a method needs and that is not installed, or None."""
    package = METHODS[name].requires
    return package if package is not None and find_spec(package) is None else None


def absent(name: str, kind: TaskKind) -> str | None:
    """Why a method cannot answer this kind of task here: a package or weights that are not there; None if it can."""
    if (package := missing_package(name)) is not None:
        return f"the package {package} is not installed"
    if METHODS[name].optional and _class_of(name).weights(kind) is None:
        return f"its weights for {kind} are not on this machine, and nothing is downloaded here"
    return None


def known_method(name: str) -> MethodInfo:
    """What is known of a method that can be made here.

    Raises
    ------
    UsageError
        No such method, or its package is not installed.
    """
    if name not in METHODS:
        close = nearest(list(METHODS), name)
        hint = f"did you mean '{close}'?" if close else f"known: {', '.join(METHODS)}"
        raise UsageError(f"no method '{name}'; {hint}")
    if package := missing_package(name):
        raise UsageError(f"method '{name}' needs the package {package}: pip install {package}")
    return METHODS[name]


def make_method(name: str, **settings: object) -> Method:
    """Make a method by its name.

    Raises
    ------
    UsageError
        As :func:`known_method`.
    """
    known_method(name)
    return _class_of(name)(**settings)


def weight_files(name: str, **settings: object) -> list[Path]:
    """The files of trained weights that a method made so would read; none for a method that learns nothing."""
    if name not in METHODS or missing_package(name) is not None:
        return []
    find = getattr(_class_of(name), "weight_files", None)
    return find(**settings) if find is not None else []


def _class_of(name: str) -> Any:
    module, _, attribute = METHODS[name].path.partition(":")
    return getattr(import_module(f"vsacli.baselines.{module}"), attribute)
