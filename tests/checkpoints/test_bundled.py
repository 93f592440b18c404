"""The checkpoints that come with the package: sound, and right where nobody could be wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from vsacli import VSAClassifier, VSARegressor, load_checkpoint
from vsacli.checkpoints.folder import CARD_FILE
from vsacli.checkpoints.resolve import bundled_checkpoints


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_they_load_and_say_where_they_come_from(kind: str):
    folder = bundled_checkpoints()[kind]
    checkpoint = load_checkpoint(kind=kind)
    assert checkpoint.kind == kind
    assert checkpoint.path == folder
    assert json.dumps(checkpoint.meta, allow_nan=False)
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    assert kind in card
    assert len(card) > 300
    assert (folder / "model.safetensors").stat().st_size < 20 << 20  # it ships inside the wheel


def test_two_clusters_and_one_label_each():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 2
    x = rng.normal(size=(200, 4)) + 8 * truth[:, None]
    y = np.full(200, np.nan)
    y[:2] = truth[:2]
    fitted = VSAClassifier(device="cpu").fit(x, y)
    assert (fitted.transduction_ == truth).mean() > 0.98


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_real_tables_with_five_labels_a_class(load):
    x, truth = load(return_X_y=True)
    accuracies = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(x))
        given = np.concatenate([order[truth[order] == c][:5] for c in range(3)])
        y = np.full(len(x), np.nan)
        y[given] = truth[given]
        hidden = np.isnan(y)
        fitted = VSAClassifier(device="cpu").fit(x, y)
        accuracies.append((fitted.transduction_ == truth)[hidden].mean())
    assert np.mean(accuracies) > 0.85


def test_a_line_with_fifteen_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    truth = 100 + 20 * x[:, 0]
    y = np.where(np.arange(150) < 15, truth, np.nan)
    fitted = VSARegressor(device="cpu").fit(x, y)
    error = (fitted.transduction_ - truth)[15:]
    assert np.mean(error**2) < 0.4 * truth.var()
    inside = np.abs(error) < 2 * fitted.transduction_std_[15:]
    assert inside.mean() > 0.7
