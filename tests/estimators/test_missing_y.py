"""Labels and targets as the estimators take them: missing ones of every kind, and what cannot be one."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.estimators.frames import FRAME, HIDDEN, TRUTH, WITH_NONE
from vsacli import VSAClassifier, VSARegressor

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
        ([1, "a"] * 30, r"Unknown label type: y holds labels of mixed types \(int and str\)"),
        ([-1, "a"] * 30, "holds words and -1; if -1 stands for a missing label, give None instead"),
        (np.linspace(0, 1, 60), "Unknown label type: continuous. Maybe you are trying to fit a classifier"),
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
        (pd.Series(pd.date_range("2024-01-01", periods=60)), "not numbers"),
        ([1 + 2j] * 60, "not a number"),
        ([[1, 2]] * 60, "1d array"),
        ([{}] * 60, "not a number"),
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


def test_minus_one_in_most_rows_is_warned_of(classifier: VSAClassifier):
    y = np.where(HIDDEN, -1, (TRUTH == "pos").astype(int))
    with pytest.warns(UserWarning, match="if it stands for a missing label, give NaN or None instead"):
        classifier.fit(FRAME, y)
    assert classifier.classes_.tolist() == [-1, 0, 1]
    missing = np.where(y == -1, np.nan, y)  # what the warning says
    assert classifier.fit(FRAME, missing).classes_.tolist() == [0, 1]
    for fine in (2 * (TRUTH == "pos") - 1, np.where(HIDDEN, None, -(TRUTH == "pos").astype(int))):
        classifier.fit(FRAME, fine)
