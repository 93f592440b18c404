"""Tables as the estimators take them: frames, arrays, Arrow; names, values and what cannot be one."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from tests.estimators.frames import FRAME, HIDDEN, WITH_NONE, make_frame
from vsacli import VSAClassifier, VSARegressor
from vsacli.errors import DataError


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
    fitted: Any = classifier.fit(make(FRAME), WITH_NONE)
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
        assert right > 0.85  # a date also has attributes that carry no information, and the network is a random one


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
    fitted: Any = classifier.fit(frame, ["x", "y", None, None])
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


@pytest.mark.parametrize(
    "make", [lambda f: f.iloc[0], lambda f: f["size"], lambda f: f["size"].to_numpy(), lambda f: pa.array(f["size"])]
)
def test_one_row_or_column_raises_as_in_scikit_learn(classifier: VSAClassifier, make: Any):
    fitted = classifier.fit(FRAME, WITH_NONE)
    with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional container"):
        fitted.predict(make(FRAME))


def test_sparse_rows_say_what_to_do(classifier: VSAClassifier):
    for make in (sparse.csr_matrix, sparse.csr_array):
        with pytest.raises(TypeError, match=r"\.toarray\(\)"):
            classifier.fit(make(np.eye(60)), WITH_NONE)
