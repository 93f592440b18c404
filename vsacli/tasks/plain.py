"""The paper's episodes (Algorithm 1, lines 2-4): whole tables, so many rows of each class, nothing changed."""

from __future__ import annotations

import numpy as np

from vsacli.tasks.draw import draw_balanced, draw_rows
from vsacli.tasks.episode import Episode
from vsacli.tasks.sampler import BatchPlan, BatchSampler, DrawnRows, class_episode, log_uniform, number_episode
from vsacli.tasks.store import EncodedTable

SYNTHETIC_ATTRIBUTES = (2, 10)
SYNTHETIC_CLASSES = (2, 5)


class PlainSampler(BatchSampler):
    """Batches of ``config.tasks[0]`` episodes: each a random table with all its attributes and classes.

    Of the config, ``shots``, ``unlabeled`` (or the rows of a regression), ``tasks`` and the share of
    synthetic episodes are read. Tables of the other kind of task do not serve.
    """

    def _plan(self, rng: np.random.Generator) -> BatchPlan:
        c = self.config
        attributes = log_uniform(rng, SYNTHETIC_ATTRIBUTES)
        if self.kind == "classification":
            classes = int(rng.integers(SYNTHETIC_CLASSES[0], SYNTHETIC_CLASSES[1] + 1))
            labeled, unlabeled = log_uniform(rng, c.shots), log_uniform(rng, c.unlabeled)
            return BatchPlan(classes, attributes, labeled, unlabeled, c.tasks[0])
        labeled, unlabeled = log_uniform(rng, c.labeled_rows), log_uniform(rng, c.unlabeled_rows)
        return BatchPlan(1, attributes, labeled, unlabeled, c.tasks[0])

    def _chances(self, plan: BatchPlan) -> np.ndarray:
        share = np.where([t.kind == self.kind for t in self.tables], self.share, 0.0)
        return share / share.sum() if share.any() else share

    def _real(self, rng: np.random.Generator, table: EncodedTable, plan: BatchPlan) -> Episode | None:
        y = table.y
        if self.kind == "classification":
            counts = np.bincount(y[y >= 0], minlength=table.n_classes)
            y = np.where((y >= 0) & (counts[y] >= 2), y, -1)  # one row of a class shows nothing
            rows, made = draw_balanced(rng, y, plan.labeled, plan.unlabeled), class_episode
        else:
            rows, made = draw_rows(rng, np.isfinite(y), plan.labeled, plan.unlabeled), number_episode
        if rows is None:
            return None
        return made(rng, DrawnRows(table.x[np.concatenate(rows)], y, *rows, table.name, table.family), plan)
