"""Each simple method against a computation that shares no code with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vsacli.baselines.gaussian_process import GaussianProcess
from vsacli.baselines.kernel_ridge import KernelRidge
from vsacli.baselines.label_spreading import LabelSpreading, spread
from vsacli.baselines.linear import Ridge
from vsacli.baselines.neighbors import NearestCentroid, NearestNeighbors
from vsacli.baselines.prior import Prior
from vsacli.baselines.trees import LightGBM, RandomForest
from vsacli.nn.kernel_ridge import ALL, kernel_ridge_answers
from vsacli.structure.distances import squared_distances
from vsacli.tasks.collate import collate
from vsacli.tasks.episode import Episode

RNG = np.random.default_rng(0)


def scaled(episode: Episode) -> tuple[np.ndarray, np.ndarray]:
    x = episode.x.astype(np.float64)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return x[: episode.n_labeled], x[episode.n_labeled :]


def test_prior_is_the_frequencies(blobs) -> None:
    episode = replace(blobs(shots=2, n_classes=2), y=np.array([0, 1, 1, 1] + [0] * 20))
    probs = Prior().fit_predict(episode, RNG).probabilities
    np.testing.assert_allclose(probs, np.tile([0.25, 0.75], (20, 1)), atol=1e-5)


def test_prior_breaks_ties_both_ways(blobs) -> None:
    episode = blobs(shots=1, n_classes=2)
    answers = [Prior().fit_predict(episode, np.random.default_rng(s)).probabilities[0].argmax() for s in range(20)]
    assert set(answers) == {0, 1}


def test_centroid_agrees_with_scikit_learn(blobs) -> None:
    from sklearn.neighbors import NearestCentroid as Reference

    episode = blobs(shots=5, n_classes=4, n_unlabeled=50)
    labeled, unlabeled = scaled(episode)
    reference = Reference().fit(labeled, episode.y[: episode.n_labeled])
    probs = NearestCentroid().fit_predict(episode, RNG).probabilities
    np.testing.assert_array_equal(probs.argmax(axis=1), reference.predict(unlabeled))
    # the ratio of two probabilities is the exponential of the difference of distances
    distance = np.linalg.norm(unlabeled[:, None] - reference.centroids_[None], axis=-1)
    np.testing.assert_allclose(np.log(probs[:, 0] / probs[:, 1]), distance[:, 1] - distance[:, 0], atol=1e-4)


def test_neighbors_by_hand(blobs) -> None:
    episode = blobs(shots=3, n_classes=3)
    labeled, unlabeled = scaled(episode)
    probs = NearestNeighbors(k=4).fit_predict(episode, RNG).probabilities
    for row, answer in zip(unlabeled, probs, strict=True):
        distance = np.sqrt(((labeled - row) ** 2).sum(axis=1))
        votes = np.zeros(3)
        for i in np.argsort(distance)[:4]:
            votes[episode.y[i]] += 1.0 / distance[i]
        np.testing.assert_allclose(answer, votes / votes.sum(), atol=1e-5)


def test_ridge_is_the_best_closed_form(line) -> None:
    episode = line(n_labeled=10)
    episode = replace(episode, x=np.clip(episode.x, -2.8, 2.8))
    before_the_clip = episode.x / np.sqrt(1 - (episode.x / 4) ** 2)
    labeled, unlabeled = scaled(replace(episode, x=before_the_clip))
    y = episode.y[:10].astype(np.float64)

    def fit(x: np.ndarray, y: np.ndarray, at: np.ndarray, alpha: float) -> np.ndarray:
        center = x.mean(axis=0)
        weights = np.linalg.solve((x - center).T @ (x - center) + alpha * np.eye(x.shape[1]), (x - center).T @ y)
        return (at - center) @ weights + y.mean()

    errors = {}
    for alpha in Ridge.strengths:
        left_out = [fit(np.delete(labeled, i, 0), np.delete(y, i), labeled[i], alpha) for i in range(10)]
        errors[alpha] = np.mean((np.array(left_out) - y) ** 2)
    best = min(errors, key=errors.__getitem__)
    prediction = Ridge().fit_predict(episode, RNG)
    np.testing.assert_allclose(prediction.mean, fit(labeled, y, unlabeled, best), atol=1e-4)
    np.testing.assert_allclose(prediction.std, np.sqrt(errors[best]), rtol=1e-3)


def test_spreading_agrees_with_scikit_learn(blobs) -> None:
    from sklearn.semi_supervised import LabelSpreading as Reference

    episode = blobs(shots=2, n_unlabeled=30)
    labeled, unlabeled = scaled(episode)
    every = np.concatenate([labeled, unlabeled])
    distances = squared_distances(every, every)
    median = np.median([((a - b) ** 2).sum() for i, a in enumerate(every) for j, b in enumerate(every) if i != j])
    probs = LabelSpreading(bandwidths=(2.0,), alphas=(0.8,)).fit_predict(episode, RNG).probabilities
    reference = Reference(kernel="rbf", gamma=2.0 / median, alpha=0.8, max_iter=5000, tol=1e-10)
    reference.fit(every, np.concatenate([episode.y[:6], np.full(30, -1)]))
    np.testing.assert_allclose(probs, reference.label_distributions_[6:], atol=1e-5)
    assert distances.shape == (36, 36)


def test_leaving_a_label_out_only_drops_its_column(blobs) -> None:
    """The claim on which the choice of bandwidth rests."""
    episode = blobs(shots=3, n_unlabeled=10)
    labeled, unlabeled = scaled(episode)
    labels = np.eye(3)[episode.y[:9]]
    every = np.concatenate([labeled, unlabeled])
    influence = spread(squared_distances(every, every), 0.3, 0.9, 9)
    # row 4 becomes unlabeled: it moves behind the labeled ones
    order = np.r_[[0, 1, 2, 3, 5, 6, 7, 8, 4], 9 : len(every)]
    moved = every[order]
    again = spread(squared_distances(moved, moved), 0.3, 0.9, 8)
    without = labels.copy()
    without[4] = 0.0
    np.testing.assert_allclose(influence[4] @ without, again[8] @ np.delete(labels, 4, axis=0), atol=1e-12)


def test_spreading_chooses_the_bandwidth_that_answers_left_out_rows(blobs) -> None:
    """Tight clusters: a bandwidth of the whole table tells classes apart worse than a narrow one."""
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    x = np.array([[0.0], [1.0], [0.1]])[y] + 0.01 * rng.standard_normal((60, 1))
    episode = Episode(x.astype(np.float32), 30, y, "classification", 3, np.ones(30, bool))
    wide = LabelSpreading(bandwidths=(0.1,)).fit_predict(episode, RNG).probabilities
    narrow = LabelSpreading(bandwidths=(500.0,)).fit_predict(episode, RNG).probabilities
    chosen = LabelSpreading(bandwidths=(0.1, 500.0)).fit_predict(episode, RNG).probabilities
    assert np.log(narrow[np.arange(30), episode.answer]).sum() > np.log(wide[np.arange(30), episode.answer]).sum()
    np.testing.assert_array_equal(chosen, narrow)
    few = LabelSpreading(bandwidths=(0.1, 500.0), least=11).fit_predict(episode, RNG).probabilities
    np.testing.assert_array_equal(few, wide)


def test_spreading_follows_the_shape_of_the_data() -> None:
    """Two rings, one label each: distance to the label says nothing, the chain of neighbors says all."""
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x = np.concatenate([ring[:1], 3 * ring[:1], ring[1:], 3 * ring[1:]]).astype(np.float32)
    y = np.array([0, 1] + [0] * 39 + [1] * 39)
    episode = Episode(x, 2, y, "classification", 2, np.ones(78, bool))
    probs = LabelSpreading(bandwidths=(300.0,), alphas=(0.99,)).fit_predict(episode, RNG).probabilities
    assert (probs.argmax(axis=1) == episode.answer).all()


def test_gp_with_its_own_kernel_is_the_textbook_posterior(line) -> None:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    episode = line(n_labeled=15)
    labeled, unlabeled = scaled(episode)
    y = episode.y[:15].astype(np.float64)

    class Fixed(GaussianProcess):
        """The same method with a kernel that cannot move."""

        def _kernel(self, n_attributes: int, variance: float):
            return ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed")

    prediction = Fixed(restarts=0).fit_predict(episode, RNG)
    best, best_likelihood = None, -np.inf
    for noise in np.logspace(-3, 1, 400):
        k = 2.0 * np.exp(-squared_distances(labeled, labeled) / (2 * 1.5**2)) + noise * np.eye(15)
        target = (y - y.mean()) / y.std()
        likelihood = -0.5 * target @ np.linalg.solve(k, target) - 0.5 * np.linalg.slogdet(k)[1]
        if likelihood > best_likelihood:
            best, best_likelihood = (k, noise, target), likelihood
    assert best is not None
    k, noise, target = best
    cross = 2.0 * np.exp(-squared_distances(unlabeled, labeled) / (2 * 1.5**2))
    mean = cross @ np.linalg.solve(k, target) * y.std() + y.mean()
    variance = 2.0 + noise - np.einsum("ul,ul->u", cross, np.linalg.solve(k, cross.T).T)
    np.testing.assert_allclose(prediction.mean, mean, atol=0.02)
    np.testing.assert_allclose(prediction.std, np.sqrt(variance) * y.std(), rtol=0.03)


def test_trees_split_a_threshold_that_linear_models_miss() -> None:
    """The middle band of one attribute is class 1; the other attribute is noise."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, (80, 2)).astype(np.float32)
    y = (np.abs(x[:, 0]) < 1.5).astype(np.int64)
    episode = Episode(x, 30, y, "classification", 2, np.ones(50, bool))
    for method in (RandomForest(), LightGBM()):
        assert np.mean(method.fit_predict(episode, RNG).probabilities.argmax(axis=1) == episode.answer) > 0.85


