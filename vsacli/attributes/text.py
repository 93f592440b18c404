"""Free text and columns of many categories → a few attributes, by skrub's StringEncoder (latent semantic analysis)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vsacli.attributes.column_kinds import UNSPACED
from vsacli.attributes.scaling import RobustScale
from vsacli.tables.arrow_types import spelled
from vsacli.tables.distinct import Distinct, distinct_cells

if TYPE_CHECKING:
    import pandas as pd

N_COMPONENTS = 6
MAX_FIT = 20_000
"""Most distinct texts that the decomposition is fitted on; of more, a seeded sample from the whole column."""

MAX_CHARACTER_TEXTS = 50_000
"""Of more distinct texts, those of several words are split into words, not character n-grams: five times faster."""

_SEVERAL_WORDS = r"(?:\S{2,}\s+){3,}\S"
_MOSTLY_UNSPACED = rf"{UNSPACED}.*{UNSPACED}.*{UNSPACED}"
_CHUNK = 20_000
_MAX_CHARACTERS = 100_000_000  # of the whole column; longer cells are cut, to between 100 and 1,000 characters


class TextEncoder:
    """A column of text: tf-idf of character trigrams, reduced to `N_COMPONENTS` numbers by a truncated SVD.

    In scripts that set no spaces between words, of single characters and pairs: a word is about that long.

    skrub's StringEncoder is fitted on the distinct texts (each once, at most `MAX_FIT`, drawn at random from the
    whole column) and applied to all of them in chunks. Each component becomes (x - mean) / standard deviation over all
    rows, clipped smoothly as by `RobustScale`: components are bounded, and most of a text's are close to 0, so that
    quartiles would say nothing about their spread.
    """

    def __init__(self, encoder: Any, max_length: int, scales: list[RobustScale]) -> None:
        self._encoder = encoder
        self._max_length = max_length
        self._scales = scales

    @property
    def names(self) -> list[str]:
        return [f"text {i + 1}" for i in range(len(self._scales))]

    @classmethod
    def fit(cls, cells: Distinct, seed: int) -> tuple[TextEncoder, np.ndarray]:
        """Fit on distinct cells; return the encoder and the column's attributes, float32 (n, m)."""
        from skrub import StringEncoder

        k = len(cells.values)
        texts = cells.values
        if k > MAX_FIT:
            drawn = np.sort(np.random.default_rng(seed).choice(k, MAX_FIT, replace=False))
            texts = texts.take(pa.array(drawn))
        max_length = min(1_000, max(100, _MAX_CHARACTERS // k))
        how: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 3)}
        if k > MAX_CHARACTER_TEXTS and pc.mean(pc.match_substring_regex(texts, _SEVERAL_WORDS)).as_py() >= 0.5:
            how = {"analyzer": "word", "ngram_range": (1, 1)}
        if pc.mean(pc.match_substring_regex(texts, _MOSTLY_UNSPACED)).as_py() >= 0.5:
            how = {"analyzer": "char", "ngram_range": (1, 2)}  # a word is a character or two
        encoder = StringEncoder(n_components=N_COMPONENTS, random_state=seed, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer n-grams than components: the encoder then keeps the n-grams
            encoder.fit(_series(texts, max_length))
        components = _encode_in_chunks(encoder, cells.values, max_length)
        # Sums over the sorted distinct texts, so that the order of the rows does not change a bit.
        weights = cells.counts / cells.n_observed
        means = weights @ components.astype(np.float64)
        deviations = np.sqrt(weights @ np.square(components - means))
        scales = [RobustScale(float(m), float(d) if d > 0 else 1.0) for m, d in zip(means, deviations, strict=True)]
        fitted = cls(encoder, max_length, scales)
        return fitted, cells.take(fitted._scaled(components))

    def encode(self, column: pa.Array) -> np.ndarray:
        cells = distinct_cells(spelled(column))
        if not len(cells.values):
            return np.full((len(column), len(self._scales)), np.nan, dtype=np.float32)
        return cells.take(self._scaled(_encode_in_chunks(self._encoder, cells.values, self._max_length)))

    def _scaled(self, components: np.ndarray) -> np.ndarray:
        for j, scale in enumerate(self._scales):
            components[:, j] = scale.apply(components[:, j].astype(np.float64))
        return components


def _series(texts: pa.Array, max_length: int) -> pd.Series:
    import pandas as pd

    return pd.Series([text[:max_length] for text in texts.to_pylist()], name="text", dtype=str)


def _encode_in_chunks(encoder: Any, values: pa.Array, max_length: int) -> np.ndarray:
    parts = [
        encoder.transform(_series(values.slice(start, _CHUNK), max_length)).to_numpy(dtype=np.float32)
        for start in range(0, len(values), _CHUNK)
    ]
    return np.concatenate(parts)
