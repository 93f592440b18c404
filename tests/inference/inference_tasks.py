"""Tables of clusters with a few labels, as `predict` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tiny import tiny_checkpoint
from vsacli.inference.answers import Answers
from vsacli.inference.config import InferenceConfig
from vsacli.inference.predict import predict

CPU = InferenceConfig(device="cpu")
SMALL = InferenceConfig(device="cpu", chunk_rows=32, context_rows=40)


def make_table(n: int = 150, m: int = 4, classes: int = 3, labeled: float = 0.2, seed: int = 0) -> dict[str, Any]:
    """Clusters with missing values; each class has a label. The arguments of `predict`."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    x = (rng.normal(size=(n, m)) + 2 * rng.normal(size=(classes, m))[codes]).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    given = rng.random(n) < labeled
    given[:classes] = True
    return {"x": x, "labeled": given, "y": codes[given], "n_classes": classes}


def regression(task: dict[str, Any]) -> dict[str, Any]:
    """The same table with targets that follow its attributes."""
    target = np.nan_to_num(task["x"]).sum(1).astype(np.float64)
    return {**task, "y": target[task["labeled"]], "n_classes": 0}


def ask(kind: str, task: dict[str, Any], **options: Any) -> np.ndarray:
    """Probabilities (U, C), or mean and deviation side by side (U, 2)."""
    return numbers(predict(tiny_checkpoint(kind), **task, **{"config": CPU, **options}))


def numbers(answer: Answers) -> np.ndarray:
    if answer.proba is not None:
        return answer.proba
    assert answer.mean is not None
    assert answer.std is not None
    return np.stack([answer.mean, answer.std], 1)


def task_of(kind: str, **options: Any) -> dict[str, Any]:
    task = make_table(**options)
    return task if kind == "classification" else regression(task)


KINDS = pytest.mark.parametrize("kind", ["classification", "regression"])
