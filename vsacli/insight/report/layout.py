"""Embeddings in the plane."""

from __future__ import annotations

import warnings

import numpy as np


def in_plane(points: np.ndarray, seed: int) -> np.ndarray:
    """t-SNE of points (n, E) after PCA to 30 dimensions, scaled to [0, 1] in both directions, float64 (n, 2).

    Neighbours stay neighbours; distances between groups and the sizes of groups say nothing. The same points and
    seed give the same picture.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    from vsacli.support.threads import one_thread

    points = np.asarray(points, np.float64)
    n, e = points.shape
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points that all coincide
        if n > 1 and min(n, e) > 2:
            points = PCA(min(30, n, e), random_state=seed).fit_transform(points)
        if n >= 8 and np.ptp(points, axis=0).max() > 0:
            tsne = TSNE(perplexity=min(30.0, (n - 1) / 3), init="pca", random_state=seed, n_jobs=1, max_iter=500)
            points = tsne.fit_transform(points)
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))[:, :2]
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    return (points - low) / np.where(spread > 0, spread, 1) + np.where(spread > 0, 0, 0.5)
