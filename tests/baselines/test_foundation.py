"""TabPFN and TabICL through stand-ins of their packages: used with weights at hand, absent without, never fetched.

The stand-ins have the signatures that were read in tabpfn 2.0.9, 2.2.1, 6.0.6 and 9.2.0 and in tabicl 0.1.4 and 2.2.0
(arguments by keyword, kinds of output, the shape of quantiles); names of weights are those of these versions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vsacli.baselines import registry
from vsacli.baselines.base import standardize
from vsacli.baselines.foundation import TabICL, TabPFN
from vsacli.baselines.registry import absent, make_method, method_names, weight_files
from vsacli.errors import UsageError
from vsacli.evaluation.methods import absent_methods, choose_methods

NEAREST = """
import os
import numpy as np
class Nearest:
    def read(self, model_path):
        assert open(model_path).read() == "weights"
    def fit(self, X, y):
        self.x, self.y = X, y
        return self
    def nearest(self, x):
        return self.y[((x[:, None] - self.x) ** 2).sum(-1).argmin(1)]
    def predict_proba(self, X):
        return np.eye(self.y.max() + 1)[self.nearest(X)]
"""
TABPFN = (
    NEAREST
    + """
assert os.environ["TABPFN_DISABLE_TELEMETRY"] == "1"
class TabPFNClassifier(Nearest):
    def __init__(self, *, n_estimators="auto", model_path="auto", device="auto", random_state=0):
        self.read(model_path)
class TabPFNRegressor(TabPFNClassifier):
    def predict(self, X, *, output_type="mean", quantiles=None):
        mean = self.nearest(X)
        spread = [mean + (q - 0.5) * 2.5 for q in quantiles]
        return {"mean": mean, "median": mean, "mode": mean, "quantiles": spread} if output_type == "main" else mean
"""
)
TABICL = (
    NEAREST
    + """
class TabICLClassifier(Nearest):
    def __init__(self, n_estimators=8, *, model_path=None, allow_auto_download=True, device=None, random_state=42):
        assert not allow_auto_download
        self.read(model_path)
class TabICLRegressor(TabICLClassifier):
    def predict(self, X, output_type="mean", alphas=None):
        mean = self.nearest(X)
        return {"mean": mean, "quantiles": mean[:, None] + (np.array(alphas) - 0.5) * 2.5}
"""
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Both packages, and folders for their weights that are still empty."""
    (tmp_path / "packages").mkdir()
    monkeypatch.delenv("TABPFN_DISABLE_TELEMETRY", raising=False)
    for name, code in (("tabpfn", TABPFN), ("tabicl", TABICL)):
        (tmp_path / "packages" / f"{name}.py").write_text(code)
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
    os.environ.pop("TABPFN_DISABLE_TELEMETRY", None)


def test_without_packages_they_are_absent_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert absent("tabicl", "classification") == "the package tabicl is not installed"
    assert [n for n, _ in absent_methods(["all"], "classification")] == ["tabpfn", "tabicl"]
    assert [n for n, _ in absent_methods(["all"], "regression")] == ["tabpfn", "tabicl"]
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
        answer = make_method(name).fit_predict(e, np.random.default_rng(0))
        answer.check()
        assert (answer.probabilities.argmax(1) == e.answer).mean() > 0.8
    (installed / "pfn" / "tabpfn-v2-regressor.ckpt").write_text("weights")
    icl.with_name("tabicl-regressor-v2-20260212.ckpt").write_text("weights")
    e = line()
    x = standardize(e.x)
    distance = ((x[e.n_labeled :, None] - x[None, : e.n_labeled]) ** 2).sum(-1)
    expected = e.y[: e.n_labeled][distance.argmin(1)]
    for name in ("tabpfn", "tabicl"):
        prediction = make_method(name).fit_predict(e, np.random.default_rng(0))
        prediction.check()
        np.testing.assert_array_equal(prediction.mean, expected)
        np.testing.assert_allclose(prediction.std, 1 / 1.2815515655446004)  # deciles one below and one above the mean


