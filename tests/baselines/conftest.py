"""Small episodes for the tests of the compared methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vsacli.tasks.episode import Episode


def blobs(shots: int = 3, n_classes: int = 3, n_unlabeled: int = 20, n_attributes: int = 4, seed: int = 0) -> Episode:
    """Gaussian classes three deviations apart, the same number of labels each."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.tile(np.arange(n_classes), shots), rng.integers(n_classes, size=n_unlabeled)])
    centers = 3.0 * rng.standard_normal((n_classes, n_attributes))
    x = centers[y] + rng.standard_normal((len(y), n_attributes))
    return Episode(
        x=x.astype(np.float32),
        n_labeled=shots * n_classes,
        y=y.astype(np.int64),
        kind="classification",
        n_classes=n_classes,
        scored=np.ones(n_unlabeled, bool),
        name="blobs",
    )


def line(n_labeled: int = 12, n_unlabeled: int = 20, n_attributes: int = 3, seed: int = 0) -> Episode:
    """A linear target with a little noise."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_labeled + n_unlabeled, n_attributes))
    y = x @ rng.standard_normal(n_attributes) + 0.1 * rng.standard_normal(len(x))
    y = (y - y[:n_labeled].mean()) / (y[:n_labeled].std() or 1.0)
    return Episode(
        x=x.astype(np.float32),
        n_labeled=n_labeled,
        y=y.astype(np.float32),
        kind="regression",
        n_classes=1,
        scored=np.ones(n_unlabeled, bool),
        name="line",
    )


@pytest.fixture(name="blobs")
def _blobs() -> Callable[..., Episode]:
    return blobs


@pytest.fixture(name="line")
def _line() -> Callable[..., Episode]:
    return line
