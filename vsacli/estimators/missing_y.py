"""The y of an estimator: which labels are missing, and what the given ones are.

NaN, None, pd.NA and NaT are missing, in an array, list or series of any dtype. So is the text "nan" in an array of
NumPy's own text type, since that is what ``np.array(["a", np.nan])`` makes of a NaN.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from vsacli.errors import DataError


def split_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The given classes, and which labels are missing.

    Returns
    -------
    given : ndarray, shape (L,)
        Of one plain type: text (object), bool, int64, float64, or the dtype that `y` has.
    missing : ndarray of bool, shape (n,)

    Raises
    ------
    DataError
        If `y` is not a column of labels, or mixes text and numbers.
    """
    values, missing = _split(y)
    given = values[~missing]
    if given.dtype == object:
        given = _narrowed(given)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise DataError("Input y contains infinity; make such labels finite, or NaN to have them filled")
    return given, missing


def warn_of_minus_one(given: np.ndarray, missing: np.ndarray) -> None:
    """Warn if −1 seems to stand for a missing label, as in scikit-learn's semi-supervised estimators.

    That is so if no label is missing, and at least half of them are −1, the least of several whole numbers (and not the
    other one of −1 and 1).
    """
    if missing.any() or given.dtype.kind != "i" or not len(given) or given.min() != -1:
        return
    classes = np.unique(given)
    if len(classes) > 1 and classes.tolist() != [-1, 1] and 2 * (given == -1).sum() >= len(given):
        warnings.warn(
            "y holds -1 in at least half of the rows, which is a class like any other here; if it stands for a missing "
            "label, give NaN or None instead: np.where(y == -1, np.nan, y)",
            UserWarning,
            stacklevel=3,
        )


def _narrowed(given: np.ndarray) -> np.ndarray:
    """Python objects, (L,), as the plain type that all of them are of."""
    if all(isinstance(v, str) for v in given):
        return given
    for kind, dtype in (((bool, np.bool_), np.bool_), (Integral, np.int64), (Real, np.float64)):
        if all(isinstance(v, kind) for v in given):
            try:
                return given.astype(dtype)
            except OverflowError:
                break
    kinds = " and ".join(sorted({type(v).__name__ for v in given}))
    if {v for v in given if not isinstance(v, str)} == {-1}:
        raise DataError("Unknown label type: y holds words and -1; if -1 stands for a missing label, give None instead")
    raise DataError(f"Unknown label type: y holds labels of mixed types ({kinds}); try y.astype(str)")


def split_numbers(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The given targets, float64 (L,), all finite; and which are missing, bool (n,).

    Raises
    ------
    DataError
        If `y` is not a column of numbers.
    """
    values, missing = _split(y)
    given = values[~missing]
    words = [v for v in given if isinstance(v, (str, bytes))] if given.dtype == object else []
    if given.dtype.kind in "mMcSU" or words:
        kind = type(words[0]).__name__ if words else str(given.dtype)
        raise DataError(f"y holds {kind} labels, which are not numbers; use VSAClassifier for classes")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as e:
        kinds = ", ".join(sorted({type(v).__name__ for v in given}))
        raise DataError(f"y holds something that is not a number ({kinds})") from e
    if not np.isfinite(numbers).all():
        raise DataError("Input y contains infinity; make such targets finite, or NaN to have them predicted")
    return numbers, missing


def _split(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """One dimension of values, and where they are missing; both (n,)."""
    import pandas as pd

    if isinstance(y, pd.DataFrame):
        y = y.iloc[:, 0].array if y.shape[1] == 1 and _warned(y) else y
    arrow = hasattr(y, "__arrow_c_array__") or hasattr(y, "__arrow_c_stream__")
    if arrow and not isinstance(y, (pd.DataFrame, pd.Series)):
        import pyarrow as pa

        y = pa.array(y) if hasattr(y, "__arrow_c_array__") else pa.chunked_array(y)
        y = y.to_pandas(types_mapper=pd.ArrowDtype)
    if isinstance(y, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        series = pd.Series(y)
        missing = series.isna().to_numpy(dtype=bool)
        given = series[~missing].to_numpy()
        values = np.empty(len(series), given.dtype)
        values[~missing] = given
        return values, missing
    if isinstance(y, (list, tuple)):
        y = np.asarray(y, dtype=object)  # else NumPy spells NaN among words as a word
    values = column_or_1d(np.asarray(y), warn=True)
    missing = np.asarray(pd.isna(values), dtype=bool)
    if values.dtype.kind == "U":
        missing = values == "nan"
        values = values.astype(object)
    return values, missing


def _warned(y: Any) -> bool:
    """The warning that scikit-learn gives for a y with a single column; True."""
    column_or_1d(np.zeros(y.shape), warn=True)
    return True
