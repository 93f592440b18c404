"""Free text → a few attributes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attributes.columns import encode, sentences, text


def test_text_that_says_alike_is_alike() -> None:
    cells = sentences(40)
    x, encoder = encode(text(*cells, "", "  "))
    assert encoder.used["c"] == 7  # six of the decomposition, and whether there is a text
    assert np.isnan(x[40:, :6]).all()
    x = x[:, :6]
    groups = [x[:40:2].mean(axis=0), x[1:40:2].mean(axis=0)]
    correct = [
        np.linalg.norm(row - groups[i % 2]) < np.linalg.norm(row - groups[1 - i % 2]) for i, row in enumerate(x[:40])
    ]
    assert sum(correct) >= 38


def test_many_texts_are_fitted_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from vsacli.attributes import text as texts

    monkeypatch.setattr(texts, "MAX_FIT", 30)
    monkeypatch.setattr(texts, "MAX_CHARACTER_TEXTS", 50)
    monkeypatch.setattr(texts, "_CHUNK", 17)
    cells = sentences(100)
    x, _ = encode(text(*cells))
    again, _ = encode(text(*cells[::-1]))
    assert x.shape == (100, 6)
    np.testing.assert_array_equal(again[::-1], x)
    assert np.isfinite(x).all()
