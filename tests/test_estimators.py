"""The scikit-learn estimators: its own checks, missing labels of every kind, and tables of every kind."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from vsacli import VSAClassifier, VSARegressor, checkpoints, estimators
from vsacli.checkpoints import save_checkpoint
from vsacli.errors import CheckpointError, DataError, UsageError
from vsacli.inference import InferenceConfig
from vsacli.nn import VSAModel, preset

CHUNK = InferenceConfig().chunk_rows
DEVIATIONS = {
    "check_methods_subset_invariance": "new rows are read together: each is an unlabeled row beside the others",
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Small networks in the place of the bundled ones: random, with heads sharp enough to fit what they are given."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for kind in ("classification", "regression"):
        torch.manual_seed(0)
        model = VSAModel(preset("small", kind, layers=1))
        with torch.no_grad():
            if kind == "regression":
                model.head.get_parameter("log_length").fill_(-2)
                model.head.get_parameter("log_noise").fill_(math.log(0.01))
        save_checkpoint(folder / kind, model, {}, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "bundled_folder", lambda: folder)
        estimators._load_once.cache_clear()
        yield folder
    estimators._load_once.cache_clear()


@parametrize_with_checks(
    [VSAClassifier(device="cpu"), VSARegressor(device="cpu")],
    expected_failed_checks=lambda estimator: DEVIATIONS,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator: Any, check: Any):
    check(estimator)


@pytest.fixture
def classifier() -> VSAClassifier:
    return VSAClassifier(device="cpu")


@pytest.fixture
def regressor() -> VSARegressor:
    return VSARegressor(device="cpu")


def make_frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Columns of every kind, with missing cells."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "shop": rng.choice(["north", "south", "east"], n),
            "day": pd.date_range("2024-01-01", periods=n, freq="37h"),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "open": rng.random(n) < 0.5,
        }
    )
    for row, column in ((3, "size"), (5, "count"), (7, "shop")):
        if row < n:
            frame.loc[row, column] = None
    return frame


FRAME = make_frame()
HIDDEN = np.random.default_rng(1).random(60) < 0.6
TRUTH = np.where(FRAME["size"].fillna(0) > 0, "pos", "neg").astype(object)
WITH_NONE = np.where(HIDDEN, None, TRUTH)

WORDS = {
    "object with None": WITH_NONE,
    "object with NaN": pd.Series(np.where(HIDDEN, np.nan, TRUTH)),
    "list with None": WITH_NONE.tolist(),
    "list with NaN": [math.nan if h else v for h, v in zip(HIDDEN, TRUTH, strict=True)],
    "list with NA": [pd.NA if h else v for h, v in zip(HIDDEN, TRUTH, strict=True)],
    "list with NaT": [pd.NaT if h else v for h, v in zip(HIDDEN, TRUTH, strict=True)],
    "str": pd.Series(WITH_NONE).astype("str"),
    "string": pd.Series(WITH_NONE).astype("string"),
    "category": pd.Series(WITH_NONE).astype("category"),
    "Categorical": pd.Categorical(WITH_NONE),
    "Index": pd.Index(WITH_NONE),
    "pandas of Arrow": pd.Series(WITH_NONE).astype(pd.ArrowDtype(pa.string())),
    "Arrow array": pa.array(WITH_NONE.tolist()),
    "Arrow column": pa.chunked_array([WITH_NONE[:10].tolist(), WITH_NONE[10:].tolist()]),
    "NumPy text, where NaN is spelled": np.array([math.nan if h else v for h, v in zip(HIDDEN, TRUTH, strict=True)]),
    "other index": pd.Series(WITH_NONE, index=np.arange(60)[::-1]),
}


@pytest.mark.parametrize("y", WORDS.values(), ids=WORDS.keys())
def test_missing_labels_of_every_dtype(classifier: VSAClassifier, y: Any):
    fitted = classifier.fit(FRAME, y)
    assert fitted.classes_.tolist() == ["neg", "pos"]
    assert fitted.transduction_.shape == (60,)
    assert fitted.transduction_[~HIDDEN].tolist() == TRUTH[~HIDDEN].tolist()
    reference = VSAClassifier(device="cpu").fit(FRAME, WITH_NONE)
    np.testing.assert_array_equal(fitted.label_distributions_, reference.label_distributions_)
    assert set(fitted.transduction_[HIDDEN]) <= {"neg", "pos"}


@pytest.mark.parametrize(
    ("values", "dtype", "classes"),
    [
        (pd.array([1, 0, None, 1, None], dtype="Int64"), np.int64, [0, 1]),
        (pd.array([True, False, None, True, None], dtype="boolean"), np.bool_, [False, True]),
        ([True, False, None, True, None], np.bool_, [False, True]),
        ([3, 1, None, 3, None], np.int64, [1, 3]),
        (np.array([3, 1, np.nan, 3, np.nan]), np.float64, [1.0, 3.0]),
        (pd.Series([3, 1, None, 3, None], dtype="category"), np.int64, [1, 3]),
        ([-1, 1, None, -1, None], np.int64, [-1, 1]),  # -1 is a class
        (pa.array([3, 1, None, 3, None]), np.int64, [1, 3]),
        ([2**70, 1, None, 1, None], object, [1, 2**70]),
    ],
)
def test_classes_keep_their_type(classifier: VSAClassifier, values: Any, dtype: Any, classes: list[Any]):
    if dtype is object:
        with pytest.raises(ValueError, match="Unknown label type"):
            classifier.fit(FRAME[:5], values)
        return
    fitted = classifier.fit(FRAME[:5], values)
    assert fitted.classes_.dtype == dtype
    assert fitted.classes_.tolist() == classes
    assert fitted.transduction_.dtype == dtype
    assert fitted.predict(FRAME[:3]).dtype == dtype


def test_a_column_of_labels_warns_as_scikit_learn_does(classifier: VSAClassifier):
    for y in (pd.DataFrame({"y": WITH_NONE}), WITH_NONE[:, None]):
        with pytest.warns(UserWarning, match="column-vector y was passed"):
            fitted = classifier.fit(FRAME, y)
        assert fitted.classes_.tolist() == ["neg", "pos"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([None] * 60, "y has no label in any of its 60 rows"),
        (np.full(60, np.nan), "y has no label in any of its 60 rows"),
        ([1, "a"] * 30, "Unknown label type: y holds int and str"),
        (np.linspace(0, 1, 60), "Unknown label type"),
        ([1.0, math.inf] * 30, "infinity"),
        (np.zeros((60, 2)), "1d array"),
        (pd.DataFrame({"a": [0] * 60, "b": [1] * 60}), "1d array"),
        ([1, 2], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_cannot_be(classifier: VSAClassifier, y: Any, message: str):
    with pytest.raises(ValueError, match=message):
        classifier.fit(FRAME, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([None] * 60, "no label"),
        ([1.5, math.inf] * 30, "infinity"),
        (["1.5", None] * 30, "use VSAClassifier for classes"),
        (np.array(["a", "b"] * 30), "use VSAClassifier for classes"),
        (pd.Series(pd.date_range("2024-01-01", periods=60)), "no number"),
        ([1 + 2j] * 60, "no number"),
        ([[1, 2]] * 60, "1d array"),
        ([{}] * 60, "no number"),
    ],
)
def test_targets_that_cannot_be(regressor: VSARegressor, y: Any, message: str):
    with pytest.raises(ValueError, match=message):
        regressor.fit(FRAME, y)


@pytest.mark.parametrize(
    "y",
    [
        [2.5, 1, None, 3, None],
        np.array([2.5, 1, np.nan, 3, np.nan]),
        pd.array([2.5, 1, None, 3, None], dtype="Float64"),
        pd.Series([2.5, 1, None, 3, None], dtype=object),
        pd.Series([2.5, 1, None, 3, None], dtype="category"),
        [Decimal("2.5"), 1, None, 3, None],
        pa.array([2.5, 1, None, 3, None]),
    ],
)
def test_missing_targets_of_every_dtype(regressor: VSARegressor, y: Any):
    fitted = regressor.fit(FRAME[:5], y)
    assert fitted.transduction_[[0, 1, 3]].tolist() == [2.5, 1, 3]
    assert np.isfinite(fitted.transduction_).all()
    assert (fitted.transduction_std_ > 0).tolist() == [False, False, True, False, True]


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
    from vsacli.inference import predict
    from vsacli.tables.attributes import AttributeEncoder, columns_of

    x = AttributeEncoder(0).fit_transform(columns_of(FRAME))
    codes = (TRUTH[~HIDDEN] == "pos").astype(int)
    checkpoint = checkpoints.load_checkpoint(folder / "classification")
    expected = predict(checkpoint, x, ~HIDDEN, codes, 2, device="cpu").proba
    actual = classifier.fit(FRAME, WITH_NONE).label_distributions_[HIDDEN]
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


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
    monkeypatch.setattr(checkpoints, "bundled_folder", lambda: Path("nowhere"))
    estimators._load_once.cache_clear()
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


@pytest.mark.parametrize(
    "make",
    [
        lambda f: f,
        lambda f: f.set_index("size", drop=False),
        lambda f: pa.Table.from_pandas(f),
        lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
        lambda f: f.to_numpy(),
        lambda f: f.to_numpy().tolist(),
    ],
    ids=["frame", "index", "Arrow", "pandas of Arrow", "array of objects", "lists"],
)
def test_tables_of_every_kind(classifier: VSAClassifier, make: Any):
    fitted = classifier.fit(make(FRAME), WITH_NONE)
    assert fitted.n_features_in_ == 6
    assert (fitted.label_distributions_.sum(1) > 0.999).all()
    assert fitted.predict(make(FRAME[HIDDEN])).shape == (HIDDEN.sum(),)
    if hasattr(fitted, "feature_names_in_"):
        assert fitted.feature_names_in_.tolist() == FRAME.columns.tolist()


def test_dates_words_and_numbers_become_attributes(classifier: VSAClassifier):
    """Each column alone tells the classes, so that only its encoding can say them."""
    n = 40
    low = np.arange(n) % 2 == 0
    rng = np.random.default_rng(0)
    for column in (
        np.where(low, "red", "blue"),
        pd.Categorical(np.where(low, "x", "y")),
        [date(2001 if a else 2023, 1 + i % 12, 1 + i % 28) for i, a in enumerate(low)],
        np.where(low, 1.0, 9.0) + rng.normal(size=n) * 0.1,
        low,
        [["north", "south"][int(a)] if i % 5 else None for i, a in enumerate(low)],
    ):
        y = np.where(low, "a", "b").astype(object)
        y[10:] = None
        fitted = classifier.fit(pd.DataFrame({"c": column}), y)
        sure = [i for i in range(n) if not (isinstance(column, list) and column[i] is None)]
        right = (fitted.transduction_ == np.where(low, "a", "b"))[sure].mean()
        assert right > 0.85  # a date has attributes that say nothing, too, and the network is a random one


def test_columns_are_matched_by_place_and_names_are_checked(classifier: VSAClassifier):
    named = pd.DataFrame({"a": [0.0, 1, 0, 1, 0], "b": [5.0, 3, 4, 5, 3]})
    fitted = classifier.fit(named, [0, 1, None, None, None])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        unnamed = fitted.predict_proba(named.to_numpy())
    np.testing.assert_array_equal(unnamed, fitted.predict_proba(named))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(named[["b", "a"]])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(named[["a"]])
    with pytest.raises(ValueError, match="expecting 2 features"):
        classifier.fit(named.to_numpy(), [0, 1, None, None, None]).predict(named.to_numpy()[:, :1])


def test_duplicate_names_are_two_columns(classifier: VSAClassifier):
    frame = pd.DataFrame([[0, 9.0], [1, 2], [0, 8], [1, 1.5]], columns=["a", "a"])
    fitted = classifier.fit(frame, ["x", "y", None, None])
    assert fitted.feature_names_in_.tolist() == ["a", "a (2)"]
    assert fitted.predict(frame).tolist() == ["x", "y", "x", "y"]


def test_values_that_fit_did_not_see(classifier: VSAClassifier):
    fitted = classifier.fit(FRAME, WITH_NONE)
    new = make_frame(4, seed=3).assign(shop="west", count=pd.array([None] * 4, dtype="Int64"))
    assert np.isfinite(fitted.predict_proba(new)).all()


@pytest.mark.parametrize(
    "x", [FRAME[:0], FRAME[[]], np.zeros((0, 3)), np.zeros((60, 0)), [], sparse.eye(60).tocsr(), np.zeros(60)]
)
def test_tables_that_cannot_be(classifier: VSAClassifier, x: Any):
    with pytest.raises((ValueError, TypeError)):
        classifier.fit(x, WITH_NONE[: x.shape[0] if hasattr(x, "shape") else 0])
    fitted = classifier.fit(FRAME, WITH_NONE)
    with pytest.raises((ValueError, TypeError)):
        fitted.predict(x)


def test_no_column_to_learn_from(classifier: VSAClassifier, regressor: VSARegressor):
    frame = pd.DataFrame({"same": [1] * 60, "empty": [None] * 60})
    with pytest.raises(DataError, match=r"no column to learn from .same: constant"):
        classifier.fit(frame, WITH_NONE)
    with pytest.raises(DataError, match="no column to learn from"):
        regressor.fit(frame, np.arange(60.0))


def test_not_fitted(classifier: VSAClassifier, regressor: VSARegressor):
    for method in (classifier.predict, classifier.predict_proba, regressor.predict):
        with pytest.raises(NotFittedError):
            method(FRAME)


def test_a_checkpoint_of_the_other_kind_or_an_unknown_device(folder: Path):
    with pytest.raises(CheckpointError, match="serves regression"):
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
    assert copy.get_params() == {"checkpoint": folder / "classification", "device": "cpu", "random_state": 5}
    assert repr(VSARegressor()) == "VSARegressor()"


def test_a_pickle_holds_no_network(classifier: VSAClassifier, tmp_path: Path):
    fitted = classifier.fit(FRAME, WITH_NONE)
    data = pickle.dumps(fitted)
    assert len(data) < 20_000  # the network alone has more
    assert b"torch" not in data
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    expected = fitted.predict_proba(FRAME)
    estimators._load_once.cache_clear()
    for other in (pickle.loads(data), joblib.load(tmp_path / "fitted.joblib")):
        assert np.array_equal(other.predict_proba(FRAME), expected)
        assert np.array_equal(other.transduction_, fitted.transduction_)


def test_the_network_is_read_once_and_again_when_its_file_changes(tmp_path: Path, folder: Path):
    torch.manual_seed(0)
    save_checkpoint(tmp_path, VSAModel(preset("small", layers=1)), {}, "")
    first = estimators._load(str(tmp_path), "classification")
    assert estimators._load(str(tmp_path), "classification") is first
    save_checkpoint(tmp_path, VSAModel(preset("small", layers=2)), {}, "")
    assert estimators._load(str(tmp_path), "classification").model.config.layers == 2


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


def test_the_package_is_light_until_something_is_used():
    code = """
import sys, vsacli
heavy = {"torch", "sklearn", "pandas", "pyarrow", "numpy"} & set(sys.modules)
assert not heavy, heavy
assert {"VSAClassifier", "VSARegressor", "load_checkpoint", "VsaError", "__version__"} <= set(dir(vsacli))
assert issubclass(vsacli.VsaError, Exception)
from vsacli import VSAClassifier, load_checkpoint
assert not {"torch"} & set(sys.modules)
try:
    vsacli.nothing
except AttributeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "module 'vsacli' has no attribute 'nothing'"


def test_star_import_has_the_public_names():
    import vsacli

    assert {name for name in vsacli.__all__ if not hasattr(vsacli, name)} == set()


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
