r"""What the words of a text say of its class, beside what the network says.

The network reads a text as a few components, which say what sets texts apart most. A word that stands in few texts, and
decides, is not in them. So its probabilities are multiplied by those of logistic regression on the words by themselves:

.. math:: p(c \mid x, t) \propto p_{\mathrm{network}}(c \mid x) \; p_{\mathrm{words}}(c \mid t)

Classes weigh the same in the regression, however many labels they have, so that what is known of their proportions is
not counted twice; texts that say nothing give equal probabilities, which change nothing (docs/research.md, Text).
"""

from __future__ import annotations

import numpy as np

from vsacli.attributes.words import Words, have_words

STRENGTH = 10.0
"""Of the labels, as against weights of 0 (the C of scikit-learn)."""

MOST_LABELED, MOST_WEIGHTS = 5_000, 1_000_000
"""Labeled rows, and weights (classes times words), for which the regression takes little time beside the network."""

STEPS = 500


class WordAnswers:
    """Logistic regression on the words of labeled rows.

    Parameters
    ----------
    words : Words, shape (n, V)
        Of all rows, by tf-idf.
    labeled : ndarray of int, shape (L,)
        The labeled rows, in an order that does not depend on where they stand.
    y : ndarray of int64, shape (L,)
        Their classes.
    n_classes : int
    """

    def __init__(self, words: Words, labeled: np.ndarray, y: np.ndarray, n_classes: int) -> None:
        from sklearn.linear_model import LogisticRegression

        # of rows without a word the regression would learn that no word is a sign
        told = have_words(words[labeled[:MOST_LABELED]])
        # a word that no labeled text has would get the weight 0
        self._words, self._n_classes = words[:, _words_of(words, labeled)], n_classes
        self._some = have_words(words)
        self._seen, codes = np.unique(y[:MOST_LABELED][told], return_inverse=True)
        model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=STEPS)
        self._model = model.fit(self._words[labeled[:MOST_LABELED][told]], codes)

    @staticmethod
    def serve(words: Words, labeled: np.ndarray, y: np.ndarray, n_classes: int) -> bool:
        """Whether there are labeled texts, of more than one class, to learn from."""
        if len(_words_of(words, labeled)) * n_classes > MOST_WEIGHTS:
            return False
        return len(np.unique(y[:MOST_LABELED][have_words(words[labeled[:MOST_LABELED]])])) > 1

    def multiplied(self, found: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Probabilities (k, C) of the network for some rows of the table, times what their words say.

        Rows without a word keep theirs; so do classes, in relation to each other, that no labeled text has.
        """
        words, some = self._words[rows], self._some[rows]
        said = np.full((len(rows), self._n_classes), 1 / len(self._seen))
        said[np.ix_(some, self._seen)] = self._model.predict_proba(words[some]) if some.any() else 0
        product = found * said
        product /= np.maximum(product.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return np.where(some[:, None], product, found).astype(found.dtype)


def _words_of(words: Words, labeled: np.ndarray) -> np.ndarray:
    """The words that the first labeled rows have, as places in the vocabulary."""
    return np.unique(words[labeled[:MOST_LABELED]].indices)
