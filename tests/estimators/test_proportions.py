"""`VSAClassifier(proportions=...)`: answers in the shares that the user knows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from vsacli import VSAClassifier
from vsacli.errors import UsageError


def table(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Two groups, two labels of each; the classes are the numbers 3 and 7."""
    rng = np.random.default_rng(2)
    code = np.arange(n) % 2
    y = np.where(np.arange(n) < 4, np.where(code == 0, 3.0, 7.0), np.nan)
    return rng.normal(size=(n, 3)) + 2 * code[:, None], y


@pytest.mark.parametrize("known", [{3: 0.8, 7: 0.2}, {7: 0.2}, {3: 64, 7.0: 16}])
def test_all_rows_have_the_shares(known: dict[float, float]):
    X, y = table()
    model = clone(VSAClassifier(device="cpu", proportions=known))
    assert isinstance(model, VSAClassifier)
    model.fit(X, y)
    np.testing.assert_allclose(model.label_distributions_.mean(axis=0), [0.8, 0.2], atol=1e-5)
    np.testing.assert_array_equal(model.transduction_[:4], y[:4])


def test_labels_drawn_at_random():
    X, y = table()
    y[1] = np.nan
    model = VSAClassifier(device="cpu", proportions="labels").fit(X, y)
    np.testing.assert_allclose(model.label_distributions_.mean(axis=0), [2 / 3, 1 / 3], atol=1e-5)


def test_new_rows_are_multiplied_by_the_same_factors():
    X, y = table()
    plain, model = (VSAClassifier(device="cpu", proportions=p).fit(X, y) for p in (None, {3: 0.8, 7: 0.2}))
    free = np.isnan(y)
    np.testing.assert_allclose(model.predict_proba(X[free]), model.label_distributions_[free], atol=1e-5)
    odds = [np.divide(*m.predict_proba(X[50:60]).T) for m in (model, plain)]
    np.testing.assert_allclose(odds[0] / odds[1], np.full(10, (odds[0] / odds[1])[0]), rtol=1e-3)
    assert (odds[0] > odds[1]).all()


def test_without_unlabeled_rows_the_labels_give_the_factors():
    X, y = table()
    known = np.flatnonzero(~np.isnan(y))
    plain, model = (
        VSAClassifier(device="cpu", proportions=p).fit(X[known], y[known]) for p in (None, {3: 0.9, 7: 0.1})
    )
    odds = [np.divide(*m.predict_proba(X[50:60]).T) for m in (model, plain)]
    np.testing.assert_allclose(odds[0] / odds[1], 9, rtol=1e-3)


@pytest.mark.parametrize("known", [{3: 0.8, 5: 0.2}, {3: 5}, "label", {3: -1, 7: 2}])
def test_what_are_no_shares_of_the_classes_is_refused(known):
    X, y = table()
    with pytest.raises(UsageError, match=r"^proportions"):
        VSAClassifier(device="cpu", proportions=known).fit(X, y)
