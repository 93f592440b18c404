r"""What the words of a text say of its number, beside what the network says.

As for classes (:mod:`vsacli.inference.words`), the network's density of a number is multiplied by what words say by
themselves, here half of it, since the components of a text that the network reads say some of it already:

.. math:: p(y \mid x, t) \propto p_{\mathrm{network}}(y \mid x) \; \sqrt{p_{\mathrm{words}}(y \mid t) / p(y)}

Words speak through a Gaussian process with a linear kernel on their weights (Rasmussen & Williams, 2006, chapter 2).
How much of the variance they explain is averaged out by the evidence of the labels: where they explain none, the
process answers the prior p(y), which changes nothing (docs/research.md, Words).
"""

from __future__ import annotations

import numpy as np

from vsacli.attributes.words import Words, have_words

MOST_LABELED = 1_000
"""Labeled rows that are learned from; of 1,000 it takes a second."""

LEAST_LABELED = 25
"""With fewer labeled texts, words were as often wrong as right."""

SHARES = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Of the variance, that words may explain; all are as likely before labels are seen."""

POWER = 0.5
"""Of what words say."""


class WordNumbers:
    """A Gaussian process on the words of labeled rows.

    Parameters
    ----------
    words : Words, shape (n, V)
        Of all rows, by tf-idf.
    labeled : ndarray of int, shape (L,)
        The labeled rows, in an order that does not depend on where they stand.
    y : ndarray of float32, shape (L,)
        Their targets.
    """

    def __init__(self, words: Words, labeled: np.ndarray, y: np.ndarray) -> None:
        told = have_words(words[labeled[:MOST_LABELED]])
        y = y[:MOST_LABELED][told].astype(np.float64)
        self._words, self._learned = words, _of_length_1(words[labeled[:MOST_LABELED][told]])
        self._centre, self._spread = float(y.mean()), float(y.std())
        values, self._vectors = np.linalg.eigh(self._kernel(self._learned))  # (L,), (L, L)
        projected = self._vectors.T @ ((y - self._centre) / self._spread)  # (L,)
        # (S, L): the variance along each eigenvector, for each share that words may explain
        self._along = SHARES[:, None] * np.maximum(values, 0) + 1 - SHARES[:, None]
        self._projected = projected / self._along
        evidence = -0.5 * (projected * self._projected + np.log(self._along)).sum(axis=1)
        weights = np.exp(evidence - evidence.max())
        self._weights = weights / weights.sum()  # (S,)

    @staticmethod
    def serve(words: Words, labeled: np.ndarray, y: np.ndarray) -> bool:
        """Whether there are enough labeled texts, of different numbers, to learn from."""
        told = y[:MOST_LABELED][have_words(words[labeled[:MOST_LABELED]])]
        return len(told) >= LEAST_LABELED and bool(np.ptp(told) > 0)

    def multiplied(self, found: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Means and variances (k, 2) of the network for some rows of the table, with what their words say.

        Rows whose words say nothing keep theirs.
        """
        words = self._words[rows]
        mean, variance = self._posterior(_of_length_1(words))
        # what the process adds to its prior, of mean 0 and variance 1
        precision = POWER * np.where(have_words(words), np.maximum(1 / variance - 1, 0), 0)
        network = (found[:, 0].astype(np.float64) - self._centre) / self._spread
        sureness = self._spread**2 / np.maximum(found[:, 1].astype(np.float64), np.finfo(np.float32).tiny)
        product = (network * sureness + POWER * mean / variance) / (sureness + precision)
        told = np.stack([self._centre + self._spread * product, self._spread**2 / (sureness + precision)], axis=1)
        return np.where(precision[:, None] > 0, told, found).astype(found.dtype)

    def _posterior(self, words: Words) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (k,) of the targets of some texts (k, V), in units in which those of labels are 0 and 1."""
        along = self._kernel(words) @ self._vectors  # (k, L)
        means = SHARES * (along @ self._projected.T)  # (k, S)
        variances = 1 - np.square(SHARES) * (np.square(along) @ (1 / self._along).T)
        mean = means @ self._weights
        return mean, (variances + np.square(means)) @ self._weights - np.square(mean)

    def _kernel(self, words: Words) -> np.ndarray:
        """The kernel of some texts of length 1 with those learned from, (k, L)."""
        return (words @ self._learned.T).toarray().astype(np.float64)


def _of_length_1(words: Words) -> Words:
    """Texts of several columns weigh as those of one."""
    from sklearn.preprocessing import normalize

    return normalize(words)
