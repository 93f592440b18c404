"""Foundation models for tables, for users who have their packages and weights. Nothing is downloaded.

Written after the sources of tabpfn 2.0.9, 2.2.1, 6.0.6 and 9.2.0, and of tabicl 0.1.4 and 2.2.0: arguments, what
`predict` returns, and where and under which names weights are kept are the same in all of them, or distinguished here.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod, seed_from
from vsacli.errors import ResourceError
from vsacli.kinds import TaskKind

WORDS: dict[TaskKind, str] = {"classification": "classifier", "regression": "regressor"}
NORMAL_QUANTILE = 1.2815515655446004  # of the standard normal, at 0.9


class FoundationModel(SimpleMethod):
    """A pretrained model that reads the labeled rows as its context."""

    name: ClassVar[str]
    both: ClassVar[bool] = False  # whether weights that name no kind of tasks serve both
    usual: ClassVar[tuple[str, ...]] = ()  # of several weights of a version, those that the package takes by itself

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    @classmethod
    def folders(cls) -> list[Path]:
        """Where its package keeps weights that were fetched before."""
        raise NotImplementedError

    @classmethod
    def weights(cls, kind: TaskKind) -> Path | None:
        """The weights of the newest installed version that serve a kind of tasks."""
        found = [p for folder in cls.folders() if folder.is_dir() for p in folder.rglob(f"{cls.name}*") if p.is_file()]
        return max((p for p in found if cls._serves(p.name, kind)), key=cls._order, default=None)

    @classmethod
    def _serves(cls, file: str, kind: TaskKind) -> bool:
        if not file.endswith((".ckpt", ".safetensors")):
            return False
        return WORDS[kind] in file or (cls.both and not any(word in file for word in WORDS.values()))

    @classmethod
    def _order(cls, path: Path) -> tuple[tuple[int, ...], bool, int, str]:
        """Later versions above earlier ones; then the package's own choice, then plain names above variants."""
        version = re.search(r"-v(\d+(?:\.\d+)*)", path.name)
        numbers = tuple(int(n) for n in version[1].split(".")) if version else ()
        return numbers, path.name in cls.usual or "_default." in path.name, -len(path.name), path.name

    @classmethod
    def weight_files(cls, device: str = "cpu") -> list[Path]:
        """The weights of both kinds of tasks."""
        return sorted({p for kind in WORDS if (p := cls.weights(kind)) is not None})

    def _weights(self, kind: TaskKind) -> str:
        path = self.weights(kind)
        if path is None:
            raise ResourceError(f"{self.name}: no weights for {kind} on this machine")
        return str(path)


class TabPFN(FoundationModel):
    """TabPFN (Hollmann et al. 2025), through the package tabpfn; weights in ``TABPFN_MODEL_CACHE_DIR`` or its cache.

    From version 3.5 on one file serves both kinds of tasks. Weights that are there are loaded without a question for
    licence or login; more than 1,000 labeled rows on a CPU are refused by the package.
    """

    name = "tabpfn"
    both = True
    usual = ("tabpfn-v2-classifier-finetuned-zk73skhh.ckpt", "tabpfn-v2-regressor.ckpt")

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        # Some versions (2.2 and 6.0 among them) report each fit to their makers unless this is set.
        os.environ.setdefault("TABPFN_DISABLE_TELEMETRY", "1")

    @classmethod
    def folders(cls) -> list[Path]:
        """The folder that the environment names, else the usual one of the system."""
        if named := os.environ.get("TABPFN_MODEL_CACHE_DIR"):
            return [Path(named)]
        if sys.platform == "win32":
            place = os.environ.get("APPDATA", "").strip()
            return [Path(place) / "tabpfn" if place else Path.cwd() / ".tabpfn_models"]
        if sys.platform == "darwin":
            return [Path.home() / "Library" / "Caches" / "tabpfn"]
        return [Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "tabpfn"]

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from tabpfn import TabPFNClassifier  # pyright: ignore[reportMissingImports]

        path = self._weights("classification")
        model = TabPFNClassifier(model_path=path, device=self.device, random_state=seed_from(rng))
        return np.asarray(model.fit(rows.labeled, rows.y).predict_proba(rows.unlabeled), np.float64)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        from tabpfn import TabPFNRegressor  # pyright: ignore[reportMissingImports]

        path = self._weights("regression")
        model = TabPFNRegressor(model_path=path, device=self.device, random_state=seed_from(rng))
        model.fit(rows.labeled, rows.y)
        answer = model.predict(rows.unlabeled, output_type="main", quantiles=[0.1, 0.9])
        return _moments(answer["mean"], *answer["quantiles"])


class TabICL(FoundationModel):
    """TabICL (Qu et al. 2025), through the package tabicl; weights in the cache of the Hugging Face Hub."""

    name = "tabicl"

    @classmethod
    def folders(cls) -> list[Path]:
        """Its repository in the Hub's cache, and the one of versions before 1."""
        from huggingface_hub import constants

        return [Path(constants.HF_HUB_CACHE) / f"models--jingang--{name}" for name in ("TabICL", "TabICL-clf")]

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from tabicl import TabICLClassifier  # pyright: ignore[reportMissingImports]

        model = TabICLClassifier(
            model_path=self._weights("classification"),
            allow_auto_download=False,
            device=self.device,
            random_state=seed_from(rng),
        )
        return np.asarray(model.fit(rows.labeled, rows.y).predict_proba(rows.unlabeled), np.float64)

    def regress(self, rows: Rows, rng: np.random.Generator) -> tuple[Floats, Floats]:
        from tabicl import TabICLRegressor  # pyright: ignore[reportMissingImports]

        model = TabICLRegressor(
            model_path=self._weights("regression"),
            allow_auto_download=False,
            device=self.device,
            random_state=seed_from(rng),
        )
        model.fit(rows.labeled, rows.y)
        answer = model.predict(rows.unlabeled, output_type=["mean", "quantiles"], alphas=[0.1, 0.9])
        return _moments(answer["mean"], *np.asarray(answer["quantiles"]).T)


def _moments(mean: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Mean, and the deviation of a normal distribution with these first and last deciles."""
    spread = np.asarray(high, np.float64) - np.asarray(low, np.float64)
    return np.asarray(mean, np.float64), np.maximum(spread / (2 * NORMAL_QUANTILE), 1e-6)