def put(folder: Path, *names: str) -> None:
    """Files of these names, and what may lie beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*names, "tabpfn-v9-config.json", ".tabpfn-v9-classifier.ckpt.lock", "other-v9-classifier.ckpt"):
        (folder / name).write_text("weights")


def test_of_many_weights_the_newest_versions_usual_ones(installed: Path) -> None:
    pfn = installed / "pfn"
    steps = [
        (
            ("tabpfn-v2-classifier-znskzxi4.ckpt", "tabpfn-v2-classifier-finetuned-zk73skhh.ckpt"),
            ("tabpfn-v2-classifier-finetuned-zk73skhh.ckpt", None),
        ),
        (
            ("tabpfn-v2-regressor-wyl4o83o.ckpt", "tabpfn-v2-regressor.ckpt", "tabpfn-v2-regressor-v2_default.ckpt"),
            ("tabpfn-v2-classifier-finetuned-zk73skhh.ckpt", "tabpfn-v2-regressor.ckpt"),
        ),
        (
            ("tabpfn-v2.5-classifier-v2.5_variant.ckpt", "tabpfn-v2.5-classifier-v2.5_default.ckpt"),
            ("tabpfn-v2.5-classifier-v2.5_default.ckpt", "tabpfn-v2-regressor.ckpt"),
        ),
        (
            ("tabpfn-v3-classifier-v3_20260506_ood.ckpt", "tabpfn-v3-classifier-v3_default.ckpt"),
            ("tabpfn-v3-classifier-v3_default.ckpt", "tabpfn-v2-regressor.ckpt"),
        ),
        (  # one file for both kinds of tasks
            (
                "tabpfn-v3.5-20260909_multiclass.safetensors",
                "tabpfn-v3.5-20260909.safetensors",
                "tabpfn-v3.5-fast-20260909.safetensors",
            ),
            ("tabpfn-v3.5-20260909.safetensors", "tabpfn-v3.5-20260909.safetensors"),
        ),
        (
            ("tabpfn-v10-classifier-v10_default.ckpt",),
            ("tabpfn-v10-classifier-v10_default.ckpt", "tabpfn-v3.5-20260909.safetensors"),
        ),
    ]
    for names, expected in steps:
        put(pfn, *names)
        found = (TabPFN.weights("classification"), TabPFN.weights("regression"))
        assert tuple(p and p.name for p in found) == expected
    (pfn / "tabpfn-v10-classifier-v10_default.ckpt").unlink()
    assert weight_files("tabpfn") == [pfn / "tabpfn-v3.5-20260909.safetensors"]


def test_tabicl_of_all_versions(installed: Path) -> None:
    for repository, name in (
        ("TabICL-clf", "tabicl-classifier.ckpt"),
        ("TabICL-clf", "tabicl-classifier-v1-0208.ckpt"),
        ("TabICL-clf", "tabicl-classifier-v1.1-0506.ckpt"),
        ("TabICL", "tabicl-classifier-v2-20260212.ckpt"),
    ):
        put(installed / "hub" / f"models--jingang--{repository}" / "snapshots" / "abc", name)
        found = TabICL.weights("classification")
        assert found is not None
        assert found.name == name
    assert TabICL.weights("regression") is None
    assert "its weights for regression are not on this machine" in str(absent("tabicl", "regression"))


def test_where_weights_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TABPFN_MODEL_CACHE_DIR", "XDG_CACHE_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    home = Path.home()
    for platform, place in (
        ("linux", home / ".cache" / "tabpfn"),
        ("darwin", home / "Library" / "Caches" / "tabpfn"),
        ("win32", tmp_path / ".tabpfn_models"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        assert TabPFN.folders() == [place]
    monkeypatch.setenv("APPDATA", str(tmp_path / "data"))
    assert TabPFN.folders() == [tmp_path / "data" / "tabpfn"]
    monkeypatch.setattr(sys, "platform", "linux")
    for value, place in ((" ", home / ".cache"), (str(tmp_path / "c"), tmp_path / "c")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert TabPFN.folders() == [place / "tabpfn"]
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path / "named"))
    assert TabPFN.folders() == [tmp_path / "named"]
