"""Gaussian processes with an RBF kernel, hyperparameters by the marginal likelihood of the labeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod, seed_from


class GaussianProcess(SimpleMethod):
    """RBF kernel; noise for numbers, the Laplace approximation (one class against the rest) for classes.

    The length scale starts at the square root of the number of attributes, the order of the distance
    between standardized rows, and may move by a factor of ten either way. A handful of class labels says too
    little about it: below `least` labels per class the kernel stays as it starts, which was better on
    meta-training tables.
    """

    def __init__(self, restarts: int = 0, least: int = 20):
        self.restarts = restarts
        self.least = least

    def _kernel(self, n_attributes: int, variance: float):
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        scale = float(np.sqrt(n_attributes))
        return ConstantKernel(variance, (1e-2, 1e2)) * RBF(scale, (0.1 * scale, 10.0 * scale))

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from sklearn.gaussian_process import GaussianProcessClassifier

        enough = np.bincount(rows.y).min() >= self.least
        optimizer: Any = "fmin_l_bfgs_b" if enough else None
        model = GaussianProcessClassifier(
            self._kernel(rows.labeled.shape[1], variance=10.0),
            optimizer=optimizer,
            random_state=seed_from(rng),
        )
        return model.fit(rows.labeled, rows.y).predict_proba(rows.unlabeled)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import WhiteKernel

        model = GaussianProcessRegressor(
            self._kernel(rows.labeled.shape[1], variance=1.0) + WhiteKernel(0.1, (1e-3, 1e1)),
            normalize_y=True,
            n_restarts_optimizer=self.restarts,
            random_state=seed_from(rng),
        )
        mean, std = model.fit(rows.labeled, rows.y).predict(rows.unlabeled, return_std=True)
        return np.asarray(mean, np.float64), np.asarray(std, np.float64)
