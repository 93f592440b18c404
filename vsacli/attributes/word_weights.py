"""Tf-idf weights of the words of one column of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from vsacli.attributes.words import Words, by_code, no_words
from vsacli.tables.distinct import Distinct

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

MOST_TEXTS = 20_000
"""Distinct texts of a column whose words are weighed."""

MOST_WORDS = 5_000_000
"""Of all cells of a column together, that are counted one by one."""

UNSPACED_WORDS: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 2)}
"""Words in scripts that set no spaces between them, for scikit-learn: a character or two."""


class WordWeights:
    """Weights of the words of a column, fitted on its distinct texts (each once).

    Parameters
    ----------
    tfidf : TfidfVectorizer
        Fitted.
    max_length : int
        Characters of a text that are read.
    """

    def __init__(self, tfidf: TfidfVectorizer, max_length: int) -> None:
        self._tfidf, self._max_length = tfidf, max_length

    @classmethod
    def fit(cls, cells: Distinct, max_length: int, *, unspaced: bool) -> WordWeights | None:
        """Weigh words, or characters and pairs of them; None if no text has any, or they are too many."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        k = len(cells.values)
        if k > MOST_TEXTS:
            return None
        options: dict[str, Any] = {"dtype": np.float32, "sublinear_tf": True} | (UNSPACED_WORDS if unspaced else {})
        tfidf = TfidfVectorizer(**options)
        try:
            found: Any = tfidf.fit_transform(cut(cells.values, max_length))
        except ValueError:  # no text has a word
            return None
        return cls(tfidf, max_length) if found.nnz / k * len(cells.codes) <= MOST_WORDS else None

    def of_cells(self, cells: Distinct) -> Words:
        """The words of a column's cells, (n, V)."""
        if not len(cells.values):
            return no_words(len(cells.codes), len(self._tfidf.vocabulary_))
        return by_code(self._tfidf.transform(cut(cells.values, self._max_length)), cells.codes)


def cut(texts: pa.Array, length: int) -> list[str]:
    """The first characters of each text."""
    return [text[:length] for text in texts.to_pylist()]
