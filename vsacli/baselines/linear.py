"""Linear models: logistic regression for classes, ridge regression for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vsacli.baselines.base import Floats, Rows, SimpleMethod, standardize


def logistic_regression() -> Any:
    """L2-penalised multinomial logistic regression with scikit-learn's usual strength."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=1000)


class Logistic(SimpleMethod):
    """Logistic regression on the labeled rows."""

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        return logistic_regression().fit(rows.labeled, rows.y).predict_proba(rows.unlabeled)


class Ridge(SimpleMethod):
    """Ridge regression, its strength chosen by exact leave-one-out error, which also gives the deviation.

    Attributes are seen before their smooth clip, which bends lines, up to four deviations.
    """

    strengths = np.logspace(-2, 4, 25)

    def attributes(self, x: NDArray[np.floating]) -> Floats:
        import torch

        from vsacli.nn.scales import VALUE_LIMIT, unlimited

        return standardize(unlimited(torch.from_numpy(np.asarray(x, np.float64)), VALUE_LIMIT).numpy())

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        from sklearn.linear_model import RidgeCV

        model = RidgeCV(alphas=self.strengths, store_cv_results=True).fit(rows.labeled, rows.y)
        errors = model.cv_results_[:, np.flatnonzero(self.strengths == model.alpha_)[0]]
        n = len(rows.unlabeled)
        return model.predict(rows.unlabeled), np.full(n, np.sqrt(np.mean(errors)))
