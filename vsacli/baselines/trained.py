"""The network of a checkpoint, ours or that of a method to compare it with, as a compared method."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vsacli.baselines.base import seed_from
from vsacli.inference.answers import Answers
from vsacli.kinds import TaskKind
from vsacli.tasks.episode import Episode

if TYPE_CHECKING:
    from vsacli.checkpoints.folder import Checkpoint


class Trained:
    """The network of a checkpoint, through the same call that `vsa label` makes.

    Parameters
    ----------
    checkpoint : str, optional
        As `load_checkpoint` takes it; None is the bundled one for the kind of the episode.
    device : str
        As `vsacli.inference.device.choose_device` takes it.
    """

    def __init__(self, checkpoint: str | None = None, device: str = "cpu"):
        self.checkpoint = checkpoint
        self.device = device

    @staticmethod
    def weight_files(checkpoint: str | None = None, device: str = "cpu") -> list[Path]:
        """The weights of the checkpoint, or of all bundled ones."""
        from vsacli.checkpoints.folder import WEIGHTS_FILE
        from vsacli.checkpoints.resolve import bundled_checkpoints

        bundled = bundled_checkpoints()
        folders = list(bundled.values()) if checkpoint is None else [bundled.get(checkpoint, Path(checkpoint))]
        return [f / WEIGHTS_FILE for f in folders if (f / WEIGHTS_FILE).is_file()]

    def fit_predict(self, episode: Episode, rng: np.random.Generator) -> Answers:
        """One pass of the network over labeled and unlabeled rows."""
        from vsacli.inference.config import InferenceConfig
        from vsacli.inference.predict import predict
        from vsacli.inference.reading import Known

        labeled = np.arange(len(episode.x)) < episode.n_labeled
        given = episode.given
        y = episode.y[labeled] if given is None else given.y
        classes = episode.kind == "classification"
        # The network is asked about classes that have a label; the others get none of its probability.
        seen, codes = np.unique(y, return_inverse=True) if classes else (y[:0], y)
        answer = predict(
            load(self.checkpoint, episode.kind),
            episode.x,
            labeled,
            codes,
            len(seen),
            config=InferenceConfig(device=self.device, seed=seed_from(rng)),
            known=Known(further=episode.further, logarithms=given is not None, words=episode.words),
        )
        if classes:
            found = np.asarray(answer.proba, np.float64)
            probs = np.zeros((episode.n_unlabeled, episode.n_classes))
            probs[:, seen] = found / found.sum(axis=1, keepdims=True)
            return Answers(proba=probs)
        mean, std = (np.asarray(part, np.float64) for part in answer.numbers)
        if given is None:
            return Answers(mean=mean, std=std)
        return Answers(mean=(mean - given.center) / given.spread, std=std / given.spread)


def embeddings(checkpoint: str | None, episode: Episode) -> np.ndarray:
    """Embeddings of all rows of an episode, labeled first (N, E): what the paper's Figure 5 shows."""
    import torch

    from vsacli.tasks.collate import collate

    with torch.inference_mode():
        return load(checkpoint, episode.kind).model.embed(collate([episode]).tasks)[0].float().numpy()


def load(ref: str | None, kind: TaskKind) -> Checkpoint:
    """The checkpoint, read once per process, and again when its weights were rewritten."""
    return _load(ref, kind, tuple(f.stat().st_mtime_ns for f in Trained.weight_files(ref)))


@lru_cache(maxsize=8)
def _load(ref: str | None, kind: TaskKind, written: tuple[int, ...]) -> Checkpoint:
    from vsacli.checkpoints.resolve import load_checkpoint

    return load_checkpoint(ref, kind=kind)
