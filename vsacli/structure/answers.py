"""Label propagation along the graph: answers for every row; for labeled rows, as if their own label were unknown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vsacli.structure.class_space import LEAST, ClassSpace, softmax
from vsacli.structure.graph import Graph
from vsacli.structure.metric import Floats

STRENGTHS = (0.99, 0.9, 0.6)
"""How far labels spread: the chance that a walk continues."""

WITHOUT_MASS = 1
"""The strength, by number, at which classes are also answered by the plain sum over their labels."""

SHARES = 1
"""The answer of :func:`class_answers`, by number, that is taken where one is asked for: of the middle strength."""

CLASS_ANSWERS = len(STRENGTHS) + 1
"""Answers that may be followed: logarithms of class shares."""

CLASS_CHANNELS = CLASS_ANSWERS + 2
"""Those, the class's share of all rows, and how far a row is from any label."""

SPACE_STRENGTHS = (0.9, 0.6)
"""How far labels spread along the graph in the space of the classes."""

SPACE_ANSWERS = len(SPACE_STRENGTHS) + 2
"""Answers in that space, which may be followed: by these strengths, by the plain sum at the first, by class means."""

NUMBER_ANSWERS = len(STRENGTHS)
"""Answers that may be followed: means of the labels, weighted by their influence."""

NUMBER_CHANNELS = NUMBER_ANSWERS + 1
"""Those, and how far a row is from any label."""

LOG_LIMIT = 5.0


def class_answers(graph: Graph, labeled: NDArray[np.int64], y: NDArray[np.int64], n_classes: int) -> Floats:
    r"""Answers by classes, (n, C, CLASS_CHANNELS); NaN for a labeled row that no other label of its class supports.

    With the influence G of each labeled row (:meth:`Graph.influence`), a class scores :math:`\sum_{j: y_j = c} G_{ij}`,
    divided by its sum over all rows (class mass normalization, Zhu, Ghahramani and Lafferty 2003), so that classes
    with more labels or better connected ones win no more rows than others. Answers are :math:`\log(p_{ic} C)`, softly
    limited.

    Parameters
    ----------
    graph : Graph
    labeled : ndarray of int, shape (L,)
        Rows with a label.
    y : ndarray of int, shape (L,)
        Their classes.
    n_classes : int
        C.
    """
    channels: list[Floats] = []
    reach = shares = np.zeros(0)
    for number, alpha in enumerate(STRENGTHS):
        scores, normalised, far = _class_scores(graph, labeled, y, n_classes, alpha)
        channels.append(_log_shares(normalised))
        if number == WITHOUT_MASS:
            channels.append(_log_shares(scores))
        if number == 0:
            reach = far
            p = normalised / normalised.sum(1, keepdims=True)
            shares = np.log(np.maximum(np.delete(p, labeled, 0).mean(0) if len(labeled) < len(p) else p.mean(0), LEAST))
    channels.append(np.repeat(_limited(shares + np.log(n_classes))[None], len(reach), 0))
    channels.append(np.repeat(_standard(reach)[:, None], n_classes, 1))
    return _without_lonely(np.stack(channels, -1), labeled, y)


def space_answers(
    graph: Graph, space: ClassSpace, placed: Floats, labeled: NDArray[np.int64], y: NDArray[np.int64]
) -> Floats:
    """Answers in the space of the classes, (n, C, SPACE_ANSWERS); NaN as in :func:`class_answers`.

    The space itself knows all labels; means and graph do without a row's own.

    Parameters
    ----------
    graph : Graph
        Of the rows in that space.
    space : ClassSpace
    placed : ndarray, shape (n, K)
        Where they are in it.
    labeled, y : ndarray of int, shape (L,)
        Rows with a label, and their classes.
    """
    n_classes = len(space.means)
    channels: list[Floats] = []
    for number, alpha in enumerate(SPACE_STRENGTHS):
        scores, normalised, _ = _class_scores(graph, labeled, y, n_classes, alpha)
        channels.append(_log_shares(normalised))
        if number == 0:
            channels.append(_log_shares(scores))
    logits = space.logits(placed)
    without = space.own_logits_without(placed[labeled], y)
    logits[labeled, y] = np.where(np.isnan(without), logits[labeled, y], without)
    channels.append(_log_shares(np.maximum(softmax(logits), LEAST)))
    return _without_lonely(np.stack(channels, -1), labeled, y)


def number_answers(graph: Graph, labeled: NDArray[np.int64], y: Floats) -> Floats:
    r"""Answers by numbers, (n, 1, NUMBER_CHANNELS): :math:`\sum_j G_{ij} y_j / \sum_j G_{ij}`, in the units of ``y``.

    Of a single labeled row, NaN.
    """
    channels: list[Floats] = []
    reach = np.zeros(0)
    for number, alpha in enumerate(STRENGTHS):
        influence = graph.influence(labeled, alpha)
        reach = np.log(np.maximum(influence.sum(1), LEAST)) if number == 0 else reach
        influence[labeled, np.arange(len(labeled))] = 0.0
        weights = np.maximum(influence, LEAST)
        weights[labeled, np.arange(len(labeled))] = 0.0
        total = weights.sum(1)
        channels.append(np.where(total > 0, weights @ y / np.where(total > 0, total, 1.0), np.nan))
    channels.append(_standard(reach))
    return np.stack(channels, -1)[:, None]


def _class_scores(
    graph: Graph, labeled: NDArray[np.int64], y: NDArray[np.int64], n_classes: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Scores of the classes (n, C), the same by class mass, and the logarithm of what reaches each row of all labels.

    Labeled rows and the mass of their class do without their own label, but for what reaches them.
    """
    one_hot = np.eye(n_classes)[y]  # (L, C)
    influence = graph.influence(labeled, alpha)  # (n, L)
    scores, own = influence @ one_hot, influence[labeled, np.arange(len(labeled))]
    mass = np.repeat(scores.sum(0)[None], len(scores), 0)  # (n, C)
    reach = np.log(np.maximum(scores.sum(1), LEAST))
    scores[labeled] -= own[:, None] * one_hot
    mass[labeled] -= influence.sum(0)[:, None] * one_hot  # what each labeled row adds to its class's mass
    scores = np.maximum(scores, LEAST)
    return scores, scores / np.maximum(mass, LEAST * len(scores)), reach


def _without_lonely(answers: Floats, labeled: NDArray[np.int64], y: NDArray[np.int64]) -> Floats:
    """Answers (n, C, A), NaN in labeled rows that are the only ones of their class."""
    alone = np.bincount(y, minlength=answers.shape[1])[y] < 2
    answers[labeled[alone]] = np.nan
    return answers


def _log_shares(scores: Floats) -> Floats:
    """log(p C) of scores (n, C), softly limited."""
    return _limited(np.log(scores / scores.sum(1, keepdims=True) * scores.shape[1]))


def _limited(values: Floats) -> Floats:
    return values / np.sqrt(1 + (values / LOG_LIMIT) ** 2)


def _standard(values: Floats) -> Floats:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)
