"""What a notebook shows of a fitted estimator, and the page that it writes."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tests.estimators.frames import FRAME, WITH_NONE
from vsacli import VSAClassifier, VSARegressor
from vsacli.errors import DataError


def test_a_fitted_classifier_shows_its_classes_and_confidences(classifier: VSAClassifier):
    assert "labels given" not in classifier._repr_mimebundle_()["text/html"]
    y = np.array([None if label is None else f"<{label}>" for label in WITH_NONE], dtype=object)
    shown = classifier.fit(FRAME, y)._repr_mimebundle_()["text/html"]
    missing = pd.isna(y)
    assert f"{len(y)} rows, {(~missing).sum()} labels given, {missing.sum()} filled" in shown
    for name in classifier.classes_:
        given, filled = ((classifier.transduction_ == name) & rows for rows in (~missing, missing))
        cells = [name.replace("<", "&lt;").replace(">", "&gt;"), str(given.sum()), str(filled.sum())]
        assert "".join(f'<td style="text-align:right;padding:0 .6em">{cell}</td>' for cell in cells) in shown
        assert name not in shown
    bars = [int(part.split("<")[0].replace(",", "")) for part in shown.split("<title>")[1:21]]
    assert bars == np.histogram(classifier.label_distributions_.max(1)[missing], bins=20, range=(0, 1))[0].tolist()
    assert classifier._repr_html_ is not None
    assert "VSAClassifier" in shown


def test_a_fitted_regressor_shows_its_numbers(regressor: VSARegressor):
    y = np.where(np.arange(len(FRAME)) < 6, np.arange(len(FRAME), dtype=float), np.nan)
    shown = regressor.fit(FRAME, y)._repr_html_inner()
    filled = regressor.transduction_[6:]
    assert "6 labels given" in shown
    for value in (filled.min(), filled.mean(), filled.max()):
        assert f">{value:.4g}<" in shown
    assert "standard deviation" in shown


def test_the_page_is_of_the_answers_of_fit(classifier: VSAClassifier, tmp_path: Path):
    page = tmp_path / "page.html"
    with pytest.raises(NotFittedError):
        classifier.report(page)
    classifier.fit(FRAME, WITH_NONE)
    classifier.report(page)
    text = page.read_text(encoding="utf-8")
    missing = pd.isna(np.asarray(WITH_NONE, dtype=object))
    assert f"{missing.sum()} of {missing.sum()} missing labels filled, learned from {(~missing).sum()} given." in text
    for name in classifier.classes_:
        filled = int((classifier.transduction_[missing] == name).sum())
        assert f"<title>{name}, filled: {filled} (" in text


def test_a_regressors_page(regressor: VSARegressor, tmp_path: Path):
    y = np.where(np.arange(len(FRAME)) < 6, np.arange(len(FRAME), dtype=float), np.nan)
    regressor.fit(FRAME.to_numpy(dtype=object), y).report(tmp_path / "page.html")
    assert "missing numbers filled, learned from 6 given." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_pickle_has_no_table_for_a_page(classifier: VSAClassifier, tmp_path: Path):
    copy = pickle.loads(pickle.dumps(classifier.fit(FRAME, WITH_NONE)))
    with pytest.raises(DataError, match="call fit again"):
        copy.report(tmp_path / "page.html")
    assert "labels given" in copy._repr_html_inner()
