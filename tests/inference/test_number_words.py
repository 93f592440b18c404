"""What words say of numbers is multiplied with what the network says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.inference.inference_tasks import ask, task_of
from vsacli.attributes.words import Words
from vsacli.inference.number_words import POWER, SHARES, WordNumbers
from vsacli.inference.reading import Known


def words_of(n: int, different: int = 12, seed: int = 0) -> Words:
    """Texts of three words each."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, different), np.float32)
    for row in dense:
        row[rng.choice(different, 3, replace=False)] = 1 / np.sqrt(3)
    return sparse.csr_matrix(dense)


def network_says(n: int, mean: float = 0.0, variance: float = 1.0) -> np.ndarray:
    return np.tile(np.float32([mean, variance]), (n, 1))


@pytest.fixture
def told() -> tuple[Words, np.ndarray]:
    """Texts, and numbers that are sums of what their words are worth."""
    words = words_of(200)
    y = words @ np.linspace(-3, 3, 12) + 0.1 * np.random.default_rng(1).normal(size=200)
    return words, y.astype(np.float32)


def test_words_that_decide_are_believed(told: tuple[Words, np.ndarray]) -> None:
    words, y = told
    answers = WordNumbers(words, np.arange(60), y[:60])
    found = answers.multiplied(network_says(140, variance=float(y.var())), np.arange(60, 200))
    assert found.dtype == np.float32
    assert np.square(found[:, 0] - y[60:]).mean() < 0.1 * y.var()
    assert (found[:, 1] < 0.5 * y.var()).all()
    sure = answers.multiplied(network_says(140, mean=9, variance=1e-6), np.arange(60, 200))
    np.testing.assert_allclose(sure[:, 0], 9, atol=1e-3)


def test_words_that_say_nothing_change_nothing(told: tuple[Words, np.ndarray]) -> None:
    words, _ = told
    y = np.random.default_rng(2).normal(size=100).astype(np.float32)
    network = network_says(100, mean=0.7, variance=0.4)
    found = WordNumbers(words, np.arange(100), y).multiplied(network, np.arange(100, 200))
    assert np.abs(found[:, 0] - 0.7).mean() < 0.05
    np.testing.assert_allclose(found[:, 1], 0.4, rtol=0.1)


def test_rows_without_a_word_and_with_unknown_ones_keep_their_answer() -> None:
    known = words_of(40, 6)
    words = sparse.vstack([known, sparse.csr_matrix((1, 6))])
    words = sparse.hstack([words, sparse.csr_matrix((41, 1))], format="csr")
    unknown = sparse.csr_matrix(([1.0], ([0], [6])), shape=(1, 7))
    words = sparse.vstack([words, unknown], format="csr").astype(np.float32)
    y = (known @ np.arange(6.0)).astype(np.float32)
    network = network_says(2, mean=3.25, variance=0.5)
    found = WordNumbers(words, np.arange(40), y).multiplied(network, np.array([40, 41]))
    np.testing.assert_array_equal(found[0], network[0])
    np.testing.assert_allclose(found[1], network[1], rtol=1e-6)


def test_answers_are_the_product_of_densities_averaged_over_shares(told: tuple[Words, np.ndarray]) -> None:
    """Against the equations, with inverses of matrices."""
    words, y = told
    kernel = (words @ words.T).toarray()
    z = (y[:30] - y[:30].mean()) / y[:30].std()
    evidence, means, variances = [], [], []
    for share in SHARES:
        covariance = share * kernel[:30, :30] + (1 - share) * np.eye(30)
        inverse, across = np.linalg.inv(covariance), share * kernel[30:, :30]
        evidence.append(-0.5 * (z @ inverse @ z + np.linalg.slogdet(covariance)[1]))
        means.append(across @ inverse @ z)
        variances.append(1 - np.einsum("ij,jk,ik->i", across, inverse, across))
    weights = np.exp(evidence) / np.exp(evidence).sum()
    mean = weights @ means
    variance = weights @ (np.array(variances) + np.square(means)) - mean**2
    words_precision = POWER * (1 / variance - 1)
    network = (1.0 - y[:30].mean()) / y[:30].std(), y[:30].var() / 0.8
    wanted = (network[0] * network[1] + POWER * mean / variance) / (network[1] + words_precision)
    found = WordNumbers(words, np.arange(30), y[:30]).multiplied(network_says(170, 1.0, 0.8), np.arange(30, 200))
    np.testing.assert_allclose(found[:, 0], y[:30].mean() + y[:30].std() * wanted, atol=1e-4)
    np.testing.assert_allclose(found[:, 1], y[:30].var() / (network[1] + words_precision), rtol=1e-4)


def test_two_columns_of_the_same_text_say_as_much_as_one(told: tuple[Words, np.ndarray]) -> None:
    words, y = told
    twice = sparse.hstack([words, words], format="csr")
    one, two = (
        WordNumbers(w, np.arange(50), y[:50]).multiplied(network_says(150), np.arange(50, 200)) for w in (words, twice)
    )
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_nothing_is_learned_from_few_texts_or_equal_numbers() -> None:
    words, y = words_of(40), np.arange(40.0)
    assert WordNumbers.serve(words, np.arange(25), y[:25])
    assert not WordNumbers.serve(words, np.arange(24), y[:24])
    assert not WordNumbers.serve(words, np.arange(25), np.ones(25))
    assert not WordNumbers.serve(sparse.csr_matrix((40, 4)), np.arange(25), y[:25])


@pytest.mark.parametrize("n", [60, 700])
def test_rows_in_another_order_get_the_same_answers(n: int) -> None:
    task = task_of("regression", n=n, labeled=0.6)
    words = words_of(n)
    network, found = ask("regression", task), ask("regression", task, known=Known(words=words))
    assert np.abs(network - found).max() > 1e-4
    order = np.random.default_rng(1).permutation(n)
    numbers = np.full(n, np.nan)
    numbers[task["labeled"]] = task["y"]
    moved = {**task, "x": task["x"][order], "labeled": task["labeled"][order]}
    moved["y"] = numbers[order][moved["labeled"]]
    again = ask("regression", moved, known=Known(words=words[order]))
    place = np.argsort(order[~moved["labeled"]])
    np.testing.assert_allclose(again[place], found, rtol=1e-4, atol=1e-4)
