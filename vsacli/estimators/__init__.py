"""scikit-learn estimators over the network."""

from vsacli.estimators.estimators import VSAClassifier, VSARegressor

__all__ = ["VSAClassifier", "VSARegressor"]
