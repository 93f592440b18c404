"""The words of columns of text, row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.attributes.columns import sentences, text
from vsacli.attributes import word_weights
from vsacli.attributes.encoder import AttributeEncoder
from vsacli.attributes.words import Words, rows_of, side_by_side, stacked


def fitted(*columns: tuple[str, pa.Array]) -> tuple[AttributeEncoder, Words]:
    encoder, words = AttributeEncoder(), []
    encoder.fit_transform(columns, words=words)
    return encoder, side_by_side(words)


def test_each_row_has_the_words_of_its_cell() -> None:
    cells = [*sentences(30), "", *sentences(30)[:2]]
    encoder, words = fitted(("n", pa.array(range(33))), ("c", text(*cells)))
    assert words.shape[0] == 33
    assert words.dtype == np.float32
    np.testing.assert_allclose(norms(words)[:30], 1, rtol=1e-5)
    assert norms(words)[30] == 0
    np.testing.assert_array_equal(words[31:].toarray(), words[:2].toarray())
    again: list[Words] = []
    encoder.transform([("c", text(*cells[::-1])), ("n", pa.array(range(33)))], again)
    np.testing.assert_array_equal(side_by_side(again)[::-1].toarray(), words.toarray())


def norms(words: Words) -> np.ndarray:
    return np.linalg.norm(words.toarray(), axis=1)


def test_columns_stand_side_by_side_in_the_order_of_fit_and_an_absent_one_has_no_words() -> None:
    a, b = text(*sentences(30)), text(*(f"{cell} so it was" for cell in sentences(30)[::-1]))
    encoder, words = fitted(("a", a), ("b", b))
    swapped: list[Words] = []
    encoder.transform([("b", b), ("a", a)], swapped)
    np.testing.assert_array_equal(side_by_side(swapped).toarray(), words.toarray())
    alone: list[Words] = []
    encoder.transform([("b", b)], alone)
    width = alone[0].shape[1]
    assert [part.shape for part in alone] == [(30, width), (30, words.shape[1] - width)]
    assert alone[0].nnz == 0
    np.testing.assert_array_equal(alone[1].toarray(), words[:, width:].toarray())


@pytest.mark.parametrize("limits", [{"MOST_TEXTS": 20}, {"MOST_WORDS": 50}])
def test_too_many_words_are_none(monkeypatch: pytest.MonkeyPatch, limits: dict) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(word_weights, name, value)
    _, words = fitted(("c", text(*sentences(30))))
    assert words is None


def test_texts_without_a_word_have_none() -> None:
    signs = ["".join(row) for row in np.random.default_rng(0).choice(list(".-/!"), (30, 9))]
    encoder, words = fitted(("c", text(*signs)))
    assert encoder.used
    assert words is None


def test_words_are_weighed_only_where_asked_for() -> None:
    column = ("c", text(*sentences(30)))
    encoder = AttributeEncoder().fit([column])
    words: list[Words] = []
    encoder.transform([column], words)
    assert [part.shape for part in words] == [(30, 0)]


def test_numbers_and_categories_have_no_words() -> None:
    assert fitted(("n", pa.array(range(9))), ("k", text(*"aabbccaab")))[1] is None


def test_rows_and_tables_without_words() -> None:
    _, words = fitted(("c", text(*sentences(30))))
    assert rows_of(None, np.arange(3)) is None
    assert rows_of(words, np.arange(30) < 4).shape == (4, words.shape[1])
    assert stacked(None, words) is None
    assert stacked(words, None) is None
    table = stacked(words[:2], words[2:5], 3)
    np.testing.assert_array_equal(table.toarray()[:5], words[:5].toarray())
    assert table.shape == (8, words.shape[1])
    assert table[5:].nnz == 0
