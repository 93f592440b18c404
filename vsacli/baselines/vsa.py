"""Our own network as one of the compared methods."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from vsacli.baselines.base import ClassPrediction, RegressionPrediction
from vsacli.tasks.episode import Episode, TaskKind

if TYPE_CHECKING:
    from vsacli.checkpoints import Checkpoint


class VSA:
    """The VSA network of a checkpoint, through the same call that `vsa label` makes.

    Parameters
    ----------
    checkpoint : str, optional
        As `load_checkpoint` takes it; None is the bundled one for the kind of the episode.
    device : str
        As `vsacli.inference.predict` takes it.
    """

    def __init__(self, checkpoint: str | None = None, device: str = "cpu"):
        self.checkpoint = checkpoint
        self.device = device

    def fit_predict(self, episode: Episode, rng: np.random.Generator) -> ClassPrediction | RegressionPrediction:
        """One pass of the network over labeled and unlabeled rows."""
        from vsacli.inference import predict

        labeled = np.arange(len(episode.x)) < episode.n_labeled
        answer = predict(
            _load(self.checkpoint, episode.kind),
            episode.x,
            labeled,
            episode.y[labeled],
            episode.n_classes if episode.kind == "classification" else 0,
            device=self.device,
            seed=int(rng.integers(2**31 - 1)),
        )
        if episode.kind == "classification":
            probs = np.asarray(answer.proba, np.float64)
            return ClassPrediction(probs / probs.sum(axis=1, keepdims=True))
        return RegressionPrediction(np.asarray(answer.mean, np.float64), np.asarray(answer.std, np.float64))


@lru_cache(maxsize=8)
def _load(ref: str | None, kind: TaskKind) -> Checkpoint:
    from vsacli.checkpoints import load_checkpoint

    return load_checkpoint(ref, kind=kind)
