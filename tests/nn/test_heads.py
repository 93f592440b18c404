"""Each head against a plain NumPy or scikit-learn computation."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from vsacli.nn.heads import GPHead, LabelPropagationHead, PrototypeHead


@pytest.fixture
def embedded() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), np.array([0, 0, 1, 2, 2, 2])


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(a)[None] for a in arrays]


def test_prototypes_are_class_means(embedded: tuple) -> None:
    labeled, unlabeled, y = embedded
    prototypes = np.stack([labeled[y == c].mean(0) for c in range(3)])
    expected = -((unlabeled[:, None] - prototypes) ** 2).sum(-1)
    one_hot = torch.from_numpy(np.eye(3)[y])[None]
    zl, zu = tensors(labeled, unlabeled)
    got = PrototypeHead(learned_scale=False)(zl, zu, one_hot, torch.tensor([3]))[0].numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    head = PrototypeHead(learned_scale=True).double()
    with torch.no_grad():
        head.log_scale.fill_(math.log(2.0))
    got = head(zl, zu, one_hot, torch.tensor([3]))[0].detach().numpy()
    np.testing.assert_allclose(got, expected * 2 / 3, rtol=1e-10)


def test_label_propagation_solves_zhous_equation(embedded: tuple) -> None:
    labeled, unlabeled, y = embedded
    head = LabelPropagationHead(learned_scale=False).double()
    with torch.no_grad():
        head.log_scale.fill_(math.log(0.5))
        head.alpha_logit.fill_(math.log(0.8 / 0.2))
    z = np.concatenate([labeled, unlabeled])
    w = np.exp(-0.5 * ((z[:, None] - z) ** 2).sum(-1))
    np.fill_diagonal(w, 0)
    d = np.diag(w.sum(1) ** -0.5)
    seeds = np.concatenate([np.eye(3)[y], np.zeros((5, 3))])
    expected = np.linalg.inv(np.eye(11) - 0.8 * d @ w @ d) @ seeds
    zl, zu = tensors(labeled, unlabeled)
    one_hot = torch.from_numpy(np.eye(3)[y])[None]
    got = head(zl, zu, one_hot, torch.tensor([3]), torch.ones(1, 11, dtype=torch.bool))[0].exp().detach().numpy()
    np.testing.assert_allclose(got, expected[6:], rtol=1e-8)


def test_gp_is_scikit_learns(embedded: tuple) -> None:
    labeled, unlabeled, _ = embedded
    rng = np.random.default_rng(1)
    y = rng.normal(size=(6, 2))
    head = GPHead(learned_scale=False).double()
    variance, length, noise = 1.7, 1.3, 0.2
    with torch.no_grad():
        head.log_variance.fill_(math.log(variance))
        head.log_length.fill_(math.log(length))
        head.log_noise.fill_(math.log(noise - 1e-4 * variance))
    kernel = ConstantKernel(variance, "fixed") * RBF(length, "fixed") + WhiteKernel(noise, "fixed")
    zl, zu = tensors(labeled, unlabeled)
    mask = torch.ones(1, 6, dtype=torch.bool)
    mean, var = head(zl, zu, torch.from_numpy(y)[None], torch.tensor([3]), mask)
    for t in range(2):
        gp = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(labeled, y[:, t])
        expected_mean, expected_std = cast(tuple[np.ndarray, np.ndarray], gp.predict(unlabeled, return_std=True))
        np.testing.assert_allclose(mean[0, :, t].detach().numpy(), expected_mean, rtol=1e-8)
        np.testing.assert_allclose(var[0, :, t].detach().numpy(), expected_std**2, rtol=1e-8)


def test_gp_survives_identical_rows_in_float32() -> None:
    z = torch.zeros(1, 30, 4)
    mean, var = GPHead(learned_scale=False)(
        z, z[:, :3], torch.randn(1, 30, 1), torch.tensor([4]), torch.ones(1, 30, dtype=torch.bool)
    )
    assert torch.isfinite(mean).all()
    assert (var > 0).all()
