"""Small networks in the place of the bundled ones, and an estimator of each kind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vsacli import VSAClassifier, VSARegressor
from vsacli.checkpoints import resolve
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.estimators import base
from vsacli.nn import VSAModel, preset


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Small networks in the place of the bundled ones: random, with heads sharp enough to fit what they are given."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for kind in ("classification", "regression"):
        torch.manual_seed(0)
        model = VSAModel(preset("small", kind, layers=1))
        with torch.no_grad():
            if kind == "regression":
                model.head.get_parameter("log_length").fill_(-2)
                model.head.get_parameter("log_noise").fill_(math.log(0.01))
        save_checkpoint(folder / kind, model, {}, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "bundled_folder", lambda: folder)
        base._load_once.cache_clear()
        yield folder
    base._load_once.cache_clear()


@pytest.fixture
def classifier() -> VSAClassifier:
    return VSAClassifier(device="cpu")


@pytest.fixture
def regressor() -> VSARegressor:
    return VSARegressor(device="cpu")
