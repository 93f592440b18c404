"""Self-training (Yarowsky, 1995): a classifier takes its own confident answers as further labels."""

from __future__ import annotations

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod
from vsacli.baselines.linear import logistic_regression


class SelfTraining(SimpleMethod):
    """scikit-learn's self-training over logistic regression: answers above `threshold` become labels."""

    def __init__(self, threshold: float = 0.75):
        self.threshold = threshold

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from sklearn.semi_supervised import SelfTrainingClassifier

        y = np.concatenate([rows.y, np.full(len(rows.unlabeled), -1)])
        model = SelfTrainingClassifier(logistic_regression(), threshold=self.threshold).fit(rows.all, y)
        return model.predict_proba(rows.unlabeled)
