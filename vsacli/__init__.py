"""vsa: fill in the missing labels of a table from a handful of given ones."""

from __future__ import annotations

from vsacli._version import __version__

TYPE_CHECKING = False  # the module typing takes half of the time that this one takes to load
if TYPE_CHECKING:
    from typing import Any

    from vsacli.checkpoints.resolve import load_checkpoint
    from vsacli.errors import VsaError
    from vsacli.estimators import VSAClassifier, VSARegressor
    from vsacli.labeling import LabelOptions, label_table
    from vsacli.tables.output import open_output
    from vsacli.tables.read import read_table

__all__ = [
    "LabelOptions",
    "VSAClassifier",
    "VSARegressor",
    "VsaError",
    "__version__",
    "label_table",
    "load_checkpoint",
    "open_output",
    "read_table",
]

# `import vsacli` and `vsa --help` must stay quick: what needs scikit-learn or torch is loaded at first use.
_HOME = {
    "LabelOptions": "vsacli.labeling",
    "VSAClassifier": "vsacli.estimators",
    "VSARegressor": "vsacli.estimators",
    "VsaError": "vsacli.errors",
    "label_table": "vsacli.labeling",
    "load_checkpoint": "vsacli.checkpoints.resolve",
    "open_output": "vsacli.tables.output",
    "read_table": "vsacli.tables.read",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
