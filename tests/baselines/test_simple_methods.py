"""What every simple method promises: it survives odd episodes, sees no answer, repeats itself, beats chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vsacli.baselines.base import standardize
from vsacli.baselines.registry import make_method, method_names
from vsacli.errors import UsageError
from vsacli.inference.answers import Answers
from vsacli.tasks.episode import Episode

CLASSIFIERS = [n for n in method_names("classification") if n != "vsa"]
REGRESSORS = [n for n in method_names("regression") if n != "vsa"]


def predict(name: str, episode: Episode, seed: int = 0) -> np.ndarray:
    prediction = make_method(name).fit_predict(episode, np.random.default_rng(seed))
    if prediction.proba is not None:
        assert prediction.proba.shape == (episode.n_unlabeled, episode.n_classes)
        return prediction.proba
    assert prediction.mean.shape == prediction.std.shape == (episode.n_unlabeled,)
    return np.stack([prediction.mean, prediction.std])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_easy_classes_are_found(name: str, blobs) -> None:
    episode = blobs(shots=4, n_unlabeled=60, n_attributes=6)
    accuracy = np.mean(predict(name, episode).argmax(axis=1) == episode.answer)
    if name == "prior":
        assert accuracy < 0.6
    else:
        assert accuracy > 0.85


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_line_is_found(name: str, line) -> None:
    episode = line(n_labeled=30, n_unlabeled=60)
    mean, std = predict(name, episode)
    error = np.mean((mean - episode.answer) ** 2)
    if name == "prior":
        assert error == pytest.approx(np.mean((episode.y[:30].mean() - episode.answer) ** 2), rel=1e-4)
    else:
        assert error < 0.6 * np.mean(episode.answer**2)
    assert (std > 0).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    "odd", ["one shot", "one class", "class without label", "constant", "no column", "no unlabeled", "huge", "empty"]
)
def test_odd_classification_episodes(name: str, odd: str, blobs) -> None:
    episode = blobs(shots=1 if odd == "one shot" else 2)
    if odd == "one class":
        episode = replace(episode, y=np.zeros_like(episode.y))
    elif odd == "class without label":
        episode = replace(episode, n_classes=5, y=np.where(episode.y == 1, 4, episode.y))
    elif odd == "constant":
        episode = replace(episode, x=np.ones_like(episode.x))
    elif odd == "no column":
        episode = replace(episode, x=episode.x[:, :0])
    elif odd == "no unlabeled":
        n = episode.n_labeled
        episode = replace(episode, x=episode.x[:n], y=episode.y[:n], scored=episode.scored[:0])
    elif odd == "huge":
        episode = replace(episode, x=episode.x * np.float32(1e37))
    elif odd == "empty":
        x = episode.x.copy()
        x[:, 0] = np.nan
        x[::2, 1] = np.nan
        episode = replace(episode, x=x)
    probs = predict(name, episode)
    seen = np.unique(episode.y[: episode.n_labeled])
    np.testing.assert_allclose(probs[:, seen].sum(axis=1), 1.0, atol=1e-3)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("odd", ["one label", "two labels", "constant target", "constant", "no column", "no unlabeled"])
def test_odd_regression_episodes(name: str, odd: str, line) -> None:
    episode = line(n_labeled={"one label": 1, "two labels": 2}.get(odd, 6))
    if odd == "constant target":
        episode = replace(episode, y=np.full_like(episode.y, 0.25))
    elif odd == "constant":
        episode = replace(episode, x=np.ones_like(episode.x))
    elif odd == "no column":
        episode = replace(episode, x=episode.x[:, :0])
    elif odd == "no unlabeled":
        n = episode.n_labeled
        episode = replace(episode, x=episode.x[:n], y=episode.y[:n], scored=episode.scored[:0])
    mean, _ = predict(name, episode)
    labels = episode.y[: episode.n_labeled]
    if odd in ("constant target", "one label"):
        np.testing.assert_allclose(mean, labels[0], atol=1e-3)
    elif odd in ("constant", "no column"):
        assert (mean >= labels.min() - 1e-3).all()
        assert (mean <= labels.max() + 1e-3).all()


@pytest.mark.parametrize("name", dict.fromkeys(CLASSIFIERS + REGRESSORS))
def test_the_answer_is_not_read_and_the_seed_decides(name: str, blobs, line) -> None:
    for kind, make in (("classification", blobs), ("regression", line)):
        if name not in (CLASSIFIERS if kind == "classification" else REGRESSORS):
            continue
        episode = make()
        n = episode.n_labeled
        hidden = replace(episode, y=np.concatenate([episode.y[:n], np.zeros_like(episode.answer)]))
        np.testing.assert_array_equal(predict(name, episode), predict(name, hidden))


@pytest.mark.parametrize("name", ["logistic", "centroid", "knn", "gp", "label-spreading", "self-training"])
def test_units_of_a_column_do_not_matter(name: str, blobs) -> None:
    episode = blobs()
    scaled = replace(episode, x=(episode.x * np.float32(1024.0)))
    np.testing.assert_allclose(predict(name, scaled), predict(name, episode), atol=1e-3)


def test_standardize_against_numpy() -> None:
    x = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan], [np.nan, 5.0, np.nan], [8.0, 5.0, np.nan]])
    column = np.array([1.0, 3.0, 4.0, 8.0])  # the mean of 1, 3 and 8 stands in for the missing value
    expected = np.stack([(column - column.mean()) / column.std(), np.zeros(4), np.zeros(4)], axis=1)
    np.testing.assert_allclose(standardize(x), expected, atol=1e-12)


def test_predictions_refuse_numbers_that_are_none() -> None:
    with pytest.raises(ValueError, match="finite"):
        Answers(np.array([[np.nan, 1.0]])).check()
    with pytest.raises(ValueError, match="sum to one"):
        Answers(np.array([[0.2, 0.2]])).check()
    with pytest.raises(ValueError, match="finite"):
        Answers(mean=np.array([np.inf]), std=np.array([1.0])).check()


def test_unknown_method_is_named_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'logistic'"):
        make_method("logistics")
