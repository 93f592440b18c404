"""Foundation models for tables, where the user has them: their packages and their weights. Nothing is downloaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np

from vsacli.baselines.base import Floats, Rows, SimpleMethod, seed_from
from vsacli.errors import ResourceError
from vsacli.tasks.episode import TaskKind

WORDS: dict[TaskKind, str] = {"classification": "classifier", "regression": "regressor"}
NORMAL_QUANTILE = 1.2815515655446004  # of the standard normal, at 0.9


class FoundationModel(SimpleMethod):
    """A pretrained model that reads the labeled rows as its context."""

    name: ClassVar[str]

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    @classmethod
    def folders(cls) -> list[Path]:
        """Where its package keeps weights that were fetched before."""
        raise NotImplementedError

    @classmethod
    def weights(cls, kind: TaskKind) -> Path | None:
        """The newest weights at hand for a kind of tasks, by name."""
        pattern = f"{cls.name}*{WORDS[kind]}*.ckpt"
        found = [p for folder in cls.folders() if folder.is_dir() for p in folder.rglob(pattern) if p.is_file()]
        return max(found, key=lambda p: p.name, default=None)

    @classmethod
    def weight_files(cls, device: str = "cpu") -> list[Path]:
        """The weights of both kinds of tasks."""
        return [p for kind in WORDS if (p := cls.weights(kind)) is not None]

    def _weights(self, kind: TaskKind) -> str:
        path = self.weights(kind)
        if path is None:
            raise ResourceError(f"{self.name}: no weights for {kind} on this machine")
        return str(path)


class TabPFN(FoundationModel):
    """TabPFN (Hollmann et al. 2025), through the package tabpfn; weights in ``TABPFN_MODEL_CACHE_DIR`` or its cache."""

    name = "tabpfn"

    @classmethod
    def folders(cls) -> list[Path]:
        """The folder that the environment names, else the usual one of the system."""
        if named := os.environ.get("TABPFN_MODEL_CACHE_DIR"):
            return [Path(named)]
        if sys.platform == "win32":
            return [Path(os.environ.get("APPDATA", Path.home())) / "tabpfn"]
        if sys.platform == "darwin":
            return [Path.home() / "Library" / "Caches" / "tabpfn"]
        return [Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tabpfn"]

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
        low, high = model.predict(rows.unlabeled, output_type="quantiles", quantiles=[0.1, 0.9])
        mean = np.asarray(model.predict(rows.unlabeled), np.float64)
        return mean, np.maximum((np.asarray(high) - np.asarray(low)) / (2 * NORMAL_QUANTILE), 1e-6)


class TabICL(FoundationModel):
    """TabICL (Qu et al. 2025), through the package tabicl; weights in the cache of the Hugging Face Hub."""

    name = "tabicl"

    @classmethod
    def folders(cls) -> list[Path]:
        """Its repository in the Hub's cache."""
        from huggingface_hub import constants

        return [Path(constants.HF_HUB_CACHE) / "models--jingang--TabICL"]

    def classify(self, rows: Rows, rng: np.random.Generator) -> Floats:
        from tabicl import TabICLClassifier  # pyright: ignore[reportMissingImports]

        model = TabICLClassifier(
            model_path=self._weights("classification"),
            allow_auto_download=False,
            device=self.device,
            random_state=seed_from(rng),
        )
        return np.asarray(model.fit(rows.labeled, rows.y).predict_proba(rows.unlabeled), np.float64)
