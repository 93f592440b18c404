"""Whole methods against computations that share no code with them: NumPy, scikit-learn, plain autograd."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.semi_supervised import LabelSpreading
from torch.nn import functional as F

from tests.methods.test_layers import dense
from tests.nn.tasks import METHOD_CONFIGS, answers, batch_of, episode, model_of
from vsacli.methods.atthml import AttHMLConfig
from vsacli.methods.combined import GPConfig, LPConfig, ProtoConfig, SemiProtoConfig
from vsacli.methods.hml import HMLConfig
from vsacli.methods.maml import MAMLConfig
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode
from vsacli.training.loss import episode_loss


@pytest.fixture
def task() -> Episode:
    return episode(np.random.default_rng(0), labeled=7, unlabeled=5, missing=0.0)


@pytest.fixture
def numbers() -> Episode:
    return episode(np.random.default_rng(1), "regression", labeled=7, unlabeled=5, missing=0.0)


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a[:, None] - b[None]) ** 2).sum(-1)


def rows_of(e: Episode) -> tuple[np.ndarray, np.ndarray]:
    x = e.x.astype(np.float64)
    return x[: e.n_labeled], x[e.n_labeled :]


def prototype_probs(z: np.ndarray, e: Episode) -> np.ndarray:
    n, y = e.n_labeled, e.y[: e.n_labeled]
    means = np.stack([z[:n][y == c].mean(0) for c in range(e.n_classes)])
    return np.exp(log_softmax(-distances(z[n:], means), axis=1))


def gp_of(model: Any) -> GaussianProcessRegressor:
    head = {k: v.exp().item() for k, v in model.head.named_parameters()}
    variance, noise = head["log_variance"], head["log_noise"] + 1e-4 * head["log_variance"]
    kernel = ConstantKernel(variance) * RBF(head["log_length"]) + WhiteKernel(noise)
    return GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)


def test_gp_is_scikit_learns_and_so_is_its_likelihood(numbers: Episode) -> None:
    model = model_of(GPConfig(kind="regression", standardize=False))
    labeled, unlabeled = rows_of(numbers)
    reference = gp_of(model).fit(labeled, numbers.y[:7].astype(np.float64))
    mean, std = cast(tuple[np.ndarray, np.ndarray], reference.predict(unlabeled, return_std=True))
    got = answers(model, batch_of(numbers))[0].numpy()
    np.testing.assert_allclose(got, np.stack([mean, std**2], 1), rtol=1e-6)
    batch = collate([numbers])
    batch.tasks, batch.answer = batch.tasks.double(), batch.answer.double()
    loss = -np.mean(norm.logpdf(numbers.answer.astype(np.float64), mean, std))
    got = episode_loss(model(batch.tasks), batch, mse_weight=0.0).item()
    assert got == pytest.approx(5 * np.arcsinh(loss / 5), rel=1e-6)


def test_gp_classifies_by_the_density_of_one_hot_vectors(task: Episode) -> None:
    model = model_of(GPConfig(standardize=False))
    labeled, unlabeled = rows_of(task)
    reference = gp_of(model).fit(labeled, np.eye(3)[task.y[:7]])
    mean, std = cast(tuple[np.ndarray, np.ndarray], reference.predict(unlabeled, return_std=True))
    density = np.stack([np.prod(norm.pdf(np.eye(3)[c], mean, std), axis=1) for c in range(3)], 1)
    expected = density / density.sum(1, keepdims=True)
    np.testing.assert_allclose(answers(model, batch_of(task))[0].numpy(), expected, rtol=1e-5)


def test_lp_is_the_fixed_point_of_spreading_and_scikit_learns_labels(task: Episode) -> None:
    model = model_of(LPConfig(standardize=False))
    head = model.head
    gamma, alpha = head.log_scale.exp().item(), head.alpha_logit.sigmoid().item()
    x = task.x.astype(np.float64)
    w = np.exp(-gamma * distances(x, x))
    np.fill_diagonal(w, 0)
    s = w / np.sqrt(np.outer(w.sum(1), w.sum(1)))
    seeds = np.concatenate([np.eye(3)[task.y[:7]], np.zeros((5, 3))])
    f = seeds
    for _ in range(3000):
        f = alpha * s @ f + seeds
    expected = f[7:] / f[7:].sum(1, keepdims=True)
    got = answers(model, batch_of(task))[0].numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    spreading = LabelSpreading(kernel="rbf", gamma=gamma, alpha=alpha, max_iter=5000, tol=1e-9)
    spreading.fit(x, np.where(np.arange(12) < 7, task.y, -1))
    assert (spreading.transduction_[7:] == got.argmax(1)).all()


@pytest.mark.parametrize("config", [GPConfig(standardize=False), LPConfig(standardize=False)])
def test_missing_values_are_imputed_by_the_mean(task: Episode, config) -> None:
    holes = task.x.copy()
    holes[[0, 8], [1, 2]] = np.nan
    filled = np.where(np.isnan(holes), np.nanmean(holes.astype(np.float64), 0), holes).astype(np.float32)
    model = model_of(config)
    got, expected = (answers(model, batch_of(replace(task, x=x))) for x in (holes, filled))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def test_proto_is_prototypes_of_deep_sets(task: Episode) -> None:
    model = model_of(ProtoConfig(standardize=False))
    net = model.embedding.rows
    z = dense(net.whole, dense(net.elements, task.x.astype(np.float64)[..., None]).mean(1))
    np.testing.assert_allclose(answers(model, batch_of(task))[0].numpy(), prototype_probs(z, task), rtol=1e-6)


def test_hml_row_by_row(task: Episode) -> None:
    model = model_of(HMLConfig(standardize=False, iterations=2))
    e = model.embedding

    def deep_set(net, elements: list[np.ndarray]) -> np.ndarray:
        return dense(net.whole, dense(net.elements, np.stack(elements)).mean(0))

    x, y = task.x.astype(np.float64), np.eye(3)[task.y[:7]]
    rows, attributes, classes = range(7), range(4), range(3)
    v = [deep_set(e.attributes[0], [x[n, [m]] for n in rows]) for m in attributes]
    c = [deep_set(e.labels[0], [y[n, [k]] for n in rows]) for k in classes]
    u = [
        deep_set(e.rows_by_values[0], [np.r_[x[n, m], v[m]] for m in attributes])
        + deep_set(e.rows_by_labels[0], [np.r_[y[n, k], c[k]] for k in classes])
        for n in rows
    ]
    v = [deep_set(e.attributes[1], [np.r_[x[n, m], u[n]] for n in rows]) for m in attributes]
    z = np.stack([deep_set(e.embedded, [np.r_[x[n, m], v[m]] for m in attributes]) for n in range(12)])
    np.testing.assert_allclose(answers(model, batch_of(task))[0].numpy(), prototype_probs(z, task), rtol=1e-6)


def test_semiproto_reads_a_matrix_in_which_unknown_labels_are_missing(task: Episode) -> None:
    holes = replace(task, x=np.where(np.eye(12, 4) > 0, np.nan, task.x).astype(np.float32))
    model = model_of(SemiProtoConfig(standardize=False))
    seen = np.concatenate([~np.isnan(holes.x), np.broadcast_to(np.arange(12)[:, None] < 7, (12, 3))], 1)
    values = np.concatenate([np.nan_to_num(holes.x), np.eye(3)[task.y]], 1) * seen
    is_kind = [np.tile(mark, (12, 1)) for mark in (np.arange(7) < 4, np.arange(7) >= 4)]
    z = np.stack([values, seen, *is_kind], 2).astype(float)
    blocks = model.embedding.blocks
    assert [(b.cell.in_features, b.cell.out_features) for b in blocks] == [(4, 32), (32, 32), (32, 32)]
    for i, layer in enumerate(blocks):
        z = np.maximum(z, 0) if i else z
        w = {k: getattr(layer, k).weight.detach().numpy().T for k in ("cell", "row", "column", "all")}
        known = z * seen[..., None]
        rows = known.sum(1) / seen.sum(1)[:, None] @ w["row"]
        columns = known.sum(0) / seen.sum(0)[:, None] @ w["column"]
        whole = known.sum((0, 1)) / seen.sum() @ w["all"]
        z = z @ w["cell"] + layer.cell.bias.detach().numpy() + rows[:, None] + columns + whole
    e = (z * seen[..., None])[:, :4].sum(1) / seen[:, :4].sum(1)[:, None]
    np.testing.assert_allclose(answers(model, batch_of(holes))[0].numpy(), prototype_probs(e, task), rtol=1e-6)


def test_atthml_element_by_element(task: Episode) -> None:
    model = model_of(AttHMLConfig(standardize=False, layers=2))
    e = model.embedding
    x, y = torch.from_numpy(task.x.astype(np.float64)), torch.eye(3, dtype=torch.float64)[torch.from_numpy(task.y)]

    def attend(block: torch.nn.Module, tokens: list[torch.Tensor]) -> list[torch.Tensor]:
        return list(block(torch.stack(tokens)[None], torch.ones(1, len(tokens), dtype=torch.bool))[0])

    cells = [(n, s) for s in range(7) for n in range(7)]
    values = {(n, s): x[n, s] if s < 4 else y[n, s - 4] for n, s in cells}
    tokens = [e.element(torch.stack([values[n, s], torch.tensor(float(s >= 4)).double()])) for n, s in cells]
    tokens = attend(e.blocks[0], tokens)
    row = [torch.stack([t for t, (i, _) in zip(tokens, cells, strict=True) if i == n]).mean(0) for n in range(7)]
    column = [torch.stack([t for t, (_, j) in zip(tokens, cells, strict=True) if j == s]).mean(0) for s in range(7)]
    tokens = [
        t + e.place_of_row[0](row[n]) + e.place_of_column[0](column[s]) for t, (n, s) in zip(tokens, cells, strict=True)
    ]
    tokens = attend(e.blocks[1], tokens)
    v = [torch.stack([t for t, (_, j) in zip(tokens, cells, strict=True) if j == m]).mean(0) for m in range(4)]
    z = []
    for n in range(12):
        own = [e.own_element(torch.cat([x[n, m][None], v[m]])) for m in range(4)]
        z.append(e.out(e.norm(torch.stack(attend(e.own_block, own))).mean(0)).detach().numpy())
    expected = prototype_probs(np.stack(z), task)
    np.testing.assert_allclose(answers(model, batch_of(task))[0].numpy(), expected, rtol=1e-6)


def by_hand(model: Any, e: Episode, steps: int, rate: float) -> torch.Tensor:
    """MAML with plain autograd on a module copied weight by weight; mean scores of the unlabeled rows."""
    net = model.rows
    weights = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
    x = torch.from_numpy(e.x.astype(np.float64))
    n, y = e.n_labeled, torch.from_numpy(e.y[: e.n_labeled])

    def embed(rows: torch.Tensor) -> torch.Tensor:
        h = rows.unsqueeze(-1)
        for part in ("elements", "whole"):
            for i in (0, 2, 4):
                h = h @ weights[f"{part}.{i}.weight"].T + weights[f"{part}.{i}.bias"]
                h = h.relu() if i < 4 else h
            h = h.mean(1) if part == "elements" else h
        return h

    if e.kind == "classification":
        z = embed(x[:n]).detach()
        means = torch.stack([z[y == c].mean(0) for c in range(e.n_classes)])
        weights["w"], weights["b"] = 2 * means, -(means**2).sum(1)
    else:
        weights["w"], weights["b"] = model.head.weight.detach().clone(), model.head.bias.detach().clone()
    for k in ("w", "b"):
        weights[k].requires_grad_()
    for _ in range(steps):
        scores = embed(x[:n]) @ weights["w"].T + weights["b"]
        loss = F.cross_entropy(scores, y) if e.kind == "classification" else 0.5 * F.mse_loss(scores[:, 0], y.double())
        gradients = torch.autograd.grad(loss, list(weights.values()))
        weights = {
            k: (w - rate * g).detach().requires_grad_() for (k, w), g in zip(weights.items(), gradients, strict=True)
        }
    return (embed(x[n:]) @ weights["w"].T + weights["b"]).detach()


@pytest.mark.parametrize("steps", [0, 5])
def test_maml_adapts_as_a_loop_by_hand(task: Episode, numbers: Episode, steps: int) -> None:
    for e in (task, numbers):
        config = MAMLConfig(kind=e.kind, standardize=False, inner_steps=steps or 1, inner_rate=0.05 if steps else 0.0)
        model = model_of(config)
        scores = by_hand(model, e, steps, 0.05)
        got = answers(model, batch_of(e))[0]
        expected = scores.softmax(-1) if e.kind == "classification" else scores
        torch.testing.assert_close(got[:, : expected.shape[1]], expected, rtol=1e-8, atol=1e-10)


def test_maml_without_steps_is_proto(task: Episode) -> None:
    model = model_of(MAMLConfig(inner_rate=0.0))
    proto = model_of(ProtoConfig())
    proto.embedding.rows.load_state_dict(model.rows.state_dict())
    torch.testing.assert_close(answers(model, batch_of(task)), answers(proto, batch_of(task)), rtol=1e-8, atol=1e-9)


def test_maml_takes_second_derivatives_unless_told_not_to(task: Episode) -> None:
    batch = collate([task])
    batch.tasks = batch.tasks.double()

    def gradient(config: MAMLConfig) -> torch.Tensor:
        model = model_of(config)
        episode_loss(model(batch.tasks), batch, 0.0).backward()
        return model.rows.elements[0].weight.grad

    config = MAMLConfig(inner_rate=0.1)
    full, first = gradient(config), gradient(replace(config, first_order=True))
    assert (full - first).abs().max() > 1e-4
    model, step = model_of(config), 1e-5
    with torch.no_grad():
        losses = []
        for sign in (1, -1):
            model.rows.elements[0].weight[3, 0] += sign * step
            losses.append(episode_loss(model(batch.tasks), batch, 0.0).item())
            model.rows.elements[0].weight[3, 0] -= sign * step
    assert full[3, 0].item() == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4)


def test_maml_answers_alike_in_every_mode(task: Episode) -> None:
    model = model_of(MAMLConfig(inner_rate=0.1))
    usual = model(batch_of(task)).log_probs
    with torch.no_grad():
        assert not model(batch_of(task)).log_probs.requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(model(batch_of(task)).log_probs, usual.detach(), rtol=0, atol=0)


SEMI = {"lp", "semiproto", "metalp", "atthmllp", "semimetagp"}


@pytest.mark.parametrize("config", METHOD_CONFIGS.values(), ids=METHOD_CONFIGS.keys())
def test_only_semi_supervised_methods_learn_from_unlabeled_rows(config) -> None:
    e = episode(np.random.default_rng(5), config.kind, unlabeled=6, missing=0.0)
    other = e.x.copy()
    other[-1] += 2
    model = model_of(replace(config, standardize=False))
    change = answers(model, batch_of(replace(e, x=other)))[0, :-1] - answers(model, batch_of(e))[0, :-1]
    assert (change.abs().max() > 1e-9) == (config.method in SEMI)


@pytest.mark.parametrize("config", [HMLConfig(), AttHMLConfig()], ids=["hml", "atthml"])
def test_attributes_have_vectors_of_their_own(config) -> None:
    """Other than in a deep set, two attributes cannot change places in one row alone."""
    e = episode(np.random.default_rng(6), missing=0.0)
    swapped = e.x.copy()
    swapped[-1, [0, 1]] = e.x[-1, [1, 0]]
    for c, matters in ((replace(config, standardize=False), True), (ProtoConfig(standardize=False), False)):
        model = model_of(c)
        change = answers(model, batch_of(replace(e, x=swapped))) - answers(model, batch_of(e))
        assert (change.abs().max() > 1e-9) == matters
