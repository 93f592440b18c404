"""The scikit-learn estimators: its own checks, answers, pickles and pipelines."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.frames import CHUNK, FRAME, HIDDEN, TRUTH, WITH_NONE, make_frame
from vsacli import VSAClassifier, VSARegressor
from vsacli.checkpoints import resolve
from vsacli.checkpoints.folder import save_checkpoint
from vsacli.errors import CheckpointError, UsageError
from vsacli.estimators import base
from vsacli.nn import VSAModel, preset

DEVIATIONS = {
    "check_methods_subset_invariance": "fit has no unlabeled rows here, so new ones are read together",
}


@parametrize_with_checks(
    [VSAClassifier(device="cpu"), VSARegressor(device="cpu")],
    expected_failed_checks=lambda estimator: DEVIATIONS,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator: Any, check: Any):
    check(estimator)


def test_the_rows_of_fit_get_the_same_answers_again(classifier: VSAClassifier, regressor: VSARegressor):
    fitted = classifier.fit(FRAME, WITH_NONE)
    np.testing.assert_array_equal(fitted.predict_proba(FRAME[HIDDEN]), fitted.label_distributions_[HIDDEN])
    np.testing.assert_array_equal(fitted.predict(FRAME[HIDDEN]), fitted.transduction_[HIDDEN])
    y = np.where(HIDDEN, np.nan, FRAME["size"].fillna(0) * 10)
    mean, std = regressor.fit(FRAME, y).predict(FRAME[HIDDEN], return_std=True)
    np.testing.assert_array_equal(mean, regressor.transduction_[HIDDEN])
    np.testing.assert_array_equal(std, regressor.transduction_std_[HIDDEN])
    np.testing.assert_array_equal(regressor.predict(FRAME[HIDDEN]), mean)


def test_answers_are_those_of_the_inference_on_encoded_columns(classifier: VSAClassifier, folder: Path):
    """The same rows through the parts: encoder, labels as codes, network."""
    from vsacli.attributes.encoder import AttributeEncoder, columns_of
    from vsacli.inference.config import InferenceConfig
    from vsacli.inference.predict import predict

    x = AttributeEncoder(0).fit_transform(columns_of(FRAME))
    codes = (TRUTH[~HIDDEN] == "pos").astype(int)
    checkpoint = resolve.load_checkpoint(folder / "classification")
    expected = predict(checkpoint, x, ~HIDDEN, codes, 2, config=InferenceConfig(device="cpu")).proba
    actual = classifier.fit(FRAME, WITH_NONE).label_distributions_[HIDDEN]
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("estimator", [VSAClassifier, VSARegressor])
def test_beside_many_unlabeled_rows_no_answer_depends_on_the_other_new_rows(estimator: type):
    frame = make_frame(2 * CHUNK, seed=3)
    y = np.full(len(frame), np.nan)
    y[:12] = np.arange(12) % 3
    fitted = pickle.loads(pickle.dumps(estimator(device="cpu").fit(frame, y)))
    answers = fitted.predict_proba if estimator is VSAClassifier else fitted.predict
    seen = answers(frame[12:])
    given = fitted.label_distributions_ if estimator is VSAClassifier else fitted.transduction_
    np.testing.assert_allclose(seen, given[12:], rtol=1e-4, atol=1e-5)
    new = make_frame(CHUNK + 50, seed=9)
    together = answers(new)
    alone = np.concatenate([answers(new.iloc[rows]) for rows in ([0], slice(1, 40), slice(40, None))])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-5)


def test_unlabeled_rows_of_fit_are_context_of_new_ones(classifier: VSAClassifier):
    """With other unlabeled rows, the same labels answer a new row differently: they are read."""
    new = make_frame(3, seed=9)
    with_context = classifier.fit(FRAME, WITH_NONE).predict_proba(new)
    alone = classifier.fit(FRAME[~HIDDEN], TRUTH[~HIDDEN]).predict_proba(new)
    assert np.abs(with_context - alone).max() > 1e-4


def test_a_large_table_keeps_a_sample_of_its_unlabeled_rows(classifier: VSAClassifier):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3 * CHUNK, 3))
    y = [None] * len(x)
    y[:4] = ["a", "b", "a", "b"]
    fitted = classifier.fit(x, y)
    assert fitted.transduction_.shape == (len(x),)
    assert set(fitted.transduction_) == {"a", "b"}
    assert len(pickle.dumps(fitted)) < 40_000
    assert fitted.predict_proba(x[:2]).shape == (2, 2)
    assert fitted.predict_proba(rng.normal(size=(2 * CHUNK, 3))).shape == (2 * CHUNK, 2)


def test_one_class_and_equal_targets_need_no_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolve, "bundled_folder", lambda: Path("nowhere"))
    base._load_once.cache_clear()
    fitted = VSAClassifier(device="cpu").fit(FRAME, np.where(HIDDEN, None, "only"))
    assert set(fitted.transduction_) == {"only"}
    assert fitted.predict_proba(FRAME).tolist() == [[1.0]] * 60
    mean, std = VSARegressor(device="cpu").fit(FRAME, np.where(HIDDEN, np.nan, 4)).predict(FRAME, return_std=True)
    assert set(mean) == {4}
    assert set(std) == {0}
    with pytest.raises(CheckpointError, match="no bundled classification checkpoint"):
        VSAClassifier(device="cpu").fit(FRAME, WITH_NONE)


def test_all_labeled(classifier: VSAClassifier):
    fitted = classifier.fit(FRAME, TRUTH)
    assert fitted.transduction_.tolist() == TRUTH.tolist()
    assert set(np.unique(fitted.label_distributions_)) == {0, 1}


def test_not_fitted(classifier: VSAClassifier, regressor: VSARegressor):
    for method in (classifier.predict, classifier.predict_proba, regressor.predict):
        with pytest.raises(NotFittedError):
            method(FRAME)


def test_a_checkpoint_of_the_other_kind_or_an_unknown_device(folder: Path):
    with pytest.raises(CheckpointError, match="is for regression"):
        VSAClassifier(folder / "regression").fit(FRAME, WITH_NONE)
    with pytest.raises(UsageError, match="unknown device"):
        VSAClassifier(device="gpu").fit(FRAME, WITH_NONE)


def test_the_seed(classifier: VSAClassifier):
    """In a table of several chunks the seed decides who is read together."""
    x = np.random.default_rng(0).normal(size=(2 * CHUNK, 2))
    y = [0, 1] + [None] * (len(x) - 2)

    def proba(seed: Any) -> np.ndarray:
        return classifier.set_params(random_state=seed).fit(x, y).label_distributions_

    assert np.array_equal(proba(3), proba(3))
    assert not np.array_equal(proba(3), proba(4))
    assert np.array_equal(proba(np.int64(3)), proba(3))
    assert np.array_equal(proba(np.random.RandomState(1)), proba(np.random.RandomState(1)))
    assert np.isfinite(proba(None)).all()


def test_clone_and_parameters(folder: Path):
    original = VSAClassifier(folder / "classification", device="cpu", random_state=5)
    copy = clone(original)
    assert isinstance(copy, VSAClassifier)
    own = {"checkpoint": folder / "classification", "device": "cpu", "random_state": 5}
    assert copy.get_params() == {**own, "proportions": None}
    assert repr(VSARegressor()) == "VSARegressor()"


def test_a_pickle_holds_no_network(classifier: VSAClassifier, tmp_path: Path):
    fitted = classifier.fit(FRAME, WITH_NONE)
    data = pickle.dumps(fitted)
    assert len(data) < 20_000  # the network alone has more
    assert b"torch" not in data
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    expected = fitted.predict_proba(FRAME)
    base._load_once.cache_clear()
    for other in (pickle.loads(data), joblib.load(tmp_path / "fitted.joblib")):
        assert np.array_equal(other.predict_proba(FRAME), expected)
        assert np.array_equal(other.transduction_, fitted.transduction_)


def test_the_network_is_read_once_and_again_when_its_file_changes(tmp_path: Path, folder: Path):
    torch.manual_seed(0)
    save_checkpoint(tmp_path, VSAModel(preset("small", layers=1)), {}, "")
    first = base._load(str(tmp_path), "classification")
    assert base._load(str(tmp_path), "classification") is first
    save_checkpoint(tmp_path, VSAModel(preset("small", layers=2)), {}, "")
    assert base._load(str(tmp_path), "classification").model.config.layers == 2


def test_pipelines_cross_validation_and_parallel_jobs():
    x = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(x[:, 0] > 0, "pos", "neg")
    scores = cross_val_score(VSAClassifier(device="cpu"), x, y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    pipeline = make_pipeline(FunctionTransformer(lambda a: 2 * a), VSAClassifier(device="cpu"))
    assert pipeline.fit(x, y).predict(x).shape == (60,)
    assert cross_val_score(VSARegressor(device="cpu"), x, x[:, 0], cv=3).mean() > 0
    search = GridSearchCV(VSAClassifier(device="cpu"), {"random_state": [0, 1]}, cv=2).fit(FRAME, TRUTH)
    assert set(search.best_params_) == {"random_state"}
    with joblib.parallel_config("threading"):
        threaded = cross_val_score(VSAClassifier(device="cpu"), x, y, cv=3, n_jobs=3)
    np.testing.assert_array_equal(threaded, scores)


def test_embeddings_have_names_and_do_not_depend_on_the_order(classifier: VSAClassifier, regressor: VSARegressor):
    for model, y in ((classifier, WITH_NONE), (regressor, np.where(HIDDEN, np.nan, FRAME["size"].fillna(0)))):
        with pytest.raises(NotFittedError):
            model.embed(FRAME)
        found = model.fit(FRAME, y).embed(FRAME)
        names = model.get_embedding_names_out()
        assert found.shape == (60, len(names))
        assert names[0].endswith("_0")
        assert len(set(names)) == len(names)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(model.embed(FRAME[::-1])[::-1], found)


def test_embeddings_of_one_class(classifier: VSAClassifier):
    found = classifier.fit(FRAME, np.where(HIDDEN, None, "same")).embed(FRAME[:7])
    assert found.shape[0] == 7
    assert np.isfinite(found).all()
