"""How well each attribute tells the classes apart, judged by the labels and by the graph of all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vsacli.structure.metric import Floats
from vsacli.structure.ranks import mid_ranks

_AT_ONCE = 256  # attributes: ranks of a block are float64


def telling(x: np.ndarray, shares: Floats, labeled: NDArray[np.int64], y: NDArray[np.int64]) -> Floats:
    r"""The share of each attribute's variation that lies between classes, twice: of labeled rows, and of all rows.

    For ranks :math:`r_{ij}` and weights :math:`w_{ic}` of row i in class c, where the attribute is observed,

    .. math:: \eta_j^2 = \sum_c w_c (\bar r_{cj} - \bar r_j)^2 / \sum_{ic} w_{ic} (r_{ij} - \bar r_j)^2

    (the correlation ratio). Of labeled rows the weights are their labels, of all rows the shares that the graph gives
    unlabeled ones. The result is the sum of both.

    Parameters
    ----------
    x : ndarray of float32, shape (n, M)
        NaN where not observed.
    shares : ndarray, shape (n, C)
        Class shares of rows, summing to 1; those of labeled rows are not used.
    labeled : ndarray of int, shape (L,)
    y : ndarray of int, shape (L,)

    Returns
    -------
    ndarray, shape (M,)
        From 0 to 2.
    """
    known = np.eye(shares.shape[1])[y]  # (L, C)
    weights = shares.copy()
    weights[labeled] = known
    out = np.empty(x.shape[1])
    for start in range(0, x.shape[1], _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        ranks, seen = _ranks(x[:, block])
        out[block] = _between(ranks, seen, weights) + _between(ranks[labeled], seen[labeled], known)
    return out


def _ranks(x: np.ndarray) -> tuple[Floats, Floats]:
    """Mid-ranks (n, m) in (-1, 1) among observed values, 0 where not observed; and where observed, as 0 and 1."""
    seen = np.isfinite(x)
    ranks = np.zeros(x.shape)
    for j in range(x.shape[1]):
        values = x[seen[:, j], j]
        if len(values):
            ranks[seen[:, j], j] = mid_ranks(values, np.sort(values))
    return ranks, seen.astype(np.float64)


def _between(ranks: Floats, seen: Floats, weights: Floats) -> Floats:
    """The correlation ratio of each attribute (m,); 0 of one that does not vary."""
    count, total = weights.T @ seen, weights.T @ ranks  # (C, m)
    square = weights.sum(1) @ ranks**2
    all_count, all_total = np.maximum(count.sum(0), 1e-12), total.sum(0)
    centre = all_total**2 / all_count
    between = (total**2 / np.maximum(count, 1e-12)).sum(0) - centre
    variation = square - centre
    return np.where(variation > 1e-9 * all_count, between / np.maximum(variation, 1e-12), 0.0)
