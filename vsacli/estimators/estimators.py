"""The labeler as scikit-learn estimators: `VSAClassifier` and `VSARegressor`.

Rows whose label is missing (NaN, None, pd.NA, NaT) are unlabeled rows of the table, which the network reads together
with the labeled ones; `transduction_` holds their answers after `fit`. There is nothing to train: `fit` encodes the
columns and asks a network that was trained on many other tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from vsacli.estimators.base import VSAEstimator
from vsacli.estimators.missing_y import split_classes, split_numbers, warn_of_minus_one
from vsacli.inference.answers import Answers
from vsacli.target.proportions import shares_of

if TYPE_CHECKING:
    import pyarrow as pa


class VSAClassifier(ClassifierMixin, VSAEstimator):
    """Classify rows from a handful of labels, reading labeled and unlabeled rows together.

    Parameters
    ----------
    checkpoint : str or path, optional
        A folder, the name of a bundled checkpoint, or a repository of the Hugging Face Hub; None is the bundled one.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
        Where the network runs.
    random_state : int, RandomState or None, default=0
        Which rows are read together in a large table, and the encoding of text.
    proportions : mapping of class to number or "labels", optional
        The shares of the classes among all rows, if you know them, scaled to sum 1: accuracy rises. Of shares of 1
        one class may be left out. "labels": the rows with a label were drawn at random, so theirs are the shares.

    Attributes
    ----------
    classes_ : ndarray, shape (C,)
        The labels seen in `fit`, sorted.
    transduction_ : ndarray, shape (n,)
        A label for every row of `fit`: the given ones as they are, the others filled in.
    label_distributions_ : ndarray of float64, shape (n, C)
        Class probabilities of every row of `fit`; 1 for a given label.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Only where X has names of columns.

    Notes
    -----
    A missing label is NaN, None, pd.NA or NaT. The -1 of scikit-learn's own semi-supervised estimators is a class like
    any other here.

    If `fit` had more than 256 different unlabeled rows, `predict` answers each row from these and the labeled ones, as
    `fit` did, whatever other rows it comes with, and a row of `fit` gets its answer again (nearly so if there are more
    than 25 classes). With fewer, the rows of `predict` are unlabeled rows themselves, read together with those of `fit`
    up to 256 in all, and the answer for a row depends a little on the others; the unlabeled rows of `fit` alone get
    those of `transduction_` again. Of 32,768 different rows and more, a small network answers most, which learns from
    the answers for the others.

    With `proportions` the mean probabilities of the unlabeled rows of `fit` are what its labels leave of the shares, by
    one factor for each class. `predict` multiplies by the same factors, whatever rows it is given. Without unlabeled
    rows in `fit` the factors are the shares over those of the labels.

    Columns may hold numbers, booleans, categories, dates and text; missing values are welcome.

    Examples
    --------
    >>> from vsacli import VSAClassifier
    >>> labeler = VSAClassifier().fit(frame.drop(columns="kind"), frame["kind"])  # doctest: +SKIP
    >>> frame["kind"] = labeler.transduction_  # doctest: +SKIP
    """

    _kind = "classification"

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        proportions: Mapping[Any, float] | Literal["labels"] | None = None,
    ) -> None:
        super().__init__(checkpoint, device, random_state)
        self.proportions: Mapping[Any, float] | Literal["labels"] | None = proportions

    def _read(self, X: Any, y: Any) -> None:
        given, missing = split_classes(y)
        if len(given):
            check_classification_targets(given)
            warn_of_minus_one(given, missing)
        self.classes_, codes = np.unique(given, return_inverse=True)
        shares = None
        if self.proportions is not None and len(given):
            counts = np.bincount(codes, minlength=len(self.classes_))
            shares, _ = shares_of(self.proportions, self.classes_.tolist(), counts, "proportions")
        answer = self._answer(X, codes, missing, len(self.classes_), shares)
        proba = np.zeros((len(missing), len(self.classes_)))
        proba[np.flatnonzero(~missing), codes] = 1
        proba[missing] = _normalised(answer)
        self.label_distributions_ = proba
        self.transduction_ = self.classes_[proba.argmax(1)]

    def _label_cells(self) -> pa.Array:
        import pyarrow as pa

        labels = [
            None if missing else str(label) for label, missing in zip(self.transduction_, self._missing, strict=True)
        ]
        return pa.array(labels, pa.large_string())

    def _summary_html(self) -> str:
        from vsacli.estimators.display import classes_html

        return classes_html(type(self).__name__, self.classes_.tolist(), self.label_distributions_, self._missing)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, float64 (n, C), in the order of `classes_`."""
        return _normalised(self._predict(X))


class VSARegressor(RegressorMixin, VSAEstimator):
    """Predict numbers from a handful of them, reading labeled and unlabeled rows together.

    Parameters
    ----------
    checkpoint, device, random_state
        As for :class:`VSAClassifier`.

    Attributes
    ----------
    transduction_ : ndarray of float64, shape (n,)
        A number for every row of `fit`: the given ones as they are, the others predicted.
    transduction_std_ : ndarray of float64, shape (n,)
        Standard deviation of each; 0 for a given number.
    n_features_in_, feature_names_in_
        As for :class:`VSAClassifier`.

    Notes
    -----
    Missing targets, new rows and columns are understood as by :class:`VSAClassifier`.
    """

    _kind = "regression"

    def _read(self, X: Any, y: Any) -> None:
        given, missing = split_numbers(y)
        answer = self._answer(X, given, missing, 0)
        self.transduction_ = np.empty(len(missing))
        self.transduction_std_ = np.zeros(len(missing))
        self.transduction_[~missing] = given
        self.transduction_[missing], self.transduction_std_[missing] = answer.mean, answer.std

    def _label_cells(self) -> pa.Array:
        import pyarrow as pa

        return pa.array(self.transduction_, pa.float64(), mask=self._missing)

    def _summary_html(self) -> str:
        from vsacli.estimators.display import numbers_html

        return numbers_html(type(self).__name__, self.transduction_, self.transduction_std_, self._missing)

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predicted numbers, float64 (n,); with `return_std`, also their standard deviations (n,)."""
        mean, std = self._predict(X).numbers
        return (mean, std) if return_std else mean


def _normalised(answer: Answers) -> np.ndarray:
    """Probabilities in float64 whose sum is 1 to its last digits."""
    proba = answer.probabilities.astype(np.float64)
    return proba / proba.sum(1, keepdims=True)
