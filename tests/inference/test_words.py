"""What words say is multiplied with what the network says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.inference.inference_tasks import ask, task_of
from vsacli.inference.reading import Known
from vsacli.inference.words import WordAnswers

WORDS = sparse.csr_matrix(np.vstack([np.eye(4), np.zeros(4)])[[0, 0, 1, 1, 2, 2, 0, 1, 2, 3, 4]].astype(np.float32))
LABELED = np.arange(6)
Y = np.array([0, 0, 1, 1, 2, 2])


def test_a_word_of_one_class_speaks_for_it() -> None:
    words = WordAnswers(WORDS, LABELED, Y, 3)
    even = np.full((5, 3), 1 / 3, np.float32)
    found = words.multiplied(even, np.arange(6, 11))
    assert found.dtype == np.float32
    assert found[:3].argmax(axis=1).tolist() == [0, 1, 2]
    assert found[:3].max(axis=1).min() > 0.8
    np.testing.assert_allclose(found[3], 1 / 3, atol=1e-3)  # a word that no labeled row has
    np.testing.assert_array_equal(found[4], even[4])  # no word
    sure = np.tile(np.float32([0.999, 0.0005, 0.0005]), (3, 1))
    assert (words.multiplied(sure, np.arange(6, 9)).argmax(axis=1) == 0).all()
    np.testing.assert_allclose(words.multiplied(sure, np.arange(6, 9)).sum(axis=1), 1, rtol=1e-6)


def test_classes_count_alike_however_many_labels_they_have() -> None:
    many = np.array([0] * 20 + [1] * 2)
    words = WordAnswers(
        sparse.csr_matrix(np.eye(3, dtype=np.float32)[[0] * 20 + [1] * 2 + [2]]), np.arange(22), many, 2
    )
    np.testing.assert_allclose(words.multiplied(np.full((1, 2), 0.5), np.array([22])), 0.5, atol=0.02)


def test_that_a_text_is_empty_is_not_learned() -> None:
    """Remarks are written where something is wrong: an unknown one must not count as a sign that all is well."""
    words = sparse.csr_matrix(np.vstack([np.zeros((20, 5)), np.eye(5)]).astype(np.float32))
    y = np.array([0] * 20 + [1, 1, 2, 2])
    answers = WordAnswers(words, np.arange(24), y, 3)
    np.testing.assert_allclose(answers.multiplied(np.full((1, 3), 1 / 3), np.array([24])), 1 / 3, atol=1e-3)


def test_a_class_without_a_labeled_text_keeps_its_chance() -> None:
    words = WordAnswers(WORDS, LABELED[:4], Y[:4], 3)
    found = words.multiplied(np.full((1, 3), 1 / 3), np.array([9]))
    np.testing.assert_allclose(found, 1 / 3, atol=1e-3)


def test_nothing_is_learned_from_texts_of_one_class_or_of_very_many() -> None:
    assert WordAnswers.serve(WORDS, LABELED, Y, 3)
    assert not WordAnswers.serve(WORDS, LABELED[:2], Y[:2], 3)
    assert not WordAnswers.serve(WORDS, np.array([0, 10]), np.array([0, 1]), 2)
    assert WordAnswers.serve(WORDS, LABELED, Y, 333_333)
    assert not WordAnswers.serve(WORDS, LABELED, Y, 333_334)


def test_answers_are_those_of_the_network_times_those_of_the_words() -> None:
    task = task_of("classification", n=60)
    rng = np.random.default_rng(0)
    words = sparse.csr_matrix((rng.random((60, 30)) < 0.1).astype(np.float32))
    network, found = ask("classification", task), ask("classification", task, known=Known(words=words))
    labeled = np.flatnonzero(task["labeled"])
    wanted = WordAnswers(words, labeled, task["y"], 3).multiplied(network, np.flatnonzero(~task["labeled"]))
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert np.abs(found - network).max() > 0.01


@pytest.mark.parametrize("n", [60, 700])
def test_rows_in_another_order_get_the_same_answers(n: int) -> None:
    task = task_of("classification", n=n)
    words = sparse.csr_matrix((np.random.default_rng(0).random((n, 30)) < 0.1).astype(np.float32))
    found = ask("classification", task, known=Known(words=words))
    order = np.random.default_rng(1).permutation(n)
    labels = np.full(n, -1)
    labels[task["labeled"]] = task["y"]
    moved = {**task, "x": task["x"][order], "labeled": task["labeled"][order]}
    moved["y"] = labels[order][moved["labeled"]]
    again = ask("classification", moved, known=Known(words=words[order]))
    place = np.argsort(order[~moved["labeled"]])
    np.testing.assert_allclose(again[place], found, atol=1e-5)


def test_rows_that_differ_only_in_their_words_have_answers_of_their_own() -> None:
    task = task_of("classification", n=40)
    task["x"][~task["labeled"]] = task["x"][np.flatnonzero(~task["labeled"])[0]]
    words = sparse.csr_matrix(np.eye(3, dtype=np.float32)[np.arange(40) % 3])
    found = ask("classification", task, known=Known(words=words))
    of_word = [found[np.flatnonzero(~task["labeled"]) % 3 == word] for word in range(3)]
    for answers in of_word:
        np.testing.assert_allclose(answers, np.repeat(answers[:1], len(answers), 0), atol=1e-6)
    assert np.abs(of_word[0][0] - of_word[1][0]).max() > 0.01
