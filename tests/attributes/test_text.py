"""Free text → a few attributes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attributes.columns import encode, reason, sentences, text
from vsacli.attributes.encoder import AttributeEncoder


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


def test_a_column_of_many_texts_has_further_components(monkeypatch: pytest.MonkeyPatch) -> None:
    x, encoder = encode(text(*sentences(220)[:210], *[""] * 10))
    assert encoder.attribute_names[-25:] == [*(f"c text {k}" for k in range(1, 25)), "c is given"]
    assert encoder.further.tolist()[-25:] == [False] * 6 + [True] * 18 + [False]
    assert x.shape == (220, 25)
    few, encoder = encode(text(*sentences(199)))
    assert few.shape == (199, 6)
    assert not encoder.further.any()
    from vsacli.attributes import text as texts

    monkeypatch.setattr(texts, "MANY_TEXTS", (200, 205))
    assert encode(text(*sentences(206)))[0].shape == (206, 6)


def test_texts_of_few_ngrams_are_told_apart_by_them() -> None:
    cells = [f"{'ab' * (i + 1)}" for i in range(30)]  # aba and bab, and where a word begins and ends
    x, encoder = encode(text(*cells, *cells))
    x = x[:, -4:]
    assert encoder.attribute_names[-4:] == [f"c text {k}" for k in range(1, 5)]
    np.testing.assert_array_equal(x[:30], x[30:])
    assert (np.ptp(x, axis=0) > 0).all()


@pytest.mark.parametrize(
    ("topics", "fillers"),
    [
        ((["我要退款", "取消订单"], ["登录不了", "忘了密码"]), ["你好", "谢谢", "很急", "从周一开始", "手机上"]),
        ((["返金して", "注文を取消"], ["ログイン", "パスワード"]), ["至急", "昨日から", "スマホで", "すみません"]),
        ((["ขอคืนเงิน", "ยกเลิก"], ["เข้าระบบ", "ลืมรหัส"]), ["ด่วนมาก", "บนมือถือ", "ขอบคุณ", "สวัสดี"]),
    ],
    ids=["Chinese", "Japanese", "Thai"],
)
def test_text_without_spaces_is_told_apart_by_its_words(topics, fillers) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    topic = np.arange(80) % 2
    cells = []
    for k in topic:
        parts = [*rng.choice(fillers, 3, replace=False), str(rng.choice(topics[k]))]
        cells.append("".join(rng.permutation(parts)))
    x, encoder = encode(text(*cells))
    assert encoder.left_out == []
    assert x.shape[1] == 6
    assert LogisticRegression().fit(x[:40], topic[:40]).score(x[40:], topic[40:]) >= 0.85


def test_what_stands_after_a_long_common_head_is_read() -> None:
    head = "Von: Buchhaltung. " * 80
    cells = [f"{head}{('Mahnung' if i % 2 else 'Einladung')} Nummer {i} {'abc'[i % 3]}" for i in range(40)]
    x, _ = encode(text(*cells))
    assert len(head) > 1_000
    apart = np.abs(x[::2].mean(0) - x[1::2].mean(0))
    assert apart.max() > 1


def test_what_is_beyond_the_characters_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vsacli.attributes.text._characters_read", lambda texts: 50)
    told = reason(text(*(f"{'the same words again ' * 5} and then {i} others" for i in range(40))))
    assert told == "text: the first 50 characters of the cells, which are read, are made of the same words"


def test_any_seed_serves() -> None:
    x, _ = encode(text(*sentences(60)))
    for seed in (2**32 - 1, 2**32, 2**40):
        again = AttributeEncoder(seed=seed).fit_transform([("c", text(*sentences(60)))])
        assert again.shape == x.shape
