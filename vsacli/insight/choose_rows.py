r"""Which rows to label next: rows that stand for many uncertain ones, and differ from one another.

A batch :math:`S` is chosen greedily so that the rows, labeled ones :math:`L` included, cover what is uncertain:

.. math:: f(S) = \sum_i w_i \max_{j \in S \cup L} k(z_i, z_j), \qquad k(z, z') = \exp(-\lVert z - z' \rVert^2 / s)

with the embeddings :math:`z`, the network's own uncertainty :math:`w`, and the median squared distance :math:`s`.
That is facility location, a submodular function, of which the greedy batch has at least 63% of the best value; Wei,
Iyer & Bilmes ("Submodularity in data subset selection and active learning", ICML 2015) choose batches with it among the
least certain rows; here uncertainty is the weight. Neither alone does: the least certain rows are often neighbours on a
border that no label settles, and the most diverse ones are outliers. `benchmarks/suggest.py` compares them.
"""

from __future__ import annotations

import numpy as np

from vsacli.structure.distances import squared_distances


def choose_rows(
    unlabeled: np.ndarray,
    labeled: np.ndarray,
    uncertainty: np.ndarray,
    n: int,
    *,
    among: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Choose the rows whose labels would help most with all rows.

    Parameters
    ----------
    unlabeled : ndarray, shape (U, E)
        Embeddings of the rows without a label.
    labeled : ndarray, shape (L, E)
        Embeddings of the rows that have a label.
    uncertainty : ndarray, shape (U,)
        Weight of each row, at least 0: one minus its confidence, or its standard deviation.
    n : int
        How many; all that may be chosen if there are fewer.
    among : ndarray of bool, shape (U,), optional
        Rows that may be chosen; by default all.
    scale : float, optional
        The squared distance s; by default the median one.

    Returns
    -------
    ndarray of int64
        Positions in ``unlabeled``, in the order in which they were chosen.
    """
    between, to_labeled = squared_distances(unlabeled, unlabeled), squared_distances(unlabeled, labeled)
    if scale is None:
        apart = between[between > 0]
        scale = float(np.median(apart)) if len(apart) else 1.0
    kernel = np.exp(-between / scale)
    covered = np.exp(-to_labeled / scale).max(axis=1, initial=0.0)
    weight = np.asarray(uncertainty, np.float64)
    if not weight.any():  # all are certain: coverage alone decides
        weight = np.ones(len(unlabeled))
    open_to_choice = np.ones(len(unlabeled), bool) if among is None else among
    chosen: list[int] = []
    for _ in range(min(n, int(open_to_choice.sum()))):
        gain = weight @ np.maximum(kernel - covered[:, None], 0)
        gain[~open_to_choice] = -1
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        covered = np.maximum(covered, kernel[:, chosen[-1]])
    return np.array(chosen, np.int64)
