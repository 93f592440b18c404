"""TabPFN and TabICL through stand-ins of their packages: used with weights at hand, absent without, never fetched."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from vsacli.baselines import registry
from vsacli.baselines.registry import absent, make_method, method_names, weight_files
from vsacli.errors import UsageError
from vsacli.evaluation.methods import absent_methods, choose_methods

STAND_IN = """
import numpy as np
class Model:
    def __init__(self, model_path, device, random_state, allow_auto_download=False):
        assert open(model_path).read() == "weights"
        assert not allow_auto_download
    def fit(self, x, y):
        self.x, self.y = x, y
        return self
    def nearest(self, x):
        return self.y[((x[:, None] - self.x) ** 2).sum(-1).argmin(1)]
    def predict_proba(self, x):
        return np.eye(self.y.max() + 1)[self.nearest(x)]
    def predict(self, x, output_type="mean", quantiles=()):
        return self.nearest(x) if output_type == "mean" else [self.nearest(x) - 1.0, self.nearest(x) + 1.0]
TabPFNClassifier = TabPFNRegressor = TabICLClassifier = Model
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both packages, and folders for their weights that are still empty."""
    (tmp_path / "packages").mkdir()
    for name in ("tabpfn", "tabicl"):
        (tmp_path / "packages" / f"{name}.py").write_text(STAND_IN)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    weights = tmp_path / "hub" / "models--jingang--TabICL" / "snapshots" / "abc"
    weights.mkdir(parents=True)
    (tmp_path / "pfn").mkdir()
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path / "pfn"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    yield tmp_path
    for name in ("tabpfn", "tabicl"):
        sys.modules.pop(name, None)


def test_without_packages_they_are_absent_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert absent("tabicl", "classification") == "the package tabicl is not installed"
    assert [n for n, _ in absent_methods(["all"], "classification")] == ["tabpfn", "tabicl"]
    assert [n for n, _ in absent_methods(["all"], "regression")] == ["tabpfn"]
    specs = choose_methods("tabpfn,knn,tabicl", None, "classification", [], "cpu")
    assert [s.label for s in specs] == ["knn"]
    with pytest.raises(UsageError, match="tabpfn: the package tabpfn is not installed"):
        choose_methods("tabpfn", None, "classification", [], "cpu")


def test_without_weights_they_are_absent(installed: Path) -> None:
    assert "not on this machine" in str(absent("tabpfn", "classification"))
    assert "not on this machine" in str(absent("tabicl", "classification"))
    assert not {"tabpfn", "tabicl"} & set(method_names("classification"))


def test_with_weights_they_answer(installed: Path, blobs, line) -> None:
    pfn = installed / "pfn" / "tabpfn-v2-classifier.ckpt"
    icl = installed / "hub" / "models--jingang--TabICL" / "snapshots" / "abc" / "tabicl-classifier-v1.ckpt"
    for path in (pfn, icl):
        path.write_text("weights")
    assert {"tabpfn", "tabicl"} <= set(method_names("classification"))
    assert "tabpfn" not in method_names("regression")
    assert weight_files("tabpfn") == [pfn]
    e = blobs(n_unlabeled=9)
    for name in ("tabpfn", "tabicl"):
        probs = make_method(name).fit_predict(e, np.random.default_rng(0)).probs
        assert (probs.argmax(1) == e.answer).mean() > 0.8
    (installed / "pfn" / "tabpfn-v2-regressor.ckpt").write_text("weights")
    prediction = make_method("tabpfn").fit_predict(line(), np.random.default_rng(0))
    np.testing.assert_allclose(prediction.std, 1 / 1.2815515655446004)
