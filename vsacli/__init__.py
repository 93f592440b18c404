"""vsa: fill in the missing labels of a table from a handful of given ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vsacli.checkpoints import load_checkpoint
    from vsacli.errors import VsaError
    from vsacli.estimators import VSAClassifier, VSARegressor

__version__ = "0.1.0"
__all__ = ["VSAClassifier", "VSARegressor", "VsaError", "__version__", "load_checkpoint"]

# `import vsacli` and `vsa --help` must stay quick: what needs scikit-learn or torch comes with its first use.
_HOME = {
    "VSAClassifier": "vsacli.estimators",
    "VSARegressor": "vsacli.estimators",
    "VsaError": "vsacli.errors",
    "load_checkpoint": "vsacli.checkpoints",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