@pytest.mark.parametrize("shots", [1, 2])
def test_lightgbm_can_split_a_handful_of_rows(shots: int) -> None:
    """Its defaults would answer the prior here."""
    x = np.concatenate([np.tile([[-1.0], [1.0]], (shots, 1)), np.linspace(-2, 2, 20)[:, None]]).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    episode = Episode(x, 2 * shots, y, "classification", 2, np.ones(20, bool))
    probs = LightGBM().fit_predict(episode, RNG).probabilities
    assert (probs.argmax(axis=1) == episode.answer).all()


def test_kernel_ridge_answers_with_the_average_of_all_kernels(line) -> None:
    """The answers themselves are checked in tests/nn/test_kernel_ridge.py."""
    episode = line(n_labeled=8)
    answers = kernel_ridge_answers(collate([episode]).tasks, more=True)[0, :, 0, ALL].double().numpy()
    y = episode.y[:8].astype(np.float64)
    prediction = KernelRidge().fit_predict(episode, RNG)
    np.testing.assert_allclose(prediction.mean, y.mean() + answers[8:], rtol=1e-3, atol=1e-3)
    left_out = answers[:8] - (y - y.mean())
    np.testing.assert_allclose(prediction.std, np.sqrt(np.mean(left_out**2)), rtol=1e-2)


def test_kernel_ridge_tells_classes_apart(blobs) -> None:
    episode = blobs(shots=5, n_classes=3, n_unlabeled=60)
    probs = KernelRidge().fit_predict(episode, RNG).probabilities
    nearest = NearestCentroid().fit_predict(episode, RNG).probabilities
    assert (probs.argmax(axis=1) == nearest.argmax(axis=1)).mean() > 0.9
    np.testing.assert_allclose(probs.sum(axis=1), 1)
