"""Free text and columns of many categories → a few attributes, by latent semantic analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.column_kinds import UNSPACED
from vsacli.attributes.scaling import RobustScale
from vsacli.attributes.word_weights import UNSPACED_WORDS, WordWeights, cut
from vsacli.attributes.words import Words, no_words
from vsacli.support.threads import numpy_on_one_thread
from vsacli.tables.arrow_types import spelled
from vsacli.tables.distinct import Distinct, distinct_cells

if TYPE_CHECKING:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

LEADING, MOST = 6, 24
"""Components of a column: the leading ones, and those of a column of as many distinct texts as `MANY_TEXTS` says.

The leading ones say what sets texts apart most. The further ones know more, but with few labels they are noise as often
as not, so the network reads a table with and without them."""

MANY_TEXTS = 200, 20_000
"""Fewer texts do not tell further components well, and more of them take too long."""

MAX_FIT = 20_000
"""Most distinct texts that the decomposition is fitted on; of more, a seeded sample from the whole column."""

LEAST_DEVIATION = 1e-5
"""Components that differ less between texts, which are vectors of length 1, are rounding errors."""

MAX_CHARACTER_TEXTS = 50_000
"""Of more distinct texts, those of several words are split into words, not character n-grams: five times faster."""

_SEVERAL_WORDS = r"(?:\S*[\pL\pN]{2}\S*\s+){3,}\S"
_MOSTLY_UNSPACED = rf"{UNSPACED}.*{UNSPACED}.*{UNSPACED}"
_CHUNK = 20_000


def _characters_read(texts: int) -> int:
    """How much of a cell is read: of few texts up to 100,000 characters, of very many 1,000 to 100."""
    return max(min(100_000, 10_000_000 // texts), min(1_000, max(100, 100_000_000 // texts)))


class TextEncoder:
    """A column of text: tf-idf of character trigrams, reduced to `LEADING` or `MOST` numbers by a truncated SVD.

    In scripts that set no spaces between words, of single characters and pairs: a word is about that long.

    Weights and decomposition are fitted on the distinct texts (each once, at most `MAX_FIT`, drawn at random from the
    whole column) and applied to all of them in chunks. If there are fewer n-grams or texts than components, the first
    n-grams are taken as they are. Components in which no texts differ are left out. Each component becomes (x - mean) /
    standard deviation over all rows, clipped smoothly as by `RobustScale`: components are bounded, and most of a text's
    are close to 0, so that quartiles would say nothing about their spread.
    """

    def __init__(
        self,
        tfidf: TfidfVectorizer,
        svd: TruncatedSVD | None,
        max_length: int,
        scales: dict[int, RobustScale],
    ) -> None:
        self._tfidf = tfidf
        self._svd = svd
        self.max_length = max_length  # characters of a cell that are read
        self._scales = scales  # by component
        self._words: WordWeights | None = None

    @property
    def names(self) -> list[str]:
        return [f"text {i + 1}" for i in range(len(self._scales))]

    @property
    def further(self) -> int:
        """How many of the last attributes are components that one reading does without."""
        return sum(component >= LEADING for component in self._scales)

    @classmethod
    def fit(cls, cells: Distinct, seed: int) -> tuple[TextEncoder, np.ndarray]:
        """Fit on distinct cells; return the encoder and the column's attributes, float32 (n, m)."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        k = len(cells.values)
        texts = cells.values
        if k > MAX_FIT:
            drawn = np.sort(np.random.default_rng(seed).choice(k, MAX_FIT, replace=False))
            texts = texts.take(pa.array(drawn))
        max_length = _characters_read(k)
        how: dict[str, Any] = {"dtype": np.float32, "analyzer": "char_wb", "ngram_range": (3, 3)}
        if k > MAX_CHARACTER_TEXTS and pc.mean(pc.match_substring_regex(texts, _SEVERAL_WORDS)).as_py() >= 0.5:
            how |= {"analyzer": "word", "ngram_range": (1, 1)}
        if pc.mean(pc.match_substring_regex(texts, _MOSTLY_UNSPACED)).as_py() >= 0.5:
            how |= UNSPACED_WORDS
        tfidf = TfidfVectorizer(**how)
        weighted: Any = tfidf.fit_transform(cut(texts, max_length))
        few, many = MANY_TEXTS
        wanted = MOST if few <= k <= many and min(weighted.shape) > MOST else LEADING
        svd = None
        if min(weighted.shape) > wanted:
            # One thread, as their number must not change an answer; no warning where texts do not differ at all.
            with numpy_on_one_thread(), np.errstate(all="ignore"):
                svd = TruncatedSVD(wanted, random_state=seed % 2**32).fit(weighted)
        components = _components(tfidf, svd, cells.values, max_length)
        # Sums over the sorted distinct texts, so that the order of the rows does not change a bit.
        weights = cells.counts / cells.n_observed
        means = weights @ components.astype(np.float64)
        deviations = np.sqrt(weights @ np.square(components - means))
        differ = np.flatnonzero(deviations > LEAST_DEVIATION)
        scales = {int(j): RobustScale(float(means[j]), float(deviations[j])) for j in differ}
        fitted = cls(tfidf, svd, max_length, scales)
        return fitted, cells.take(fitted._scaled(components))

    def encode(self, column: pa.Array) -> np.ndarray:
        cells = distinct_cells(spelled(column))
        if not len(cells.values):
            return np.full((len(column), len(self._scales)), np.nan, dtype=np.float32)
        return cells.take(self._scaled(_components(self._tfidf, self._svd, cells.values, self.max_length)))

    def fit_words(self, column: pa.Array) -> None:
        """Weigh words as well, in the cells that the encoder was fitted on."""
        unspaced = self._tfidf.analyzer == UNSPACED_WORDS["analyzer"]
        self._words = WordWeights.fit(distinct_cells(spelled(column)), self.max_length, unspaced=unspaced)

    def words(self, column: pa.Array) -> Words:
        """The words of each cell by tf-idf, (n, V); V is 0 if they were not weighed, or are too many."""
        if self._words is None:
            return no_words(len(column))
        return self._words.of_cells(distinct_cells(spelled(column)))

    def _scaled(self, components: np.ndarray) -> np.ndarray:
        scaled = np.empty((len(components), len(self._scales)), np.float32)
        for k, (j, scale) in enumerate(self._scales.items()):
            scaled[:, k] = scale.apply(components[:, j].astype(np.float64))
        return scaled


def _components(tfidf: TfidfVectorizer, svd: TruncatedSVD | None, values: pa.Array, max_length: int) -> np.ndarray:
    """Reduced texts, float32 (k, components), in chunks."""
    parts = []
    for start in range(0, len(values), _CHUNK):
        weighted: Any = tfidf.transform(cut(values.slice(start, _CHUNK), max_length))
        parts.append(weighted[:, :LEADING].toarray() if svd is None else svd.transform(weighted))
    return np.concatenate(parts)
