"""The network as a compared method: the same answers as its own forward pass, odd episodes included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vsacli.baselines.registry import make_method, weight_files
from vsacli.baselines.trained import embeddings
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.errors import CheckpointError
from vsacli.kinds import TaskKind
from vsacli.nn.config import preset
from vsacli.nn.model import ClassOutput, RegressionOutput, VSAModel
from vsacli.tasks.collate import collate

SMALL = {"layers": 1, "width": 8, "heads": 2, "head_width": 4, "ff_width": 8, "channels": 2}


def untrained(folder: Path, kind: TaskKind) -> tuple[str, VSAModel]:
    torch.manual_seed(0)
    model = VSAModel(preset("small", kind, **SMALL)).eval()
    save_checkpoint(folder, model, {}, "card")
    return str(folder), model


def test_classes_are_those_of_the_forward_pass(tmp_path: Path, blobs) -> None:
    ref, model = untrained(tmp_path / "c", "classification")
    episode = blobs(n_unlabeled=9)
    probs = make_method("vsa", checkpoint=ref).fit_predict(episode, np.random.default_rng(0)).probabilities
    with torch.inference_mode():
        output = model(collate([episode]).tasks)
    assert isinstance(output, ClassOutput)
    np.testing.assert_allclose(probs, output.log_probs[0].exp().numpy(), atol=1e-5)


def test_numbers_are_those_of_the_forward_pass(tmp_path: Path, line) -> None:
    ref, model = untrained(tmp_path / "r", "regression")
    episode = line(n_unlabeled=9)
    prediction = make_method("vsa", checkpoint=ref).fit_predict(episode, np.random.default_rng(0))
    with torch.inference_mode():
        output = model(collate([episode]).tasks)
    assert isinstance(output, RegressionOutput)
    np.testing.assert_allclose(prediction.mean, output.mean[0, :, 0].numpy(), atol=1e-4)
    np.testing.assert_allclose(prediction.std, output.var[0, :, 0].sqrt().numpy(), rtol=1e-3)


def test_attributes_that_one_reading_does_without_are_those_of_the_episode(tmp_path: Path, blobs) -> None:
    ref, _ = untrained(tmp_path / "c", "classification")
    episode = blobs(n_unlabeled=9)
    method, rng = make_method("vsa", checkpoint=ref), np.random.default_rng(0)
    further = np.arange(episode.x.shape[1]) == 0
    both, whole, without = (
        method.fit_predict(replace(episode, x=x, further=marks), rng).probabilities
        for x, marks in ((episode.x, further), (episode.x, None), (episode.x[:, ~further], None))
    )
    np.testing.assert_allclose(both, (whole + without) / 2, atol=1e-6)
    assert np.abs(whole - without).max() > 1e-4


def test_a_class_without_label_gets_nothing(tmp_path: Path, blobs) -> None:
    ref, _ = untrained(tmp_path / "c", "classification")
    episode = blobs(n_classes=3, n_unlabeled=9)
    wider = replace(episode, n_classes=5, y=np.where(episode.y == 1, 4, episode.y))
    method = make_method("vsa", checkpoint=ref)
    probs = method.fit_predict(wider, np.random.default_rng(0)).probabilities
    assert (probs[:, [1, 3]] == 0).all()
    narrow = method.fit_predict(episode, np.random.default_rng(0)).probabilities
    np.testing.assert_allclose(probs[:, [0, 4, 2]], narrow, atol=1e-5)


def test_embeddings_have_a_point_a_row(tmp_path: Path, blobs) -> None:
    ref, _ = untrained(tmp_path / "c", "classification")
    episode = blobs(n_unlabeled=9, n_attributes=4)
    assert embeddings(ref, episode).shape == (18, 4 * 2)


def test_weights_are_named_and_kinds_are_checked(tmp_path: Path, line) -> None:
    ref, _ = untrained(tmp_path / "c", "classification")
    assert weight_files("vsa", checkpoint=ref) == [tmp_path / "c" / "model.safetensors"]
    assert weight_files("knn", k=3) == []
    with pytest.raises(CheckpointError, match="classification"):
        make_method("vsa", checkpoint=ref).fit_predict(line(), np.random.default_rng(0))
