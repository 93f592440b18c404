"""Methods of distance: nearest class centroid and k nearest labeled rows."""

from __future__ import annotations

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod
from vsacli.structure.class_space import softmax
from vsacli.structure.distances import squared_distances


class NearestCentroid(SimpleMethod):
    """Mean of each class's labeled rows; probabilities are a softmax of the negative Euclidean distances."""

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        centroids = np.stack([rows.labeled[rows.y == c].mean(axis=0) for c in range(rows.n_seen)])
        return softmax(-np.sqrt(squared_distances(rows.unlabeled, centroids)))


class NearestNeighbors(SimpleMethod):
    """The `k` nearest labeled rows, each weighted by the inverse of its distance.

    With one label per class this is the nearest neighbor's class; with more, up to `k` rows vote.
    """

    def __init__(self, k: int = 5):
        self.k = k

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(min(self.k, len(rows.y)), weights="distance").fit(rows.labeled, rows.y)
        return model.predict_proba(rows.unlabeled)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        from sklearn.neighbors import KNeighborsRegressor

        model = KNeighborsRegressor(min(self.k, len(rows.y)), weights="distance").fit(rows.labeled, rows.y)
        # Each labeled row answered by its nearest neighbors among the others.
        left_out = KNeighborsRegressor(min(self.k, len(rows.y) - 1), weights="distance").fit(rows.labeled, rows.y)
        distance, index = left_out.kneighbors()
        weight = 1.0 / np.maximum(distance, 1e-9)
        answer = (weight * rows.y[index]).sum(axis=1) / weight.sum(axis=1)
        std = np.sqrt(np.mean((answer - rows.y) ** 2))
        return model.predict(rows.unlabeled), np.full(len(rows.unlabeled), std)
