"""The graph of nearest neighbours of a table's rows, and walks along it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from vsacli.structure.distances import squared_distances
from vsacli.structure.metric import Floats

NEIGHBOURS = 10
"""Neighbours of a row."""

WIDTH_NEIGHBOUR = 7
"""The neighbour whose distance is a row's width (Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004)."""

BLOCK = 1 << 21
"""Distances computed at once, about."""


@dataclass(frozen=True)
class Graph:
    r"""A weighted graph between n rows.

    Attributes
    ----------
    points : ndarray of float64, shape (n, M)
        Where the rows lie (:class:`vsacli.structure.metric.Metric`).
    widths : ndarray of float64, shape (n,)
        Each row's distance from its seventh neighbour.
    walk : sparse array, shape (n, n)
        :math:`S = D^{-1/2} W D^{-1/2}` of :math:`w_{ij} = \exp(-d_{ij}^2 / \sigma_i \sigma_j)` between neighbours.
    degrees : ndarray of float64, shape (n,)
        The diagonal of D.
    """

    points: Floats
    widths: Floats
    walk: sparse.csr_array
    degrees: Floats

    @classmethod
    def of(cls, points: Floats) -> Graph:
        """The graph of at least two points, (n, M)."""
        n = len(points)
        k = min(NEIGHBOURS, n - 1)
        near, distance = nearest(points, points, k, itself=False)
        widths = distance[:, min(WIDTH_NEIGHBOUR, k) - 1]
        positive = widths[widths > 0]
        least = 1e-3 * float(np.median(positive)) if len(positive) else 1.0
        widths = np.maximum(widths, least)
        walk, degrees = walk_between(near, np.exp(-(distance**2) / (widths[:, None] * widths[near])))
        return cls(points, widths, walk, degrees)

    def influence(self, sources: NDArray[np.int64], alpha: float) -> Floats:
        """What each source passes on to each row, (n, L) (:func:`influence`)."""
        return influence(self.walk, sources, alpha)

    def diffusion(self, k: int) -> tuple[Floats, Floats]:
        """Coordinates (n, k) along the slowest walks on the graph, and their eigenvalues (k,), largest first.

        Right eigenvectors of the random walk D^-1 W without the constant one (Coifman and Lafon, "Diffusion maps",
        2006), of mean 0 and unit mean square. Parts of the graph without a path between them come first, the largest
        ones, as indicators of eigenvalue 1. The third moment of each is positive, which settles its sign.
        """
        n = len(self.points)
        k = min(k, n - 2)
        if k < 1:
            return np.zeros((n, 0)), np.zeros(0)
        apart = self._components()  # (n, p); of all eigenvectors of eigenvalue 1 an iteration would find one
        shown = apart[:, : min(k, apart.shape[1] - 1)] > 0
        more = k - shown.shape[1]
        values, vectors = self._slowest(more, apart) if more else (np.zeros(0), np.zeros((n, 0)))
        coordinates = np.concatenate([shown, vectors / np.sqrt(self.degrees)[:, None]], 1)
        coordinates -= coordinates.mean(0)
        coordinates /= np.maximum(np.sqrt((coordinates**2).mean(0)), 1e-12)
        sign = np.where((coordinates**3).sum(0) < 0, -1.0, 1.0)
        return coordinates * sign, np.concatenate([np.ones(shown.shape[1]), values])

    def _components(self) -> Floats:
        """Unit eigenvectors of eigenvalue 1, (n, p): one for each part of the graph, the largest first."""
        count, part = connected_components(self.walk, directed=False)
        size = np.bincount(part, self.degrees, count)
        first = np.full(count, len(part))
        np.minimum.at(first, part, np.arange(len(part)))
        order = np.lexsort((first, -size))
        return (part[:, None] == order) * np.sqrt(self.degrees[:, None] / size[order])

    def _slowest(self, k: int, apart: Floats) -> tuple[Floats, Floats]:
        """The k largest eigenvalues (k,) beside those of ``apart`` (n, p), and their unit eigenvectors (n, k)."""
        n = len(self.points)
        if n > 4 * (k + 1):

            def without(v: Floats) -> Floats:
                return self.walk @ v - apart @ (apart.T @ v)

            operator = LinearOperator((n, n), matvec=without, dtype=np.float64)
            start = np.random.default_rng(0).normal(size=n)  # fixed, and of no special direction
            with suppress(ArpackNoConvergence, ArpackError):
                values, vectors = eigsh(operator, k, which="LA", v0=start, tol=1e-6)
                order = np.argsort(-values, kind="stable")
                return values[order], vectors[:, order]
        values, vectors = np.linalg.eigh(self.walk.toarray() - apart @ apart.T)
        return values[::-1][:k], vectors[:, ::-1][:, :k]

    def neighbours(self, points: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Rows of the graph near other points (u, M), (u, k), and their shares (u, k), which sum to 1."""
        k = min(NEIGHBOURS, len(self.points))
        near, distance = nearest(points, self.points, k, itself=True)
        width = np.maximum(distance[:, min(WIDTH_NEIGHBOUR, k) - 1], 1e-3 * float(np.median(self.widths)))
        exponent = -(distance**2) / (width[:, None] * self.widths[near])
        weights = np.exp(exponent - exponent.max(1, keepdims=True))
        return near, weights / weights.sum(1, keepdims=True)


def walk_between(near: NDArray[np.int64], weights: Floats) -> tuple[sparse.csr_array, Floats]:
    r"""The walk :math:`S = D^{-1/2} W D^{-1/2}` (n, n) along edges to each row's neighbours, and the diagonal of D.

    Parameters
    ----------
    near : ndarray of int, shape (n, k)
        Neighbours of each row. An edge has the larger one of its two weights.
    weights : ndarray, shape (n, k)
    """
    n, k = near.shape
    w = sparse.csr_array((weights.ravel(), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n))
    w = w.maximum(w.T)
    degrees = np.maximum(np.asarray(w.sum(1)).ravel(), 1e-12)
    root = sparse.diags_array(1 / np.sqrt(degrees))
    return sparse.csr_array(root @ w @ root), degrees


def influence(walk: sparse.csr_array, sources: NDArray[np.int64], alpha: float) -> Floats:
    r"""What each source passes on to each row, (n, L): columns of :math:`(I - \alpha S)^{-1}`.

    A walk that starts at a source continues at each step with probability alpha (Zhou et al., "Learning with
    local and global consistency", 2003). The matrix is positive definite, and solved as a dense one: in more than
    a few dimensions neighbours are so mixed that a sparse factorization fills up, and takes longer.
    """
    start = np.zeros((walk.shape[0], len(sources)))
    start[sources, np.arange(len(sources))] = 1.0
    return spread(walk, start, alpha)


def spread(walk: sparse.csr_array, start: Floats, alpha: float) -> Floats:
    r"""What walks bring to each row, :math:`(I - \alpha S)^{-1}` times `start` (n, k), which is overwritten."""
    system = -alpha * walk.toarray()
    system[np.diag_indices_from(system)] += 1.0
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    return np.maximum(cho_solve(factor, start, overwrite_b=True, check_finite=False), 0.0)


def nearest(points: Floats, among: Floats, k: int, *, itself: bool) -> tuple[NDArray[np.int64], Floats]:
    """The k nearest of some points, nearest first: positions (u, k) and distances (u, k).

    Parameters
    ----------
    points : ndarray, shape (u, M)
    among : ndarray, shape (n, M)
    k : int
    itself : bool
        False: ``points`` are ``among``, and no row is its own neighbour.

    Notes
    -----
    All distances are computed, a block of rows at a time: for the few thousand rows that a graph has, a matrix product
    is faster than a tree, and it is exact.
    """
    u, n = len(points), len(among)
    near = np.empty((u, k), np.int64)
    distance = np.empty((u, k))
    step = max(1, BLOCK // n)
    for start in range(0, u, step):
        d = squared_distances(points[start : start + step], among)
        own = np.arange(len(d))
        if not itself:
            d[own, start + own] = np.inf
        found = np.argpartition(d, k - 1, axis=1)[:, :k]
        values = d[own[:, None], found]
        order = np.lexsort((found, values), axis=1)
        near[start : start + step] = found[own[:, None], order]
        distance[start : start + step] = np.sqrt(values[own[:, None], order])
    return near, distance
